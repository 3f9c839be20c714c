// SPDX-License-Identifier: GPL-2.0
/*
 * rds-sendtree - sends a tree of files over RDS sockets to several peers
 *
 *	rds-sendtree ADDR:PORT ROOT LIST NAME=ADDR:PORT[@ADDR:PORT]...
 *
 * LIST names the files, one a line, relative to ROOT. All peers share one
 * socket, but those with an address after @, which are sent to from a socket
 * that is bound there. Runs until every peer has said that it has them all.
 * Prints twice a second, for each peer,
 *	P name bytes-acknowledged bytes-to-send messages streams state
 */

#include "tree.h"

#define MAX_PEERS	8
#define TURN		16	/* messages to a peer before the next one's turn */

struct file {
	char *name;
	uint64_t size;
};

/**
 * struct peer - one receiver
 * @name: for the person at the terminal
 * @addr: where it is bound
 * @sock: our socket for it
 * @incarnation: of the receiver that is being served; 0: none has asked yet
 * @stream: number of the answer under way
 * @seq: of the next message
 * @file: the next message is about this file
 * @offset: and about this place in it; -1: its name comes first
 * @fd: @file, or -1
 * @sent: payload bytes sent
 * @acked: payload bytes that the receiver says it has stored
 * @want: payload bytes that it lacked when it asked
 * @messages: data messages sent, all streams
 * @lcg: state of the sequence of sizes
 * @retry: not before this time
 * @started: START has left
 * @ended: END has left
 * @complete: the receiver has all
 * @have: a bit for each file that it had when it asked
 */
struct peer {
	char *name;
	struct sockaddr_in addr;
	int sock;
	uint64_t incarnation;
	uint32_t stream;
	uint64_t seq;
	int file;
	int64_t offset;
	int fd;
	uint64_t sent, acked, want, messages;
	uint32_t lcg;
	double retry;
	int started, ended, complete;
	uint8_t have[TREE_MAX_FILES / 8];
};

static struct file files[TREE_MAX_FILES];
static struct peer peers[MAX_PEERS];
static struct pollfd socks[MAX_PEERS + 1];
static int nr_files, nr_peers, nr_socks, root;
static uint8_t buffer[TREE_MAX_DATA];

static void read_list(const char *path)
{
	char line[TREE_MAX_NAME];
	FILE *f = fopen(path, "r");
	struct stat st;

	if (!f)
		tree_die(path);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (nr_files == TREE_MAX_FILES || fstatat(root, line, &st, 0))
			tree_die(line);
		files[nr_files].name = strdup(line);
		files[nr_files++].size = st.st_size;
	}
	fclose(f);
}

static void peer_start(struct peer *p, const struct tree_hdr *hello, const uint8_t *have)
{
	if (p->incarnation == hello->incarnation && p->started)
		return;		/* asked again before our answer came */
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	p->incarnation = hello->incarnation;
	p->stream++;
	p->seq = 0;
	p->file = 0;
	p->offset = -1;
	p->sent = 0;
	p->acked = 0;
	p->want = 0;
	p->started = 0;
	p->ended = 0;
	p->complete = 0;
	memset(p->have, 0, sizeof(p->have));
	memcpy(p->have, have, hello->len < sizeof(p->have) ? hello->len : sizeof(p->have));
	for (int i = 0; i < nr_files; i++)
		if (!(p->have[i / 8] & (1 << i % 8)))
			p->want += files[i].size;
	fprintf(stderr, "%s asks: it lacks %llu bytes\n", p->name, (unsigned long long)p->want);
}

static void take_answers(int sock)
{
	struct sockaddr_in from;
	struct tree_hdr h;

	while (tree_recv(sock, &from, &h, buffer) >= 0) {
		struct peer *p = NULL;

		for (int i = 0; i < nr_peers; i++)
			if (peers[i].sock == sock &&
			    peers[i].addr.sin_addr.s_addr == from.sin_addr.s_addr &&
			    peers[i].addr.sin_port == from.sin_port)
				p = &peers[i];
		if (!p)
			continue;
		if (h.type == TREE_HELLO)
			peer_start(p, &h, buffer);
		else if (h.incarnation != p->incarnation || h.stream != p->stream)
			continue;	/* from a receiver that is no more */
		else if (h.type == TREE_ACK)
			p->acked = h.total;
		else if (h.type == TREE_COMPLETE)
			p->complete = 1;
	}
}

/* From a byte to 256 KiB, the same sequence at every run. */
static size_t next_size(struct peer *p)
{
	static const size_t most[] = {
		100, 1024, 4095, 4097, 16384, 65536, 65536, TREE_MAX_DATA
	};

	p->lcg = p->lcg * 1664525u + 1013904223u;
	return 1 + (p->lcg >> 8) % most[p->lcg >> 29];
}

/* 1: something left; 0: nothing to do or no room; the caller tries again. */
static int post(struct peer *p, struct tree_hdr *h, const void *data)
{
	int rc;

	h->stream = p->stream;
	h->incarnation = p->incarnation;
	h->seq = p->seq;
	rc = tree_send(p->sock, &p->addr, h, data);
	if (!rc) {
		p->seq++;
		return 1;
	}
	if (rc != -EAGAIN && rc != -ENOBUFS) {
		errno = -rc;
		fprintf(stderr, "to %s: %s\n", p->name, strerror(errno));
	}
	p->retry = tree_now() + (rc == -EAGAIN ? 0.002 : 0.05);
	return 0;
}

