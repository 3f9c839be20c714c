// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=120 */
/*
 * Every call against every other, in threads, on one socket and on sockets of
 * one address (E2, E10, E11, F11). What must hold: no call returns an errno it
 * does not know, the kernel log stays clean, and the socket works afterwards.
 */
#include "rds_util.h"

#include <pthread.h>
#include <stdatomic.h>

#define RUN_MS 2500

static atomic_int stop, bad;

struct worker {
	int (*call)(int fd, const char *addr, unsigned int r);
	int fd;
	const char *addr;
	unsigned long n;
};

static int do_bind(int fd, const char *addr, unsigned int r)
{
	return rds_bind(fd, addr, r & 1 ? 5000 : 0);
}

static int do_connect(int fd, const char *addr, unsigned int r)
{
	return rds_connect(fd, addr, 5000 + r % 3);
}

static int do_send(int fd, const char *addr, unsigned int r)
{
	return send_to(fd, addr, 5000 + r % 3, "hello", r % 6, MSG_DONTWAIT);
}

static int do_send_connected(int fd, const char *addr, unsigned int r)
{
	return send(fd, "hello", r % 6, MSG_DONTWAIT);
}

static int do_recv(int fd, const char *addr, unsigned int r)
{
	char b[16];
	struct rx rx;

	return rx_msg(fd, b, sizeof(b), MSG_DONTWAIT | (r & 4 ? MSG_PEEK : 0), &rx);
}

static int do_poll(int fd, const char *addr, unsigned int r)
{
	return poll_for(fd, POLLIN | POLLOUT | POLLWRBAND, 0) < 0 ? -1 : 0;
}

static int do_set(int fd, const char *addr, unsigned int r)
{
	switch (r % 6) {
	case 0:
		return set_int(fd, SOL_RDS, RDS_CONG_MONITOR, r >> 3 & 1);
	case 1:
		return set_int(fd, SOL_RDS, RDS_RECVERR, r >> 3 & 1);
	case 2:
		return set_int(fd, SOL_SOCKET, SO_RCVBUF, 2000 + r % 8000);
	case 3:
		return set_int(fd, SOL_SOCKET, SO_TIMESTAMP, r >> 3 & 1);
	case 4:
		return set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP);
	default:
		return set_int(fd, SOL_SOCKET, SO_SNDBUF, 5000 + r % 8000);
	}
}

static int do_get(int fd, const char *addr, unsigned int r)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	if (r & 1)
		return getsockname(fd, (void *)&ss, &len);
	return get_int(fd, SOL_RDS, SO_RDS_TRANSPORT) < -1 ? -1 : 0;
}

static int do_info(int fd, const char *addr, unsigned int r)
{
	static const int opt[] = {
		RDS6_INFO_SOCKETS, RDS6_INFO_CONNECTIONS, RDS6_INFO_RECV_MESSAGES,
		RDS6_INFO_SEND_MESSAGES, RDS6_INFO_RETRANS_MESSAGES,
		RDS_INFO_COUNTERS, RDS6_INFO_TCP_SOCKETS,
	};
	socklen_t len;
	void *p;
	int n = info_get(fd, opt[r % ARRAY_SIZE(opt)], &p, &len);

	free(p);
	return n;
}

static int do_cancel(int fd, const char *addr, unsigned int r)
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, addr, 5000 + r % 3);

	return setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len);
}

static int do_dup_close(int fd, const char *addr, unsigned int r)
{
	int d = dup(fd);

	return d < 0 ? -1 : close(d);
}

static int do_second_socket(int fd, const char *addr, unsigned int r)
{
	int d = rds_bound(addr, 5001 + r % 2);

	if (d < 0)
		return -1;
	send_to(d, addr, 5000, "other", 5, MSG_DONTWAIT);
	return close(d);
}

static bool known(int err)
{
	static const int ok[] = {
		EAGAIN, ENOBUFS, EINVAL, ENOTCONN, EADDRINUSE, EOPNOTSUPP,
		EMSGSIZE, EINTR, ENOPROTOOPT, EADDRNOTAVAIL,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(ok); i++)
		if (err == ok[i])
			return true;
	return false;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned int r = (unsigned long)w * 2654435761U;

	while (!atomic_load(&stop)) {
		r = r * 1103515245 + 12345;
		errno = 0;
		if (w->call(w->fd, w->addr, r >> 8) < 0 && !known(errno)) {
			if (!atomic_fetch_add(&bad, 1))
				fprintf(stderr, "# unknown errno %d\n", errno);
		}
		w->n++;
	}
	return NULL;
}

