// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=60 lanes=uml */
/* ioctl(): type of service, queue sizes, and what is refused. */
#include "rds_duo.h"

#include <linux/sockios.h>

static char buf[8192];

static int get_tos(int fd)
{
	unsigned char t[2] = { 0xaa, 0xaa };

	if (ioctl(fd, SIOCRDSGETTOS, t) || t[1] != 0xaa)
		return -1;
	return t[0];
}

/* A readable struct ifreq whose first byte is the tos. */
static int set_tos(int fd, unsigned char tos)
{
	unsigned char ifr[64] = { tos };

	return ioctl(fd, SIOCRDSSETTOS, ifr);
}

/* GETTOS works in every state and writes one byte. */
TEST(ioctl__get_tos)
{
	unsigned char *p = guarded(1);
	int fd;

	SETUP_LOCAL();
	fd = rds_socket();
	EXPECT_EQ(0, get_tos(fd));
	ASSERT_EQ(0, rds_bind(fd, "127.0.0.1", 0));
	EXPECT_EQ(0, get_tos(fd));
	EXPECT_EQ(0, ioctl(fd, SIOCRDSGETTOS, p));
	EXPECT_ERR(EFAULT, ioctl(fd, SIOCRDSGETTOS, BAD_PTR));
	EXPECT_ERR(EFAULT, ioctl(fd, SIOCRDSGETTOS, p + 1));
}

/* SETTOS needs a transport that knows TOS: none and loopback do not. */
TEST(ioctl__set_tos_without_map)
{
	unsigned char *p = guarded(1);
	int fd, i;

	SETUP_LOCAL();
	for (i = 0; i < 2; i++) {
		fd = i ? rds_bound("127.0.0.1", 0) : rds_socket();
		EXPECT_ERR(EFAULT, ioctl(fd, SIOCRDSSETTOS, BAD_PTR));
		EXPECT_ERR(ENOTTY, set_tos(fd, 3));
		EXPECT_EQ(0, get_tos(fd));
		/* the generic layer looks for a struct ifreq behind it */
		EXPECT_ERR(EFAULT, ioctl(fd, SIOCRDSSETTOS, p));
	}
}

/* On TCP every value maps to 0; one readable byte is enough. */
TEST(ioctl__set_tos_tcp)
{
	unsigned char *p = guarded(1);
	int fd, i;

	SETUP_LOCAL();
	for (i = 0; i < 2; i++) {
		fd = rds_socket();
		ASSERT_EQ(0, i ? rds_bind(fd, "10.9.0.1", 5000) :
			     set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP));
		EXPECT_ERR(EFAULT, ioctl(fd, SIOCRDSSETTOS, BAD_PTR));
		*p = 7;
		EXPECT_EQ(0, ioctl(fd, SIOCRDSSETTOS, p));
		EXPECT_EQ(0, get_tos(fd));
		EXPECT_EQ(0, set_tos(fd, 255));
		EXPECT_EQ(0, set_tos(fd, 0));
		EXPECT_EQ(0, get_tos(fd));
	}
	/* not after the first message */
	ASSERT_EQ(1, send_to(fd, "10.9.0.1", 5000, "x", 1, 0));
	EXPECT_ERR(EINVAL, set_tos(fd, 1));
	EXPECT_ERR(EINVAL, set_tos(fd, 0));
}

/* A failing send does not count as the first message. */
TEST(ioctl__set_tos_after_failed_send)
{
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("10.9.0.1", 5000);
	EXPECT_ERR(ENOTCONN, send(fd, "x", 1, 0));
	EXPECT_EQ(0, set_tos(fd, 1));
}

static int inq(int fd)
{
	int v = -7;

	return ioctl(fd, SIOCINQ, &v) ? -errno : v;
}

static int outq(int fd)
{
	int v = -7;

	return ioctl(fd, SIOCOUTQ, &v) ? -errno : v;
}

/* In-tree has no queue sizes. */
TEST(ioctl__queues_in_tree)
{
	int fd, v;

	if (!is_ref())
		SKIP(_exit(KSFT_SKIP), "has SIOCINQ and SIOCOUTQ");
	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 5000);
	EXPECT_ERR(ENOTTY, ioctl(fd, SIOCINQ, &v));
	EXPECT_ERR(ENOTTY, ioctl(fd, SIOCOUTQ, &v));
}

