// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=120 lanes=uml */
/* The RDS_INFO_* snapshots: protocol, sizes, contents, namespaces. */
#include "rds_duo.h"

#include <stddef.h>
#include <sys/stat.h>

static const struct {
	int opt, size;
} source[] = {
	{ RDS_INFO_COUNTERS, 40 },
	{ RDS_INFO_CONNECTIONS, 42 }, { RDS6_INFO_CONNECTIONS, 65 },
	{ RDS_INFO_SEND_MESSAGES, 26 }, { RDS6_INFO_SEND_MESSAGES, 50 },
	{ RDS_INFO_RETRANS_MESSAGES, 26 }, { RDS6_INFO_RETRANS_MESSAGES, 50 },
	{ RDS_INFO_RECV_MESSAGES, 26 }, { RDS6_INFO_RECV_MESSAGES, 50 },
	{ RDS_INFO_SOCKETS, 28 }, { RDS6_INFO_SOCKETS, 52 },
	{ RDS_INFO_TCP_SOCKETS, 41 }, { RDS6_INFO_TCP_SOCKETS, 64 },
};

static char buf[4096];

/* Every number: the record size of a real one, ENOPROTOOPT for the others. */
TEST(info__every_number)
{
	int fd = rds_socket(), opt, i, want;
	socklen_t len;
	void *p;

	for (opt = 9998; opt <= 10020; opt++) {
		/* in-tree has no list of paths */
		want = opt == RDS_INFO_PATHS && !is_ref() ? 112 : -1;
		for (i = 0; i < ARRAY_SIZE(source); i++) {
			if (source[i].opt == opt)
				want = source[i].size;
		}
		errno = 0;
		EXPECT_EQ(want, info_get(fd, opt, &p, &len))
			TH_LOG("option %d", opt);
		EXPECT_EQ(want < 0 ? ENOPROTOOPT : 0,
			  errno == ENOSPC ? 0 : errno);
		EXPECT_EQ(0, want < 0 ? 0 : len % want);
		free(p);
	}
}

/* The structures have the sizes the kernel uses. */
TEST(info__structure_sizes)
{
	EXPECT_EQ(40, sizeof(struct rds_info_counter));
	EXPECT_EQ(42, sizeof(struct rds_info_connection));
	EXPECT_EQ(65, sizeof(struct rds6_info_connection));
	EXPECT_EQ(26, sizeof(struct rds_info_message));
	EXPECT_EQ(50, sizeof(struct rds6_info_message));
	EXPECT_EQ(28, sizeof(struct rds_info_socket));
	EXPECT_EQ(52, sizeof(struct rds6_info_socket));
	EXPECT_EQ(41, sizeof(struct rds_info_tcp_socket));
	EXPECT_EQ(64, sizeof(struct rds6_info_tcp_socket));
	EXPECT_EQ(68, sizeof(struct rds_info_rdma_connection));
	EXPECT_EQ(92, sizeof(struct rds6_info_rdma_connection));
}

/* Probe with 0: ENOSPC and the size; or the record size when there is nothing. */
TEST(info__probe)
{
	socklen_t len = 0;
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("10.9.0.1", 5000);
	ASSERT_FD(fd);
	EXPECT_ERR(ENOSPC, getsockopt(fd, SOL_RDS, RDS_INFO_SOCKETS, NULL, &len));
	EXPECT_EQ(28, len);
	len = 0;
	EXPECT_ERR(ENOSPC, getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, BAD_PTR, &len));
	EXPECT_EQ(0, len % 40);
	EXPECT_LE(37 * 40, len);
	len = 0;
	EXPECT_EQ(42, getsockopt(fd, SOL_RDS, RDS_INFO_CONNECTIONS, NULL, &len));
	EXPECT_EQ(0, len);
	len = 100;
	EXPECT_EQ(42, getsockopt(fd, SOL_RDS, RDS_INFO_CONNECTIONS, buf, &len));
	EXPECT_EQ(0, len);
}