static int (*const call[])(int, const char *, unsigned int) = {
	do_bind, do_connect, do_send, do_send_connected, do_recv, do_poll,
	do_set, do_get, do_info, do_cancel, do_dup_close, do_second_socket,
};

/* All calls at once on one socket: the number of calls made, or -1. */
static long storm(int fd, const char *addr)
{
	struct worker w[ARRAY_SIZE(call)];
	pthread_t t[ARRAY_SIZE(call)];
	long sum = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(call); i++) {
		w[i] = (struct worker){ call[i], fd, addr };
		if (pthread_create(&t[i], NULL, work, &w[i]))
			return -1;
	}
	usleep(RUN_MS * 1000);
	atomic_store(&stop, 1);
	for (i = 0; i < ARRAY_SIZE(call); i++) {
		pthread_join(t[i], NULL);
		if (!w[i].n)
			return -1;
		sum += w[i].n;
	}
	return sum;
}

FIXTURE(races)
{
	int dummy;
};

FIXTURE_VARIANT(races)
{
	const char *addr;
};

FIXTURE_VARIANT_ADD(races, loop)
{
	.addr = "127.0.0.1",
};

FIXTURE_VARIANT_ADD(races, tcp_bound)
{
	.addr = "10.9.0.1",
};

FIXTURE_VARIANT_ADD(races, ipv6)
{
	.addr = "fd09::1",
};

FIXTURE_SETUP(races)
{
	ASSERT_EQ(0, ns_local());
}

FIXTURE_TEARDOWN(races)
{
}

/*
 * The socket still sends to itself what it is given.  Read with room for notifications: one
 * that finds none stays, and recv() returns 0 again and again.
 */
static bool works(int fd, const char *addr)
{
	unsigned int port = port_of(fd);
	__s64 end = now_ms() + WAIT_MS;
	char b[64];
	struct rx rx;
	int n;

	set_int(fd, SOL_SOCKET, SO_RCVBUF, 50000);
	set_int(fd, SOL_SOCKET, SO_SNDBUF, 50000);
	while (rx_msg(fd, b, sizeof(b), MSG_DONTWAIT, &rx) >= 0)
		;
	if (!WAIT_UNTIL(send_to(fd, addr, port, "last word", 9, MSG_DONTWAIT) == 9))
		return false;
	while (now_ms() < end) {
		n = rx_msg(fd, b, sizeof(b), MSG_DONTWAIT, &rx);
		if (n == 9)
			return !memcmp(b, "last word", 9);
		if (n < 0 && errno != EAGAIN)
			return false;
		if (n < 0)
			poll_for(fd, POLLIN, 100);
	}
	return false;
}

/* Starting from a socket that is not bound yet: bind races with all. */
TEST_F(races, one_socket__all_calls)
{
	int fd = rds_socket();

	EXPECT_LT(100, storm(fd, variant->addr));
	EXPECT_EQ(0, atomic_load(&bad));
	ASSERT_NE(0, port_of(fd));
	EXPECT_TRUE(works(fd, variant->addr));
}

/* The same with a peer over the wire that answers nothing. */
TEST(one_socket__all_calls_over_tcp)
{
	int fd;

	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", 0);
	ASSERT_FD(fd);
	EXPECT_LT(100, storm(fd, "10.1.0.2"));
	EXPECT_EQ(0, atomic_load(&bad));
	EXPECT_TRUE(works(fd, "10.1.0.1"));
}

static void *closer(void *arg)
{
	atomic_int *fd = arg;

	while (!atomic_load(&stop)) {
		int n = rds_bound("127.0.0.1", 0);

		close(atomic_exchange(fd, n));
	}
	return NULL;
}

static void *user(void *arg)
{
	atomic_int *fd = arg;
	unsigned int r = 1;

	while (!atomic_load(&stop)) {
		r = r * 1103515245 + 12345;
		call[2 + (r >> 8) % 8](atomic_load(fd), "127.0.0.1", r >> 12);
	}
	return NULL;
}

/* Sockets closed under the hands of their users. */
TEST(closing_socket__all_calls)
{
	atomic_int fd;
	pthread_t t[4];
	int i;

	SETUP_LOCAL();
	atomic_init(&fd, rds_bound("127.0.0.1", 0));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, i ? user : closer, &fd));
	usleep(RUN_MS * 1000);
	atomic_store(&stop, 1);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	EXPECT_TRUE(works(rds_bound("127.0.0.1", 0), "127.0.0.1"));
}

TEST_HARNESS_MAIN
