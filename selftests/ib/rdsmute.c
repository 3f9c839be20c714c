// SPDX-License-Identifier: GPL-2.0
/*
 * A peer over verbs, for ib/holds, who takes what comes and says nothing:
 *
 *	rdsmute TO LAST
 *
 * "ok ADDRESS" is his own, which ends with LAST.  On standard input "count" is answered by "ok" and
 * how many messages have come, "ack" acknowledges all of them.  It ends with its device, its link
 * or its input.
 */
/* nothing of the harness is */
#pragma GCC diagnostic ignored "-Wunused-function"
#define RXE_THERE
#define PEER_STAYS
/* each time that all are full our kernel waits for most of a second */
#define PEER_BUFS 1000
#include "peer.h"

static struct peer peer;
static unsigned long count;
static uint64_t seq;

static void take(int wait_ms)
{
	struct frame_hdr h;
	uint8_t *data;

	while (peer_recv(&peer, &h, &data, wait_ms) > 0) {
		wait_ms = 0;
		if (!h.sport)
			continue;
		count++;
		seq = be64toh(h.seq);
	}
}

/* His link goes soon after the interface: it is the peer that asks who says how often to try. */
static int begin(const char *to)
{
	struct priv4 d;

	if (peer_open(&peer, to))
		return -1;
	peer.retries = 2;
	d = peer_priv(&peer, to);
	return peer_request(&peer, &d, sizeof(d)) == RDMA_CM_EVENT_ESTABLISHED ? 0 : -1;
}

/* False at the end. */
static bool obey(void)
{
	char line[32] = {};

	if (read(0, line, sizeof(line) - 1) <= 0)
		return false;
	if (!strncmp(line, "ack", 3) && peer_ack(&peer, seq))
		return false;
	printf("ok %lu\n", count);
	fflush(stdout);
	return true;
}

int main(int argc, char **argv)
{
	struct pollfd p[2] = { { .fd = 0, .events = POLLIN } };

	if (argc != 3)
		return 2;
	*peer_last = atoi(argv[2]) - 1;
	if (begin(argv[1]))
		return 1;
	printf("ok %s\n", peer.addr);
	fflush(stdout);
	p[1] = (struct pollfd){ .fd = peer.ch->fd, .events = POLLIN };
	for (;;) {
		take(1);
		if (poll(p, 2, 0) <= 0)
			continue;
		if (p[1].revents || !obey())
			break;
	}
	peer_close(&peer);
	return 0;
}