/* Every length around the real one; nothing behind it is touched (A4). */
TEST(info__every_length)
{
	socklen_t full = 0, len, l;
	int fd, i;

	SETUP_LOCAL();
	fd = rds_bound("10.9.0.1", 5000);
	for (i = 0; i < 5; i++)
		rds_bound("10.9.0.1", 0);
	EXPECT_ERR(ENOSPC, getsockopt(fd, SOL_RDS, RDS_INFO_SOCKETS, NULL, &full));
	ASSERT_EQ(6 * 28, full);
	for (l = 1; l <= full + 30; l++) {
		memset(buf, 0x5a, sizeof(buf));
		len = l;
		EXPECT_EQ(l < full ? ENOSPC : 0,
			  ERR_OF(getsockopt(fd, SOL_RDS, RDS_INFO_SOCKETS, buf, &len)));
		EXPECT_EQ(full, len);
		for (i = l < full ? l : full; i < full + 64; i++)
			ASSERT_EQ(0x5a, buf[i]);
	}
}

/* An unaligned buffer that crosses pages and ends at one. */
TEST(info__unaligned_buffer)
{
	struct rds_info_counter c;
	socklen_t len = 0, full = 0;
	char *p;
	int fd, i;

	fd = rds_socket();
	EXPECT_ERR(ENOSPC, getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, NULL, &full));
	for (i = 0; i < 7; i++) {
		p = guarded(full + 4096 + i);
		len = full;
		ASSERT_EQ(40, getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS,
					 p + 4096 + i, &len));
		EXPECT_EQ(full, len);
		memcpy(&c, p + 4096 + i, sizeof(c));
		EXPECT_STREQ("conn_reset", (char *)c.name);
	}
}

/* A length that can be read and not written: the records are there, their size is not told. */
TEST(info__length_read_only)
{
	static char big[16384];
	int fd = rds_socket();
	socklen_t *len;

	len = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, len);
	len[0] = sizeof(big);
	len[1] = 1;
	ASSERT_EQ(0, mprotect(len, 4096, PROT_READ));
	EXPECT_ERR(EFAULT, getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, big, len));
	EXPECT_EQ(0, memcmp("conn_reset", big, 11));
	EXPECT_ERR(EFAULT, getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, big, len + 1));
	munmap(len, 4096);
	close(fd);
}

/* Bad arguments, in the order they are found (A6). */
TEST(info__bad_arguments)
{
	socklen_t len;
	char *ro = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = rds_socket();

	EXPECT_ERR(EFAULT, getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, buf, BAD_PTR));
	len = -1;
	EXPECT_ERR(EINVAL, getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, buf, &len));
	len = INT32_MIN;
	EXPECT_ERR(EINVAL, getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, buf, &len));
	len = INT32_MAX;
	EXPECT_ERR(EINVAL, getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, buf, &len));
	len = 8192;
	EXPECT_ERR(EINVAL, getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS,
				      (void *)-4096L, &len));
	len = -1;
	EXPECT_ERR(EINVAL, getsockopt(fd, SOL_RDS, 10002, buf, &len));
	/* a buffer that cannot be written is EAGAIN (sic) */
	len = 8192;
	EXPECT_ERR(EAGAIN, getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, ro, &len));
	EXPECT_EQ(8192, len);
	EXPECT_ERR(EAGAIN, getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS,
				      (void *)8192, &len));
	EXPECT_ERR(EAGAIN, getsockopt(fd, SOL_RDS, 10002, ro, &len));
	len = 4096;
	EXPECT_ERR(ENOPROTOOPT, getsockopt(fd, SOL_RDS, 10002, buf, &len));
	EXPECT_EQ(4096, len);
}