/* SIOCINQ: bytes of the next message, as every datagram socket has it. */
TEST_F(duo, ioctl__inq)
{
	SKIP_REF("no SIOCINQ");
	EXPECT_EQ(0, inq(self->b));
	ASSERT_EQ(500, send(self->a, buf, 500, 0));
	ASSERT_TRUE(wait_data(self->b));
	EXPECT_EQ(500, inq(self->b));
	EXPECT_EQ(0, inq(self->a));
	ASSERT_EQ(500, recv_wait(self->b, buf, 600));
	EXPECT_EQ(0, inq(self->b));
	/* an empty message has no bytes */
	ASSERT_EQ(0, send(self->a, NULL, 0, 0));
	ASSERT_TRUE(wait_data(self->b));
	EXPECT_EQ(0, inq(self->b));
	EXPECT_ERR(EFAULT, ioctl(self->b, SIOCINQ, BAD_PTR));
	EXPECT_ERR(EFAULT, ioctl(self->b, SIOCOUTQ, BAD_PTR));
}

/* SIOCOUTQ: bytes not yet acknowledged; 0 once the peer has them. */
TEST_F(duo, ioctl__outq)
{
	SKIP_REF("no SIOCOUTQ");
	EXPECT_EQ(0, outq(self->a));
	ASSERT_EQ(4000, send(self->a, buf, 4000, 0));
	ASSERT_EQ(4000, recv_wait(self->b, buf, 4000));
	EXPECT_TRUE(WAIT_UNTIL(outq(self->a) == 0));
}

/* SIOCOUTQ: what waits for an unreachable peer, until it is cancelled. */
TEST(ioctl__outq_unreachable)
{
	struct sockaddr_storage ss;
	socklen_t len;
	int fd;

	SKIP_REF("no SIOCOUTQ");
	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", 0);
	EXPECT_EQ(0, outq(fd));
	ASSERT_EQ(100, send_to(fd, "10.1.0.77", 9, buf, 100, 0));
	ASSERT_EQ(0, send_to(fd, "10.1.0.77", 9, buf, 0, 0));
	ASSERT_EQ(200, send_to(fd, "10.1.0.78", 9, buf, 200, 0));
	EXPECT_EQ(300, outq(fd));
	len = mkaddr(&ss, "10.1.0.77", 9);
	ASSERT_EQ(0, setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
	EXPECT_EQ(200, outq(fd));
}

/* Queue sizes of a socket that was never bound. */
TEST(ioctl__queues_unbound)
{
	SKIP_REF("no SIOCINQ");
	EXPECT_EQ(0, inq(rds_socket()));
	EXPECT_EQ(0, outq(rds_socket()));
}

/* What no RDS socket has. */
TEST(ioctl__unsupported)
{
	char a[256] = {};
	int fd, i;

	SETUP_LOCAL();
	for (i = 0; i < 2; i++) {
		fd = i ? rds_bound("127.0.0.1", 0) : rds_socket();
		EXPECT_ERR(ENOTTY, ioctl(fd, SIOCATMARK, a));
		EXPECT_ERR(ENOTTY, ioctl(fd, SIOCGSTAMP_OLD, a));
		EXPECT_ERR(ENOTTY, ioctl(fd, SIOCGSTAMPNS_OLD, a));
		EXPECT_ERR(ENOTTY, ioctl(fd, 0xdead, a));
	}
}

/* Interface ioctls work as on any socket. */
TEST(ioctl__generic_interface)
{
	struct ifreq ifr = {};
	int fd;

	SETUP_LOCAL();
	fd = rds_socket();
	memcpy(ifr.ifr_name, "lo", 3);
	EXPECT_EQ(0, ioctl(fd, SIOCGIFINDEX, &ifr));
	EXPECT_EQ(if_nametoindex("lo"), ifr.ifr_ifindex);
	EXPECT_EQ(0, ioctl(fd, SIOCGIFFLAGS, &ifr));
	EXPECT_TRUE(ifr.ifr_flags & IFF_LOOPBACK);
}

TEST_HARNESS_MAIN
