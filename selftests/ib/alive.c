// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,rdma_ucm,ib_uverbs,veth netns=init */
/* vm: timeout=240 ref=0 lanes=uml */
/*
 * Peers that are gone and have not said so, and peers that do nothing: the ones are noticed, the
 * others are left alone, and neither keeps anybody out.
 */
#include "flood.h"

#define PEERS		15
/* A look each 10 to 20 s, then the device tries for a while. */
#define NOTICED_MS	(60 * 1000)

FIXTURE(alive)
{
	struct peer *p[PEERS + 1];
	unsigned long links, idle;
	int fd;
};

FIXTURE_SETUP(alive)
{
	int i;

	self->links = get_sysctl("ib/max_link_allocation");
	self->idle = get_sysctl("idle_conn_timeout_ms");
	for (i = 0; i <= PEERS; i++)
		self->p[i] = calloc(1, sizeof(*self->p[i]));
	self->fd = rds_bound(B4, PORT);
	ASSERT_FD(self->fd);
}

FIXTURE_TEARDOWN(alive)
{
	int i;

	set_sysctl("ib/max_link_allocation", self->links);
	set_sysctl("idle_conn_timeout_ms", self->idle);
	for (i = 0; i <= PEERS; i++) {
		peer_close(self->p[i]);
		free(self->p[i]);
	}
	close(self->fd);
}

/* A request of a peer with a new address: 0 if it is taken. */
static int request(struct peer *p)
{
	struct priv4 d;

	if (peer_open(p, B4))
		return -1;
	d = peer_priv(p, B4);
	p->retries = 6;
	return peer_request(p, &d, sizeof(d)) == RDMA_CM_EVENT_ESTABLISHED ? 0 : -1;
}

/* As if somebody had switched it off: neither the queue pair answers nor the address. */
static void switch_off(struct peer *p)
{
	peer_crash(p);
	run_cmd("ip addr del %s/24 dev rdst0", p->addr);
}

/* Of our record of the connection with @addr: 1 = a link is up, 0 = none is, -1 = no record. */
static int link_state(int fd, const char *addr)
{
	struct rds_info_rdma_connection *r;
	int i, n, state = -1;
	socklen_t len;
	void *p;

	if (info_get(fd, RDS_INFO_IB_CONNECTIONS, &p, &len) != sizeof(*r))
		return -1;
	for (r = p, n = len / sizeof(*r), i = 0; i < n; i++)
		if (r[i].dst_addr == inet_addr(addr))
			state = !!r[i].max_send_wr;
	free(p);
	return state;
}

/* Milliseconds until that is so, or -1. */
static __s64 link_becomes(int fd, const char *addr, int state, __s64 most)
{
	__s64 start = now_ms();

	while (link_state(fd, addr) != state) {
		if (now_ms() - start > most * slow())
			return -1;
		usleep(20000);
	}
	return now_ms() - start;
}

/*
 * Nothing is sent on either link.  The one whose peer is gone goes, and in the end the connection;
 * the other one stays, and all that its peer sees is a frame that acknowledges nothing new.
 */
TEST_F_TIMEOUT(alive, gone__is_noticed, 200)
{
	struct peer *gone = self->p[0], *there = self->p[1];
	struct frame_hdr h;
	uint8_t *data;
	__s64 took;
	int i, asked = 0;

	ASSERT_EQ(0, request(there));
	ASSERT_EQ(0, request(gone));
	/* who never said anything has a connection only while it is used */
	h = frame(1, 2, 9, PORT, 2);
	ASSERT_EQ(0, peer_send(gone, &h, "xy", 2));
	ASSERT_EQ(0, peer_send(there, &h, "xy", 2));
	/* the map, and that it arrived */
	for (i = 0; i < 3; i++) {
		ASSERT_LT(0, peer_recv(gone, &h, &data, PEER_WAIT));
		ASSERT_LT(0, peer_recv(there, &h, &data, PEER_WAIT));
	}
	ASSERT_EQ(1, link_state(self->fd, gone->addr));
	switch_off(gone);
	took = link_becomes(self->fd, gone->addr, 0, NOTICED_MS);
	TH_LOG("noticed after %lld ms", took);
	ASSERT_LE(0, took);
	EXPECT_EQ(1, link_state(self->fd, there->addr));
	ASSERT_EQ(0, set_sysctl("idle_conn_timeout_ms", 1000));
	EXPECT_LE(0, link_becomes(self->fd, gone->addr, -1, NOTICED_MS));
	while (peer_recv(there, &h, &data, asked ? 0 : PEER_WAIT) == 48) {
		EXPECT_EQ(0, h.seq | h.len | h.sport | h.dport | h.flags);
		EXPECT_EQ(1, be64toh(h.ack));
		asked++;
	}
	EXPECT_LE(1, asked);
	EXPECT_EQ(1, link_state(self->fd, there->addr));
}

/* All the memory that links of peers may have is in the hands of those who are gone. */
TEST_F_TIMEOUT(alive, gone__keep_nobody_out, 200)
{
	struct peer *late = self->p[PEERS];
	__s64 start, limit, evicted;
	int i, n = 0, ok = -1;

	/* about a MiB each; what links of others have is free in a moment */
	ASSERT_EQ(0, set_sysctl("ib/max_link_allocation", 1500));
	for (i = 0; i < 3; i++) {
		while (n < PEERS && !request(self->p[n]))
			n++;
		peer_close(self->p[n]);
		usleep(500000);
	}
	ASSERT_LE(2, n);
	ASSERT_GT(PEERS, n);
	evicted = counter(self->fd, "ib_link_evicted");
	limit = counter(self->fd, "ib_link_limit");
	for (i = 0; i < n; i++)
		switch_off(self->p[i]);
	start = now_ms();
	while (ok && now_ms() - start < NOTICED_MS * slow()) {
		*peer_last = 60;
		ok = request(late);
		if (ok)
			peer_close(late);
		usleep(100000);
	}
	TH_LOG("%d were there, in after %lld ms, %lld links went", n, now_ms() - start,
	       counter(self->fd, "ib_link_evicted") - evicted);
	EXPECT_EQ(0, ok);
	EXPECT_LT(limit, counter(self->fd, "ib_link_limit"));
	EXPECT_LT(evicted, counter(self->fd, "ib_link_evicted"));
}

TEST_HARNESS_MAIN
