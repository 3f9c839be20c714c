// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp timeout=60 ref=0 lanes=uml */
/*
 * A ping whose answer finds no memory is dropped, counted and traced under that reason, once;
 * the next one is answered.
 */
#include "fault.h"

#include <sys/stat.h>

/* One of its own: other tests leave theirs off, or small. */
#define TRACING	"/sys/kernel/tracing/instances/pong/"

static char buf[65536];

static int traced(const char *reason)
{
	int fd = open(TRACING "trace", O_RDONLY | O_CLOEXEC), n = 0;
	char *at = buf, want[64];
	ssize_t len;
	size_t have = 0;

	while (fd >= 0 && have < sizeof(buf) - 1 &&
	       (len = read(fd, buf + have, sizeof(buf) - 1 - have)) > 0)
		have += len;
	close(fd);
	buf[have] = 0;
	snprintf(want, sizeof(want), "reason=%s\n", reason);
	while ((at = strstr(at, want))) {
		at++;
		n++;
	}
	return n;
}

/* An answer is a message without a byte. */
static bool answered(int s)
{
	return recv_wait(s, buf, sizeof(buf)) == 0;
}

/*
 * One ping for each fault point of its call; the answers lost.  They are made within the call,
 * unless a worker still has the link from the answer before: it has no faults.
 */
static int faulty_pings(int s, int *refused)
{
	bool used = true;
	__s64 lost = 0, before, now;
	ssize_t ret;
	int nth;

	for (nth = 1; used && nth < NTH_MAX; nth++) {
		usleep(2000);
		before = counter(s, "pong_nomem");
		arm(nth);
		ret = send(s, buf, 0, 0);
		used = hit();
		now = counter(s, "pong_nomem");
		*refused += ret < 0;
		lost += now - before;
		if (!ret && now == before && !answered(s))
			return -1;
	}
	return used ? -1 : lost;
}

#define ROUNDS 20

TEST(pong_nomem)
{
	int s, n = 0, lost = 0, refused = 0, rounds = 0;

	NEED_FAULTS();
	s = rds_bound("127.0.0.1", 5001);
	ASSERT_FD(s);
	ASSERT_EQ(0, rds_connect(s, "127.0.0.1", 0));
	ASSERT_EQ(0, send(s, buf, 0, 0));
	ASSERT_TRUE(answered(s));
	mkdir(TRACING, 0700);
	close(open(TRACING "trace", O_WRONLY | O_TRUNC | O_CLOEXEC));
	ASSERT_TRUE(put_text(TRACING "events/rds/rds_drop/enable", "1"));

	for (; !lost && n >= 0 && rounds < ROUNDS; rounds++) {
		n = faulty_pings(s, &refused);
		lost += n;
	}
	put_text(TRACING "events/rds/rds_drop/enable", "0");
	printf("# %d rounds, %d calls refused, %d answers lost\n", rounds, refused, lost);
	EXPECT_LE(0, n);
	EXPECT_LT(0, lost);
	EXPECT_LT(0, refused);
	EXPECT_EQ(lost, traced("PONG_NOMEM"));
	ASSERT_EQ(0, send(s, buf, 0, 0));
	EXPECT_TRUE(answered(s));
	close(s);
	rmdir(TRACING);
}

TEST_HARNESS_MAIN