static const char * const counter_name[] = {
	"conn_reset", "recv_drop_bad_checksum", "recv_drop_old_seq",
	"recv_drop_no_sock", "recv_drop_dead_sock", "recv_deliver_raced",
	"recv_delivered", "recv_queued", "recv_immediate_retry",
	"recv_delayed_retry", "recv_ack_required", "recv_rdma_bytes",
	"recv_ping", "send_queue_empty", "send_queue_full",
	"send_lock_contention", "send_lock_queue_raced",
	"send_immediate_retry", "send_delayed_retry", "send_drop_acked",
	"send_ack_required", "send_queued", "send_rdma", "send_rdma_bytes",
	"send_pong", "page_remainder_hit", "page_remainder_miss",
	"copy_to_user", "copy_from_user", "cong_update_queued",
	"cong_update_received", "cong_send_error", "cong_send_blocked",
	"recv_bytes_added_to_sock", "recv_bytes_freed_fromsock",
	"send_stuck_rm",
};

static const char * const tcp_name[] = {
	"tcp_data_ready_calls", "tcp_write_space_calls", "tcp_sndbuf_full",
	"tcp_connect_raced", "tcp_listen_closed_stale",
};

/* The names in their order; names end in zeros only (B3). */
TEST(info__counter_names)
{
	struct rds_info_counter *c;
	int fd = rds_socket(), i, j, n, tcp = -1;
	socklen_t len;
	void *p;

	ASSERT_EQ(40, info_get(fd, RDS_INFO_COUNTERS, &p, &len));
	c = p;
	n = len / 40;
	ASSERT_LE(ARRAY_SIZE(counter_name) + ARRAY_SIZE(tcp_name), n);
	for (i = 0; i < ARRAY_SIZE(counter_name); i++)
		EXPECT_STREQ(counter_name[i], (char *)c[i].name);
	for (i = 0; i < n; i++) {
		ASSERT_GT(32, strnlen((char *)c[i].name, 32));
		for (j = strlen((char *)c[i].name); j < 32; j++)
			EXPECT_EQ(0, c[i].name[j]);
		if (!strcmp((char *)c[i].name, tcp_name[0]))
			tcp = i;
	}
	ASSERT_LE(0, tcp);
	for (i = 0; i < ARRAY_SIZE(tcp_name) && tcp + i < n; i++)
		EXPECT_STREQ(tcp_name[i], (char *)c[tcp + i].name);
	EXPECT_EQ(ARRAY_SIZE(tcp_name), i);
	free(p);
}

/* Counters of a message that travels. */
TEST_F(duo, info__counters_count)
{
	static const char * const name[] = {
		"recv_queued", "recv_delivered", "send_queued", "copy_from_user",
		"copy_to_user", "recv_bytes_added_to_sock",
		"recv_bytes_freed_fromsock",
	};
	static const int least[] = { 1, 1, 1, 1000, 1000, 1000, 1000 };
	__s64 before[ARRAY_SIZE(name)];
	int i;

	for (i = 0; i < ARRAY_SIZE(name); i++)
		before[i] = counter(self->a, name[i]);
	ASSERT_EQ(1000, send(self->a, buf, 1000, 0));
	ASSERT_EQ(1000, recv_wait(self->b, buf, 1000));
	for (i = 0; i < ARRAY_SIZE(name); i++) {
		EXPECT_LE(before[i] + least[i], counter(self->a, name[i]))
			TH_LOG("%s", name[i]);
	}
}

