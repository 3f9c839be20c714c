// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp timeout=60 ref=0 lanes=debian */
/*
 * SO_RDS_MSG_RXPATH_LATENCY set and cleared: the code that takes the clock readings stays on
 * for a while, or any user could make all CPUs patch it as fast as he can call setsockopt().
 */
#define _GNU_SOURCE
#include <sys/utsname.h>

#include "rds_util.h"

static int trace(int fd, int on)
{
	struct rds_rx_trace_so so = { .rx_traces = on, .rx_trace_pos = { 2 } };

	return setsockopt(fd, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so));
}

/* Were the clocks read when a message came that nobody wanted traced? */
static int clocks_read(int a, int b)
{
	struct rds_cmsg_rx_trace t;
	struct cmsghdr *c;
	struct rx rx;
	char x[8];

	if (send(a, "x", 1, 0) != 1 || !wait_data(b))
		return -1;
	usleep(1000);
	if (trace(b, 1) || rx_msg(b, x, sizeof(x), 0, &rx) != 1 || trace(b, 0))
		return -1;
	c = rx_cmsg(&rx, SOL_RDS, RDS_CMSG_RXPATH_LATENCY);
	if (!c)
		return -1;
	memcpy(&t, CMSG_DATA(c), sizeof(t));
	return t.rx_trace[0] > 0;
}

TEST(rxtrace__switched_off_late)
{
	int i, fd = rds_socket(), a = rds_socket(), b = rds_socket(), ret = 0;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(4001),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in from = to;
	struct utsname u;

	ASSERT_EQ(0, uname(&u));
	if (strstr(u.release, "-rds-"))
		SKIP(return, "our debug kernels have no static keys");
	from.sin_port = htons(4002);
	ASSERT_EQ(0, bind(b, (void *)&to, sizeof(to)));
	ASSERT_EQ(0, bind(a, (void *)&from, sizeof(from)));
	ASSERT_EQ(0, connect(a, (void *)&to, sizeof(to)));
	/* Within a second of the last switching off; several tries, for a slow machine. */
	for (i = 0; i < 20 && !ret; i++) {
		ASSERT_EQ(0, trace(fd, 1));
		ASSERT_EQ(0, trace(fd, 0));
		ret = clocks_read(a, b);
	}
	EXPECT_EQ(1, ret);
}

TEST_HARNESS_MAIN
