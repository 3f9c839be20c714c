/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of what peers over verbs can make us hold: a peer that sends many frames, a socket
 * that is not read, and the sysctls that bound it.
 */
#ifndef RDS_IB_FLOOD_H
#define RDS_IB_FLOOD_H

#include "peer.h"

#define PORT	4000
#define STUCK	4001
#define FLIGHT	400	/* frames on their way at once */
#define FRAMES	6000	/* frames of a test */

/* Many frames of one peer. */
struct flood {
	struct ibv_mr *mr;
	int posted, done;
	uint64_t seen;	/* sequence of our kernel's newest message */
	bool limited;	/* by credits */
	int credits;
	struct frame_hdr hdr[FRAMES];
	uint16_t data[4096];
};

static inline struct flood *flood_new(struct peer *p)
{
	struct flood *f = calloc(1, sizeof(*f));
	int i;

	for (i = 0; i < 4096; i++)
		f->data[i] = i % 2048;
	f->mr = ibv_reg_mr(p->id->pd, f, sizeof(*f), IBV_ACCESS_LOCAL_WRITE);
	return f->mr ? f : NULL;
}

static inline void flood_free(struct flood *f)
{
	ibv_dereg_mr(f->mr);
	free(f);
}

/* Take what our kernel sends: acknowledgments, mostly. */
static inline void flood_drain(struct peer *p, struct flood *f)
{
	struct frame_hdr h;
	uint8_t *data;

	while (peer_recv(p, &h, &data, 0) > 0) {
		f->credits += h.credit;
		if (h.sport)
			f->seen = be64toh(h.seq);
	}
}

/* Post frame @h with as many bytes as it says, 4096 at most, that say which frame it is. */
static inline int flood_post(struct peer *p, struct flood *f, struct frame_hdr h)
{
	uint32_t len = be32toh(h.len);
	int i = f->posted;
	struct ibv_sge sge[2] = {
		{ (long)&f->hdr[i], sizeof(h), f->mr->lkey },
		{ (long)&f->data[i % 2048], len < 4096 ? len : 4096, f->mr->lkey },
	};
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 2, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SOLICITED }, *bad;

	f->hdr[f->posted++] = h;
	f->credits--;
	return ibv_post_send(p->id->qp, &wr, &bad);
}

/* Until at most @most are on their way; false if that takes more than @ms. */
static inline bool flood_wait(struct peer *p, struct flood *f, int most, int ms)
{
	__s64 end = now_ms() + ms;
	struct ibv_wc wc;

	while (f->posted - f->done > most) {
		flood_drain(p, f);
		if (now_ms() > end)
			return false;
		if (ibv_poll_cq(p->scq, 1, &wc) != 1) {
			usleep(500);
			continue;
		}
		if (wc.status)
			return false;
		f->done++;
	}
	return true;
}

/* With no buffers of its own to tell of a peer keeps the last credit. */
static inline bool flood_credit(struct peer *p, struct flood *f, int ms)
{
	__s64 end = now_ms() + ms;

	while (f->limited && f->credits < 2) {
		flood_drain(p, f);
		if (now_ms() > end)
			return false;
		usleep(500);
	}
	return true;
}

/* @n messages of one fragment to @dport; false if they do not get through within @ms. */
static inline bool flood(struct peer *p, struct flood *f, int n, int dport, int ms)
{
	while (n--) {
		if (f->posted == FRAMES || !flood_wait(p, f, FLIGHT - 1, ms) ||
		    !flood_credit(p, f, ms) ||
		    flood_post(p, f, frame(f->posted + 1, 4096, 9, dport, 0)))
			return false;
	}
	return flood_wait(p, f, 0, ms);
}

static inline int module_del(void)
{
	return run_cmd("rmmod rds_rdma 2>/dev/null");
}

static inline int set_sysctl(const char *name, unsigned long v)
{
	return run_cmd("echo %lu >/proc/sys/net/rds/%s", v, name);
}

static inline unsigned long get_sysctl(const char *name)
{
	unsigned long v = 0;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/net/rds/%s", name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%lu", &v) != 1)
		v = 0;
	if (f)
		fclose(f);
	return v;
}

/* What a test changes, and gives back. */
struct limits {
	unsigned long peer_bytes, allocation, links, ring;
};

static inline struct limits limits_now(void)
{
	return (struct limits){
		.peer_bytes = get_sysctl("max_peer_bytes"),
		.allocation = get_sysctl("ib/max_recv_allocation"),
		.links = get_sysctl("ib/max_link_allocation"),
		.ring = get_sysctl("ib/max_recv_wr"),
	};
}

static inline void limits_restore(const struct limits *was)
{
	set_sysctl("max_peer_bytes", was->peer_bytes);
	set_sysctl("ib/max_recv_allocation", was->allocation);
	set_sysctl("ib/max_link_allocation", was->links);
	set_sysctl("ib/max_recv_wr", was->ring);
}

/* Messages for the socket that is not read, until some have no room. */
static inline bool fill_stuck(struct peer *p, struct flood *f, int fd)
{
	__s64 before = counter(fd, "recv_drop_full");

	while (counter(fd, "recv_drop_full") == before)
		if (!flood(p, f, 32, STUCK, 10000))
			return false;
	return true;
}

/*
 * What the socket that was not read has is the beginning of what came, and it is told once that
 * there was more.  How many there are, -1 if it is not so.
 */
static inline int read_stuck(int stuck)
{
	uint16_t in[2048];
	int i, n;

	if (recv(stuck, in, sizeof(in), MSG_DONTWAIT) >= 0 || errno != ENOBUFS)
		return -1;
	for (i = 0; (n = recv(stuck, in, sizeof(in), MSG_DONTWAIT)) >= 0; i++)
		if (n != 4096 || in[0] != i % 2048 || in[2047] != (i + 2047) % 2048)
			return -1;
	return errno == EAGAIN ? i : -1;
}

/* The sequence of a message of ours that the peer has got by now. */
static inline uint64_t sent_seq(struct peer *p, struct flood *f)
{
	int tries;

	for (f->seen = 0, tries = 0; !f->seen && tries < 500; tries++) {
		flood_drain(p, f);
		usleep(10000);
	}
	return f->seen;
}

/* @n fragments of 256 of a message. */
static inline bool fragments(struct peer *p, struct flood *f, int n, int ms)
{
	while (n--)
		if (!flood_wait(p, f, FLIGHT - 1, ms) ||
		    flood_post(p, f, frame(1, 1 << 20, 9, PORT, 0)))
			return false;
	return flood_wait(p, f, 0, ms);
}

/* The links of tests before this one have buffers, too: away with them. */
static inline void load_anew(struct __test_metadata *_metadata, int *fd, int *stuck)
{
	close(*stuck);
	close(*fd);
	EXPECT_TRUE(WAIT_UNTIL(!module_del()));
	RUN("modprobe rds_rdma");
	*fd = rds_bound(B4, PORT);
	ASSERT_FD(*fd);
	*stuck = rds_bound(B4, STUCK);
	ASSERT_FD(*stuck);
}

#endif
