/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What rds-sendtree and rds-recvtree say to each other. All numbers are in
 * host order: both ends are x86-64.
 *
 * A receiver asks with HELLO, which carries a bit for each file it has. The
 * sender answers with START and the files that are missing, cut into messages
 * of mixed sizes, then END. The receiver acknowledges what it has stored, so
 * that one slow peer cannot fill the sender's socket, and says COMPLETE.
 * Every message of a stream is numbered; the receiver insists on the order.
 */

#ifndef RDS_DEMO_TREE_H
#define RDS_DEMO_TREE_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef AF_RDS
#define AF_RDS		21
#endif

#define TREE_MAGIC	0x52545245u
#define TREE_MAX_FILES	8192
#define TREE_MAX_NAME	1024
#define TREE_MAX_DATA	(256 * 1024)
#define TREE_WINDOW	(2 << 20)	/* bytes under way to one peer */
#define TREE_ACK_EVERY	(256 * 1024)

enum tree_type {
	TREE_HELLO = 1,		/* to the sender: incarnation, bitmap */
	TREE_START,		/* incarnation echoed, total = bytes to come */
	TREE_FILE,		/* file, total = size, payload = name */
	TREE_DATA,		/* file, offset, payload */
	TREE_END,
	TREE_ACK,		/* to the sender: total = bytes stored so far */
	TREE_COMPLETE,		/* to the sender */
	TREE_BYE,
};

/**
 * struct tree_hdr - starts every message
 * @magic: TREE_MAGIC
 * @type: enum tree_type
 * @stream: the sender's number of this answer to a HELLO
 * @seq: number of the message in its stream
 * @incarnation: chosen anew by each receiver that starts
 * @file: number of the file
 * @len: bytes after the header
 * @offset: place of the payload in the file
 * @total: see enum tree_type
 */
struct tree_hdr {
	uint32_t magic;
	uint32_t type;
	uint32_t stream;
	uint32_t file;
	uint64_t seq;
	uint64_t incarnation;
	uint64_t offset;
	uint64_t total;
	uint32_t len;
	uint32_t pad;
};

static inline double tree_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static inline void tree_die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

/* "10.0.0.1:7000" */
static inline struct sockaddr_in tree_addr(const char *text)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	char host[64];
	const char *colon = strchr(text, ':');

	if (!colon || colon - text >= (long)sizeof(host)) {
		fprintf(stderr, "'%s' is not ADDRESS:PORT\n", text);
		exit(2);
	}
	memcpy(host, text, colon - text);
	host[colon - text] = '\0';
	sin.sin_port = htons(atoi(colon + 1));
	if (inet_pton(AF_INET, host, &sin.sin_addr) != 1) {
		fprintf(stderr, "'%s' is not an address\n", host);
		exit(2);
	}
	return sin;
}

static inline int tree_socket(const char *addr, int bufsize)
{
	struct sockaddr_in sin = tree_addr(addr);
	int fd = socket(AF_RDS, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

	if (fd < 0)
		tree_die("socket(AF_RDS)");
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bufsize, sizeof(bufsize)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bufsize, sizeof(bufsize)))
		tree_die("socket buffers");
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)))
		tree_die(addr);
	return fd;
}

/* Returns 0, or -errno; the socket does not block. */
static inline int tree_send(int fd, const struct sockaddr_in *to,
			    struct tree_hdr *hdr, const void *data)
{
	struct iovec iov[2] = {
		{ .iov_base = hdr, .iov_len = sizeof(*hdr) },
		{ .iov_base = (void *)data, .iov_len = hdr->len },
	};
	struct msghdr msg = {
		.msg_name = (void *)to,
		.msg_namelen = sizeof(*to),
		.msg_iov = iov,
		.msg_iovlen = hdr->len ? 2 : 1,
	};

	hdr->magic = TREE_MAGIC;
	return sendmsg(fd, &msg, 0) < 0 ? -errno : 0;
}

/* Bytes of payload, or -1; @data holds TREE_MAX_DATA. */
static inline ssize_t tree_recv(int fd, struct sockaddr_in *from,
				struct tree_hdr *hdr, void *data)
{
	struct iovec iov[2] = {
		{ .iov_base = hdr, .iov_len = sizeof(*hdr) },
		{ .iov_base = data, .iov_len = TREE_MAX_DATA },
	};
	struct msghdr msg = {
		.msg_name = from,
		.msg_namelen = sizeof(*from),
		.msg_iov = iov,
		.msg_iovlen = 2,
	};
	ssize_t n = recvmsg(fd, &msg, 0);

	if (n < 0)
		return -1;
	if (n < (ssize_t)sizeof(*hdr) || hdr->magic != TREE_MAGIC ||
	    n != (ssize_t)(sizeof(*hdr) + hdr->len)) {
		fprintf(stderr, "a message of %zd bytes is not ours\n", n);
		exit(1);
	}
	return hdr->len;
}

#endif /* RDS_DEMO_TREE_H */
