// SPDX-License-Identifier: GPL-2.0
// vm: nodes=1 modules=rds_tcp,veth timeout=90 ref=0 lanes=uml
/*
 * A socket uses the pages of large messages again (net/rds/payload.c). Proves: it does;
 * not while the receiver, which on the same host shares them, has yet to read them;
 * none of one message shows in another; and what is kept is given back soon.
 */
#include "../fairclock.h"
#include "../api/rds_util.h"
#include "../api/rds_netns.h"

#include "kselftest_harness.h"

#define BIG	65536
#define LAG	3
#define ROUNDS	64

FIXTURE(payload)
{
	char *out, *in;
	int a, b;
};

FIXTURE_VARIANT(payload)
{
	bool tcp;
};

FIXTURE_VARIANT_ADD(payload, loopback) { .tcp = false };
FIXTURE_VARIANT_ADD(payload, tcp) { .tcp = true };

static const char *other(bool tcp)
{
	return tcp ? "10.1.0.2" : "10.1.0.1";
}

static int sender(bool tcp, unsigned int port)
{
	return rds_bound_in(0, "10.1.0.1", port);
}

static int receiver(bool tcp, unsigned int port)
{
	return rds_bound_in(tcp ? 1 : 0, other(tcp), port);
}

FIXTURE_SETUP(payload)
{
	self->out = malloc(1 << 20);
	self->in = malloc(1 << 20);
	ASSERT_NE(NULL, self->out);
	ASSERT_NE(NULL, self->in);
	ASSERT_EQ(0, ns_pair());
	self->a = sender(variant->tcp, 4000);
	self->b = receiver(variant->tcp, 4001);
	ASSERT_LE(0, self->a);
	ASSERT_LE(0, self->b);
	ASSERT_EQ(0, set_int(self->a, SOL_SOCKET, SO_SNDBUFFORCE, 1 << 20));
	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, SO_RCVBUFFORCE, 1 << 20));
}

FIXTURE_TEARDOWN(payload)
{
	close(self->a);
	close(self->b);
	free(self->out);
	free(self->in);
}

/* The bytes of message @n: no two messages have the same anywhere. */
static char byte_of(int n, size_t at)
{
	return n * 37 + at / 4096;
}

static void fill(char *buf, int n, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		buf[i] = byte_of(n, i);
}

static bool right(const char *buf, int n, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (buf[i] != byte_of(n, i))
			return false;
	return true;
}

/* Each message is acknowledged, and its pages are done with, long before it is read. */
TEST_F(payload, not_while_unread)
{
	bool tcp = variant->tcp;
	__s64 before = counter(self->a, "payload_reused");
	int i;

	ASSERT_LE(0, before);
	for (i = 0; i < ROUNDS + LAG; i++) {
		if (i < ROUNDS) {
			fill(self->out, i, BIG);
			ASSERT_EQ(BIG, send_to(self->a, other(tcp), 4001, self->out, BIG, 0));
			ASSERT_TRUE(!tcp || all_acked(self->a));
		}
		if (i < LAG)
			continue;
		ASSERT_EQ(BIG, recv_wait(self->b, self->in, 1 << 20));
		ASSERT_TRUE(right(self->in, i - LAG, BIG)) TH_LOG("message %d", i - LAG);
	}
	EXPECT_LT(before + ROUNDS, counter(self->a, "payload_reused"))
		TH_LOG("%lld times", counter(self->a, "payload_reused") - before);
}

/* Lengths go up and down: what an earlier message left behind the end does not come. */
TEST_F(payload, odd_lengths)
{
	static const int len[] = { BIG, 4097, 32769, 61441, BIG - 1, 2049, 33000, 8193 };
	int i, n;

	for (i = 0; i < 64; i++) {
		n = len[i % ARRAY_SIZE(len)];
		fill(self->out, i, n);
		ASSERT_EQ(n, send_to(self->a, other(variant->tcp), 4001, self->out, n, 0));
		memset(self->in, 0x55, BIG + 64);
		ASSERT_EQ(n, recv_wait(self->b, self->in, 1 << 20));
		ASSERT_TRUE(right(self->in, i, n)) TH_LOG("message %d of %d", i, n);
		ASSERT_EQ(0x55, self->in[n]);
	}
}

static long mem_free_kb(void)
{
	long kb = -1;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemFree: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

/* 24 sockets keep up to 1 MiB each, for two seconds. */
TEST_F(payload, given_back)
{
	long before, full, end;
	long long start, took;
	int fd[24], i, n;

	fill(self->out, 1, BIG);
	for (i = 0; i < 24; i++) {
		fd[i] = sender(variant->tcp, 4100 + i);
		ASSERT_LE(0, fd[i]);
		ASSERT_EQ(0, set_int(fd[i], SOL_SOCKET, SO_SNDBUFFORCE, 1 << 20));
	}
	before = mem_free_kb();
	start = now_ms();
	for (i = 0; i < 24; i++) {
		for (n = 0; n < 14; n++)
			ASSERT_EQ(BIG, send_to(fd[i], other(variant->tcp), 4001, self->out,
					       BIG, 0));
		for (n = 0; n < 14; n++)
			ASSERT_EQ(BIG, recv_wait(self->b, self->in, 1 << 20));
		ASSERT_TRUE(all_acked(fd[i]));
	}
	full = mem_free_kb();
	took = now_ms() - start;
	for (start = fair_ms(); fair_ms() - start < 4000;)
		usleep(100000);
	end = mem_free_kb();
	TH_LOG("free before %ld KiB, after the traffic of %lld ms %ld, 4 s later %ld", before, took,
	       full, end);
	/* on a machine that slow the first ones have given theirs back already */
	if (took < 2000)
		EXPECT_LT(8 << 10, end - full);
	EXPECT_GT(8 << 10, before - end);
	for (i = 0; i < 24; i++)
		close(fd[i]);
}

TEST_HARNESS_MAIN