/* Sockets: addresses, buffers, inode; v4 lists the v4-bound only. */
TEST(info__sockets)
{
	struct rds6_info_socket *s6;
	struct rds_info_socket *s;
	unsigned char want[16];
	int fd, i, seen = 0;
	socklen_t len;
	struct stat st;
	void *p;

	SETUP_LOCAL();
	fd = rds_bound("10.9.0.1", 5000);
	ASSERT_EQ(0, rds_connect(fd, "10.9.0.2", 4000));
	rds_bound("fd09::1", 5001);
	rds_socket();
	ASSERT_EQ(0, fstat(fd, &st));

	ASSERT_EQ(sizeof(*s), info_get(fd, RDS_INFO_SOCKETS, &p, &len));
	ASSERT_EQ(sizeof(*s), len);
	s = p;
	EXPECT_EQ(inet_addr("10.9.0.1"), s->bound_addr);
	EXPECT_EQ(inet_addr("10.9.0.2"), s->connected_addr);
	EXPECT_EQ(htons(5000), s->bound_port);
	EXPECT_EQ(htons(4000), s->connected_port);
	EXPECT_EQ(DEF_BUF, s->sndbuf);
	EXPECT_EQ(DEF_BUF, s->rcvbuf);
	EXPECT_EQ(st.st_ino, s->inum);
	free(p);

	ASSERT_EQ(sizeof(*s6), info_get(fd, RDS6_INFO_SOCKETS, &p, &len));
	ASSERT_EQ(3 * sizeof(*s6), len);
	s6 = p;
	for (i = 0; i < 3; i++) {
		seen |= 1 << (s6[i].bound_port == htons(5000) ? 0 :
			      s6[i].bound_port == htons(5001) ? 1 : 2);
		if (s6[i].bound_port == htons(5000)) {
			inet_pton(AF_INET6, "::ffff:10.9.0.1", want);
			EXPECT_EQ(0, memcmp(want, &s6[i].bound_addr, 16));
			inet_pton(AF_INET6, "::ffff:10.9.0.2", want);
			EXPECT_EQ(0, memcmp(want, &s6[i].connected_addr, 16));
		}
		if (s6[i].bound_port == 0) {
			memset(want, 0, 16);
			EXPECT_EQ(0, memcmp(want, &s6[i].bound_addr, 16));
		}
	}
	EXPECT_EQ(7, seen);
	free(p);
}

static int v6_of(const char *addr, unsigned char *out)
{
	char mapped[64];

	snprintf(mapped, sizeof(mapped), "%s%.*s",
		 strchr(addr, ':') ? "" : "::ffff:",
		 (int)strcspn(addr, "%"), addr);
	return inet_pton(AF_INET6, mapped, out);
}

/* Connections: endpoints, transport name, state; sequence numbers move. */
TEST_F(duo, info__connections)
{
	struct rds6_info_connection *c;
	unsigned char la[16], fa[16];
	socklen_t len;
	__u64 seq = 0;
	int i, n, round;
	void *p;

	v6_of(variant->aaddr, la);
	v6_of(variant->baddr, fa);
	for (round = 0; round < 2; round++) {
		ASSERT_EQ(1, send(self->a, "x", 1, 0));
		ASSERT_EQ(1, recv_wait(self->b, buf, 1));
		ASSERT_EQ(65, info_get(self->a, RDS6_INFO_CONNECTIONS, &p, &len));
		c = p;
		for (n = i = 0; i < len / 65; i++) {
			if (memcmp(&c[i].laddr, la, 16) ||
			    memcmp(&c[i].faddr, fa, 16))
				continue;
			n++;
			EXPECT_STREQ(variant->ns ? "tcp" : "loopback",
				     (char *)c[i].transport);
			EXPECT_EQ(RDS_INFO_CONNECTION_FLAG_CONNECTED,
				  c[i].flags & RDS_INFO_CONNECTION_FLAG_CONNECTED);
			EXPECT_LE(seq, c[i].next_tx_seq);
			seq = c[i].next_tx_seq;
		}
		EXPECT_EQ(1, n);
		free(p);
	}
	ASSERT_EQ(42, info_get(self->a, RDS_INFO_CONNECTIONS, &p, &len));
	EXPECT_EQ(strchr(variant->aaddr, ':') ? 0 : 1, !!len);
	free(p);
}

