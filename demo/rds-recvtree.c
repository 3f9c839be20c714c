// SPDX-License-Identifier: GPL-2.0
/*
 * rds-recvtree - receives a tree of files over RDS (see rds-sendtree)
 *
 *	rds-recvtree ADDR:PORT SENDER-ADDR:PORT DIRECTORY
 *
 * Asks the sender for what the directory lacks, stores it, and insists that
 * every message comes once and in order. Ends when the sender says goodbye.
 */

#include "tree.h"

/**
 * struct state - where this receiver is
 * @sock: the RDS socket
 * @sender: who is asked
 * @incarnation: this run
 * @stream: the answer that is being taken; 0: none yet
 * @seq: number expected next
 * @stored: payload bytes stored
 * @told: as last acknowledged
 * @messages: taken
 * @stale: dropped, because they answered an earlier receiver
 * @nr_files: stored completely
 * @file: being written
 * @fd: @file, or -1
 * @size: of @file
 * @at: written of @file
 */
struct state {
	int sock;
	struct sockaddr_in sender;
	uint64_t incarnation;
	uint32_t stream;
	uint64_t seq, stored, told, messages, stale;
	int nr_files;
	uint32_t file;
	int fd;
	uint64_t size, at;
};

static uint8_t buffer[TREE_MAX_DATA];

static void fail(const char *why, const struct tree_hdr *h)
{
	fprintf(stderr, "rds-recvtree: %s (type %u, message %llu, file %u, offset %llu)\n", why,
		h->type, (unsigned long long)h->seq, h->file, (unsigned long long)h->offset);
	exit(1);
}

/* Answers are few and small: wait for room. */
static void answer(struct state *s, enum tree_type type, uint64_t total,
		   const void *data, uint32_t len)
{
	struct tree_hdr h = {
		.type = type,
		.stream = s->stream,
		.incarnation = s->incarnation,
		.total = total,
		.len = len,
	};
	int rc;

	while ((rc = tree_send(s->sock, &s->sender, &h, data)) != 0) {
		if (rc != -EAGAIN && rc != -ENOBUFS) {
			errno = -rc;
			tree_die("sendmsg");
		}
		usleep(2000);
	}
}

static void make_parents(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			tree_die(path);
		*p = '/';
	}
}

static void close_file(struct state *s)
{
	close(s->fd);
	s->fd = -1;
	s->nr_files++;
}

static void open_file(struct state *s, const struct tree_hdr *h)
{
	char name[TREE_MAX_NAME];

	if (s->fd >= 0 || h->len >= sizeof(name))
		fail("a file begins before the last one ended", h);
	memcpy(name, buffer, h->len);
	name[h->len] = '\0';
	if (name[0] == '/' || strstr(name, "..") == name || strstr(name, "/../"))
		fail("a name that leads out of the directory", h);
	make_parents(name);
	s->fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (s->fd < 0)
		tree_die(name);
	s->file = h->file;
	s->size = h->total;
	s->at = 0;
	if (!s->size)
		close_file(s);
}

static void store(struct state *s, const struct tree_hdr *h)
{
	if (s->fd < 0 || h->file != s->file || h->offset != s->at || s->at + h->len > s->size)
		fail("data at the wrong place", h);
	if (write(s->fd, buffer, h->len) != (ssize_t)h->len)
		tree_die("write");
	s->at += h->len;
	s->stored += h->len;
	if (s->stored - s->told >= TREE_ACK_EVERY) {
		s->told = s->stored;
		answer(s, TREE_ACK, s->stored, NULL, 0);
	}
	if (s->at == s->size)
		close_file(s);
}

/* Returns 0 when the sender has said goodbye. */
static int take(struct state *s, const struct tree_hdr *h)
{
	if (h->incarnation != s->incarnation || (s->stream && h->stream != s->stream)) {
		s->stale++;
		return 1;
	}
	if (h->seq != s->seq)
		fail(h->seq < s->seq ? "a message came twice" : "messages are missing", h);
	s->seq++;
	s->messages++;
	switch (h->type) {
	case TREE_START:
		s->stream = h->stream;
		break;
	case TREE_FILE:
		open_file(s, h);
		break;
	case TREE_DATA:
		store(s, h);
		break;
	case TREE_END:
		if (s->fd >= 0)
			fail("the end comes within a file", h);
		answer(s, TREE_ACK, s->stored, NULL, 0);
		answer(s, TREE_COMPLETE, s->stored, NULL, 0);
		break;
	case TREE_BYE:
		return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	static uint8_t have[TREE_MAX_FILES / 8];
	struct state s = { .fd = -1 };
	struct timespec ts;
	double asked = 0;

	if (argc != 4) {
		fprintf(stderr, "usage: %s ADDR:PORT SENDER-ADDR:PORT DIRECTORY\n", argv[0]);
		return 2;
	}
	s.sender = tree_addr(argv[2]);
	clock_gettime(CLOCK_REALTIME, &ts);
	s.incarnation = ts.tv_sec * 1000000000ull + ts.tv_nsec + getpid();
	s.sock = tree_socket(argv[1], 8 << 20);
	if ((mkdir(argv[3], 0755) && errno != EEXIST) || chdir(argv[3]))
		tree_die(argv[3]);

	for (;;) {
		struct pollfd pfd = { .fd = s.sock, .events = POLLIN };
		struct sockaddr_in from;
		struct tree_hdr h;

		if (!s.stream && tree_now() - asked > 2) {
			asked = tree_now();
			answer(&s, TREE_HELLO, 0, have, sizeof(have));
		}
		poll(&pfd, 1, 500);
		while (tree_recv(s.sock, &from, &h, buffer) >= 0)
			if (!take(&s, &h))
				goto out;
	}
out:
	printf("files %d bytes %llu messages %llu in order, each once; %llu stale\n",
	       s.nr_files, (unsigned long long)s.stored, (unsigned long long)s.messages,
	       (unsigned long long)s.stale);
	return 0;
}
