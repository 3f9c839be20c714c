// SPDX-License-Identifier: GPL-2.0
/* Cuts a TCP stream into messages: one read takes up to 256 KiB of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define READ_SIZE	(256U << 10)

struct frames {
	size_t head, tail, size;
	char buf[] __attribute__((aligned(8)));
};

/* Room for a message that has come in part, and a read behind it. */
struct frames *frames_new(unsigned int size)
{
	size_t room = 2 * READ_SIZE + size;
	struct frames *fr = malloc(sizeof(*fr) + room);

	if (fr) {
		fr->head = 0;
		fr->tail = 0;
		fr->size = room;
	}
	return fr;
}

/* The message at the head of the buffer, if it is there as a whole; 0 if not. */
static size_t whole_message(struct rx *rx, const struct frames *fr)
{
	const struct msg_head *h = (const void *)(fr->buf + fr->head);
	size_t have = fr->tail - fr->head;

	if (have < sizeof(*h))
		return 0;
	if (h->len < sizeof(*h) || h->len > rx->room)
		fail(rx->job->sh, "%s: a frame of %u bytes, the stream is damaged",
		     rx->job->proto->name, h->len);
	return have < h->len ? 0 : h->len;
}

/**
 * frames_read() - read once, and take all messages that are complete
 * @rx: the reader
 * @i: which of its sockets
 * @flags: for recv()
 *
 * Return: number of messages.
 */
int frames_read(struct rx *rx, unsigned int i, int flags)
{
	static const struct peer connected;
	struct frames *fr = rx->frames[i];
	int count = 0;
	ssize_t n;
	size_t len;

	if (fr->head == fr->tail) {
		fr->head = 0;
		fr->tail = 0;
	} else if (fr->size - fr->tail < READ_SIZE) {
		memmove(fr->buf, fr->buf + fr->head, fr->tail - fr->head);
		fr->tail -= fr->head;
		fr->head = 0;
	}
	n = recv(rx->fd[i], fr->buf + fr->tail, READ_SIZE, flags);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (!n)
		usleep(50000);	/* the other end says why it has gone */
	if (n <= 0)
		fail(rx->job->sh, "%s: cannot receive: %s", rx->job->proto->name,
		     n ? strerror(errno) : "the connection has ended");
	fr->tail += n;
	for (; (len = whole_message(rx, fr)); count++) {
		rx_message(rx, i, fr->buf + fr->head, len, &connected);
		fr->head += len;
	}
	return count;
}