/* Names and padding of connection records are zero behind their end (B6). */
TEST_F(duo, info__connection_record_is_clean)
{
	struct rds6_info_connection *c;
	socklen_t len;
	int i, j;
	void *p;

	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_EQ(1, recv_wait(self->b, buf, 1));
	ASSERT_EQ(65, info_get(self->a, RDS6_INFO_CONNECTIONS, &p, &len));
	c = p;
	for (i = 0; i < len / 65; i++) {
		for (j = strnlen((char *)c[i].transport, 16); j < 16; j++)
			EXPECT_EQ(0, c[i].transport[j]);
	}
	free(p);
}

/* Received, unread messages: both ABIs, every field (B3, B4). */
TEST_F(duo, info__recv_messages)
{
	struct rds6_info_message *m;
	unsigned char la[16], fa[16];
	socklen_t len;
	int i, v4 = !strchr(variant->aaddr, ':');
	void *p;

	v6_of(variant->baddr, la);
	v6_of(variant->aaddr, fa);
	for (i = 1; i <= 3; i++)
		ASSERT_EQ(i * 100, send(self->a, buf, i * 100, 0));
	ASSERT_TRUE(WAIT_UNTIL(msgs_of_port(self->b, RDS6_INFO_RECV_MESSAGES, DUO_B) == 3));
	ASSERT_EQ(50, info_get(self->b, RDS6_INFO_RECV_MESSAGES, &p, &len));
	ASSERT_EQ(150, len);
	m = p;
	for (i = 0; i < 3; i++) {
		EXPECT_EQ((i + 1) * 100, m[i].len);
		EXPECT_EQ(0, memcmp(la, &m[i].laddr, 16));
		EXPECT_EQ(0, memcmp(fa, &m[i].faddr, 16));
		EXPECT_EQ(htons(DUO_B), m[i].lport);
		EXPECT_EQ(htons(DUO_A), m[i].fport);
		EXPECT_EQ(0, m[i].flags);
		EXPECT_EQ(0, m[i].tos);
	}
	free(p);
	ASSERT_EQ(26, info_get(self->b, RDS_INFO_RECV_MESSAGES, &p, &len));
	EXPECT_EQ(v4 ? 78 : 0, len);
	if (v4 && len == 78) {
		struct rds_info_message *m4 = p;

		EXPECT_EQ(inet_addr(variant->baddr), m4[1].laddr);
		EXPECT_EQ(inet_addr(variant->aaddr), m4[1].faddr);
		EXPECT_EQ(htons(DUO_B), m4[1].lport);
		EXPECT_EQ(htons(DUO_A), m4[1].fport);
		EXPECT_EQ(200, m4[1].len);
		EXPECT_EQ(0, m4[1].flags + m4[1].tos);
	}
	free(p);
	for (i = 0; i < 3; i++)
		EXPECT_LT(0, recv_wait(self->b, buf, 1000));
	EXPECT_EQ(0, msgs_of_port(self->b, RDS6_INFO_RECV_MESSAGES, DUO_B));
}

/* Unsent messages to a peer that is not there. */
TEST(info__send_messages)
{
	struct rds_info_message *m;
	socklen_t len;
	int fd, i;
	void *p;

	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", 5001);
	for (i = 1; i <= 3; i++)
		ASSERT_EQ(i, send_to(fd, "10.1.0.77", 9, buf, i, MSG_DONTWAIT));
	ASSERT_EQ(26, info_get(fd, RDS_INFO_SEND_MESSAGES, &p, &len));
	m = p;
	for (i = 0; i < len / 26 && m[i].lport != htons(5001); i++)
		;
	ASSERT_GE(len, (i + 3) * 26);
	/* in-tree shows the first bytes of the mapped address: 0.0.0.0 */
	EXPECT_EQ(is_ref() ? 0 : inet_addr("10.1.0.1"), m[i].laddr);
	EXPECT_EQ(is_ref() ? 0 : inet_addr("10.1.0.77"), m[i].faddr);
	EXPECT_EQ(htons(9), m[i].fport);
	EXPECT_EQ(1, m[i].len);
	EXPECT_EQ(2, m[i + 1].len);
	EXPECT_EQ(3, m[i + 2].len);
	EXPECT_LT(m[i].seq, m[i + 1].seq);
	EXPECT_LT(m[i + 1].seq, m[i + 2].seq);
	EXPECT_EQ(0, m[i].flags);
	free(p);
}

