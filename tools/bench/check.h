/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What each message of the benchmark carries, and the receiver's check.
 *
 * Pure code: no system calls, so that the unit test can feed it damage.
 */
#ifndef RDS_BENCH_CHECK_H
#define RDS_BENCH_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_FLOWS	1024
#define MAX_SIZE	(1U << 20)
#define MIN_SIZE	((unsigned int)sizeof(struct msg_head))

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

enum msg_kind { MSG_DATA = 1, MSG_REPLY, MSG_CREDIT, MSG_END };

/* In host order: two hosts whose order differs do not measure. */
struct msg_head {
	uint32_t len;		/* of the message with this head: also the frame of TCP */
	uint16_t kind;
	uint16_t flow;
	uint64_t seq;
	uint64_t run;		/* tells messages of an earlier run */
	uint64_t sum;		/* of the fields above */
};

enum verdict {
	CHECK_OK, CHECK_SHORT, CHECK_LENGTH, CHECK_HEAD, CHECK_FOREIGN, CHECK_CONTENT,
	CHECK_GAP, CHECK_AGAIN, CHECK_STALE,
};

/* One receiver's view of its flows. */
struct checker {
	uint64_t run;
	unsigned int nflows;
	uint64_t gap;			/* messages missing before one that is CHECK_GAP */
	uint64_t next[MAX_FLOWS];
};

void check_init(void);
void check_head(struct msg_head *h, const struct msg_head *fields);
const void *check_payload(unsigned int flow, uint64_t seq);
const void *check_noise(unsigned int at);
bool check_head_intact(const struct msg_head *h);
enum verdict check_memory(const struct checker *c, const struct msg_head *h, const void *memory,
			  size_t size);
enum verdict check_message(struct checker *c, const void *buf, size_t len);
const char *check_words(enum verdict v);

#endif