static int send_name(struct peer *p)
{
	struct file *f = &files[p->file];
	struct tree_hdr h = {
		.type = TREE_FILE,
		.file = p->file,
		.total = f->size,
		.len = strlen(f->name),
	};

	if (!post(p, &h, f->name))
		return 0;
	p->offset = 0;
	p->fd = openat(root, f->name, O_RDONLY);
	if (p->fd < 0)
		tree_die(f->name);
	return 1;
}

static int send_data(struct peer *p)
{
	struct file *f = &files[p->file];
	uint64_t left = f->size - p->offset;
	uint32_t lcg = p->lcg;
	size_t len = next_size(p);
	struct tree_hdr h = {
		.type = TREE_DATA,
		.file = p->file,
		.offset = p->offset,
		.len = len < left ? len : left,
	};

	if (pread(p->fd, buffer, h.len, p->offset) != (ssize_t)h.len)
		tree_die(f->name);
	if (!post(p, &h, buffer)) {
		p->lcg = lcg;
		return 0;
	}
	p->messages++;
	p->sent += h.len;
	p->offset += h.len;
	return 1;
}

static int send_next(struct peer *p)
{
	if (!p->started) {
		struct tree_hdr h = { .type = TREE_START, .total = p->want };

		p->started = post(p, &h, NULL);
		return p->started;
	}
	if (p->sent - p->acked >= TREE_WINDOW)
		return 0;
	if (p->fd >= 0 && p->offset == (int64_t)files[p->file].size) {
		close(p->fd);
		p->fd = -1;
		p->offset = -1;
		p->file++;
	}
	while (p->file < nr_files && (p->have[p->file / 8] & (1 << p->file % 8)))
		p->file++;
	if (p->file == nr_files) {
		struct tree_hdr h = { .type = TREE_END, .total = nr_files };

		p->ended = post(p, &h, NULL);
		return p->ended;
	}
	return p->offset < 0 ? send_name(p) : send_data(p);
}

static const char *state(const struct peer *p)
{
	if (p->complete)
		return "complete";
	if (!p->incarnation)
		return "waiting";
	return p->sent - p->acked >= TREE_WINDOW ? "window-full" : "sending";
}

static int report(int final)
{
	static double last;
	int left = 0;

	for (int i = 0; i < nr_peers; i++)
		left += !peers[i].complete;
	if (!final && left && tree_now() - last < 0.5)
		return left;
	last = tree_now();
	for (int i = 0; i < nr_peers; i++) {
		struct peer *p = &peers[i];

		printf("P %s %llu %llu %llu %u %s\n", p->name, (unsigned long long)p->acked,
		       (unsigned long long)p->want, (unsigned long long)p->messages,
		       p->stream, state(p));
	}
	fflush(stdout);
	return left;
}

/* What was said last must leave before the socket closes. */
static void say_bye(void)
{
	for (int i = 0; i < nr_peers; i++) {
		struct tree_hdr h = { .type = TREE_BYE };

		for (int try = 0; try < 50 && !post(&peers[i], &h, NULL); try++)
			usleep(20000);
	}
	sleep(1);
}

static int open_sock(const char *addr)
{
	struct pollfd *s = &socks[nr_socks++];

	s->fd = tree_socket(addr, 32 << 20);
	s->events = POLLIN;
	return s->fd;
}

int main(int argc, char **argv)
{
	if (argc < 5 || argc - 4 > MAX_PEERS) {
		fprintf(stderr, "usage: %s ADDR:PORT ROOT LIST NAME=ADDR:PORT[@ADDR:PORT]...\n",
			argv[0]);
		return 2;
	}
	open_sock(argv[1]);
	root = open(argv[2], O_RDONLY | O_DIRECTORY);
	if (root < 0)
		tree_die(argv[2]);
	read_list(argv[3]);
	for (int i = 4; i < argc; i++) {
		char *equals = strchr(argv[i], '='), *at = strchr(argv[i], '@');
		struct peer *p = &peers[nr_peers++];

		if (!equals)
			return 2;
		*equals = '\0';
		if (at)
			*at++ = '\0';
		p->sock = at ? open_sock(at) : socks[0].fd;
		p->name = argv[i];
		p->addr = tree_addr(equals + 1);
		p->fd = -1;
		p->lcg = 1;
	}
	while (report(0)) {
		int busy = 0;

		for (int i = 0; i < nr_socks; i++)
			take_answers(socks[i].fd);
		for (int i = 0; i < nr_peers; i++) {
			struct peer *p = &peers[i];

			for (int n = 0; n < TURN && p->incarnation && !p->ended &&
			     tree_now() >= p->retry && send_next(p); n++)
				busy = 1;
		}
		if (!busy)
			poll(socks, nr_socks, 5);
	}
	say_bye();
	report(1);
	return 0;
}