/* TCP sockets: the two ends of path 0 on port 16385. */
TEST_F(duo, info__tcp_sockets)
{
	struct rds6_info_tcp_socket *t;
	unsigned char la[16], fa[16];
	int i, n = 0;
	socklen_t len;
	void *p;

	v6_of(variant->aaddr, la);
	v6_of(variant->baddr, fa);
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_EQ(1, recv_wait(self->b, buf, 1));
	ASSERT_EQ(64, info_get(self->a, RDS6_INFO_TCP_SOCKETS, &p, &len));
	t = p;
	for (i = 0; i < len / 64; i++) {
		EXPECT_EQ(0, memcmp(&t[i].local_addr, la, 16));
		EXPECT_EQ(0, memcmp(&t[i].peer_addr, fa, 16));
		n += t[i].peer_port == htons(16385) || t[i].local_port == htons(16385);
	}
	EXPECT_EQ(variant->ns, n > 0);
	EXPECT_EQ(n, i);
	free(p);
	ASSERT_EQ(41, info_get(self->a, RDS_INFO_TCP_SOCKETS, &p, &len));
	EXPECT_EQ(variant->ns && !strchr(variant->aaddr, ':'), len > 0);
	free(p);
}

/* A namespace shows its own objects only (G4). */
TEST_F(duo, info__namespace_filter)
{
	static const int opt[] = {
		RDS6_INFO_CONNECTIONS, RDS6_INFO_SEND_MESSAGES,
		RDS6_INFO_RETRANS_MESSAGES, RDS6_INFO_RECV_MESSAGES,
		RDS6_INFO_TCP_SOCKETS,
	};
	socklen_t len;
	int fd, i;
	void *p;

	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_TRUE(wait_data(self->b));
	ASSERT_LE(0, ns_fresh());
	fd = rds_socket();
	for (i = 0; i < ARRAY_SIZE(opt); i++) {
		ASSERT_LT(0, info_get(fd, opt[i], &p, &len));
		EXPECT_EQ(0, len)
			TH_LOG("option %d", opt[i]);
		free(p);
	}
	ASSERT_EQ(52, info_get(fd, RDS6_INFO_SOCKETS, &p, &len));
	EXPECT_EQ(52, len);
	free(p);
	/* the socket decides, not the caller */
	ASSERT_EQ(65, info_get(self->a, RDS6_INFO_CONNECTIONS, &p, &len));
	EXPECT_LT(0, len);
	free(p);
}

/* Reading while objects come and go gives whole records (A5). */
TEST(info__race_with_bind)
{
	struct rds_info_socket *s;
	int fd, i, j, k;
	socklen_t len;
	pid_t pid;
	void *p;

	SETUP_LOCAL();
	fd = rds_bound("10.9.0.1", 0);
	pid = fork();
	if (!pid) {
		for (;;) {
			int t[20];

			for (k = 0; k < 20; k++)
				t[k] = rds_bound("10.9.0.2", 0);
			for (k = 0; k < 20; k++)
				close(t[k]);
		}
	}
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(28, info_get(fd, RDS_INFO_SOCKETS, &p, &len));
		s = p;
		for (j = 0; j < len / 28; j++) {
			EXPECT_TRUE(s[j].bound_addr == inet_addr("10.9.0.1") ||
				    s[j].bound_addr == inet_addr("10.9.0.2"));
			EXPECT_NE(0, s[j].bound_port);
		}
		free(p);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST_HARNESS_MAIN
