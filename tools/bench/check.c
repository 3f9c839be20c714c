// SPDX-License-Identifier: GPL-2.0
/*
 * Messages that can be verified cheaply.
 *
 * The payload of message SEQ of a flow is a piece of one pool of noise, so that
 * a sender sends it without making it and a receiver compares it without
 * computing it: all of it, with memcmp(), which on a processor with AVX2 takes
 * about an instruction for each eight bytes.
 */
#include <string.h>

#include "check.h"

#define SPREAD		8192	/* payloads begin at so many places, 8 bytes apart */

static uint64_t pool[SPREAD + MAX_SIZE / 8];

static uint64_t mix(uint64_t v)
{
	v ^= v >> 31;
	v *= 0x7fb5d329728ea185ULL;
	v ^= v >> 27;
	v *= 0x81dadef4bc2dd44dULL;
	return v ^ (v >> 33);
}

void check_init(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pool); i++)
		pool[i] = mix(i + 1);
}

static uint64_t head_sum(const struct msg_head *h)
{
	uint64_t v = (uint64_t)h->len << 32 | (uint32_t)h->kind << 16 | h->flow;

	return mix(v ^ mix(h->seq ^ h->run)) ^ h->seq;
}

/**
 * check_head() - complete a head
 * @h: the head to make
 * @fields: everything but the sum
 */
void check_head(struct msg_head *h, const struct msg_head *fields)
{
	*h = *fields;
	h->sum = head_sum(h);
}

/**
 * check_payload() - what follows the head of a message
 * @flow: the flow
 * @seq: number of the message in its flow
 *
 * Return: at least MAX_SIZE bytes.
 */
const void *check_payload(unsigned int flow, uint64_t seq)
{
	return pool + (seq * 2053 + flow * 127) % SPREAD;
}

/* The noise itself: at least MAX_SIZE bytes from word @at, which is below 8192. */
const void *check_noise(unsigned int at)
{
	return pool + at % SPREAD;
}

bool check_head_intact(const struct msg_head *h)
{
	return h->sum == head_sum(h);
}

/**
 * check_message() - judge what was received
 * @c: the receiver; learns which message comes next
 * @buf: the message
 * @len: bytes received
 *
 * A credit has a head only and is not part of the sequence.
 *
 * Return: CHECK_OK or what is wrong.
 */
enum verdict check_message(struct checker *c, const void *buf, size_t len)
{
	const struct msg_head *h = buf;
	uint64_t next;

	if (len < sizeof(*h))
		return CHECK_SHORT;
	if (!check_head_intact(h))
		return CHECK_HEAD;
	if (h->run != c->run || h->flow >= c->nflows)
		return CHECK_FOREIGN;
	if (h->len != len)
		return CHECK_LENGTH;
	if (h->kind == MSG_CREDIT)
		return CHECK_OK;
	next = c->next[h->flow];
	if (h->seq < next)
		return CHECK_AGAIN;
	if (memcmp(h + 1, check_payload(h->flow, h->seq), len - sizeof(*h)))
		return CHECK_CONTENT;
	c->next[h->flow] = h->seq + 1;
	c->gap = h->seq - next;
	return c->gap ? CHECK_GAP : CHECK_OK;
}

/**
 * check_memory() - judge what an operation has written into our memory
 * @c: the receiver
 * @h: the message that says so
 * @memory: begins with a head, too
 * @size: bytes written
 *
 * Return: CHECK_OK or what is wrong.
 */
enum verdict check_memory(const struct checker *c, const struct msg_head *h, const void *memory,
			  size_t size)
{
	const struct msg_head *m = memory;

	if (!check_head_intact(m))
		return CHECK_HEAD;
	if (m->run != c->run)
		return CHECK_FOREIGN;
	if (m->flow != h->flow || m->seq != h->seq)
		return CHECK_STALE;
	if (m->len != size)
		return CHECK_LENGTH;
	return memcmp(m + 1, check_payload(m->flow, m->seq), size - sizeof(*m)) ? CHECK_CONTENT :
		CHECK_OK;
}

const char *check_words(enum verdict v)
{
	static const char * const words[] = {
		[CHECK_OK] = "in order",
		[CHECK_SHORT] = "shorter than its head",
		[CHECK_LENGTH] = "not as long as its head says",
		[CHECK_HEAD] = "its head is damaged",
		[CHECK_FOREIGN] = "not of this run",
		[CHECK_CONTENT] = "its content is damaged",
		[CHECK_GAP] = "messages before it are missing",
		[CHECK_AGAIN] = "it or a later one has come before",
		[CHECK_STALE] = "its memory holds another one",
	};

	return words[v];
}
