// SPDX-License-Identifier: GPL-2.0
/*
 * The Ethernet switch between guests: each QEMU connects with
 * "-netdev stream" to this unix socket and exchanges frames, each with its
 * length before it (u32, big endian). Learns addresses, floods the rest, and
 * drops what a slow guest does not take, as a switch does.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_PORTS	8
#define MAX_FRAME	(68 * 1024)
#define QUEUE		(4 << 20)
#define ADDRESSES	64

struct port {
	int fd;
	uint8_t in[MAX_FRAME * 4];
	size_t in_len;
	uint8_t *out;
	size_t out_head, out_len;
};

static struct port ports[MAX_PORTS];
static struct {
	uint8_t mac[6];
	int port;
} table[ADDRESSES];
static int table_len;

static void port_close(struct port *p)
{
	close(p->fd);
	p->fd = -1;
	for (int i = 0; i < table_len; i++)
		if (table[i].port == p - ports)
			table[i].port = -1;
}

static void port_flush(struct port *p)
{
	while (p->out_len) {
		ssize_t n = send(p->fd, p->out + p->out_head, p->out_len,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			port_close(p);
		if (n < 0)
			return;
		p->out_head += n;
		p->out_len -= n;
	}
	p->out_head = 0;
}

static void port_send(struct port *p, const uint8_t *frame, size_t len)
{
	if (p->out_head + p->out_len + len > QUEUE) {
		memmove(p->out, p->out + p->out_head, p->out_len);
		p->out_head = 0;
		if (p->out_len + len > QUEUE)
			return;
	}
	memcpy(p->out + p->out_head + p->out_len, frame, len);
	p->out_len += len;
}

static void learn(const uint8_t *mac, int port)
{
	int i;

	for (i = 0; i < table_len; i++)
		if (!memcmp(table[i].mac, mac, 6))
			break;
	if (i == ADDRESSES)
		return;
	memcpy(table[i].mac, mac, 6);
	table[i].port = port;
	if (i == table_len)
		table_len++;
}

/* @frame starts with its length. */
static void forward(int from, const uint8_t *frame, size_t len)
{
	const uint8_t *dst = frame + 4;

	if (len < 4 + 14)
		return;
	learn(frame + 10, from);
	if (!(dst[0] & 1))
		for (int i = 0; i < table_len; i++)
			if (table[i].port >= 0 && !memcmp(table[i].mac, dst, 6)) {
				if (table[i].port != from)
					port_send(&ports[table[i].port], frame, len);
				return;
			}
	for (int i = 0; i < MAX_PORTS; i++)
		if (i != from && ports[i].fd >= 0)
			port_send(&ports[i], frame, len);
}

static void port_read(int nr)
{
	struct port *p = &ports[nr];
	ssize_t n = recv(p->fd, p->in + p->in_len, sizeof(p->in) - p->in_len, MSG_DONTWAIT);
	size_t at = 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		port_close(p);
		return;
	}
	p->in_len += n;
	while (p->in_len - at >= 4) {
		uint32_t len;

		memcpy(&len, p->in + at, 4);
		len = ntohl(len);
		if (len > MAX_FRAME) {
			fprintf(stderr, "rds-switch: frame of %u bytes\n", len);
			port_close(p);
			return;
		}
		if (p->in_len - at < 4 + len)
			break;
		forward(nr, p->in + at, 4 + len);
		at += 4 + len;
	}
	memmove(p->in, p->in + at, p->in_len - at);
	p->in_len -= at;
}

static void port_accept(int listener)
{
	int fd = accept(listener, NULL, NULL);

	for (int i = 0; i < MAX_PORTS && fd >= 0; i++) {
		if (ports[i].fd >= 0)
			continue;
		ports[i].fd = fd;
		ports[i].in_len = 0;
		ports[i].out_head = 0;
		ports[i].out_len = 0;
		return;
	}
	if (fd >= 0)
		close(fd);
}

static int listen_on(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(sun.sun_path))
		return -1;
	memcpy(sun.sun_path, path, strlen(path));
	unlink(path);
	if (fd < 0 || bind(fd, (void *)&sun, sizeof(sun)) || listen(fd, MAX_PORTS))
		return -1;
	return fd;
}

int main(int argc, char **argv)
{
	int listener;

	if (argc != 2)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	listener = listen_on(argv[1]);
	if (listener < 0) {
		perror(argv[1]);
		return 1;
	}
	for (int i = 0; i < MAX_PORTS; i++) {
		ports[i].fd = -1;
		ports[i].out = malloc(QUEUE);
		if (!ports[i].out)
			return 1;
	}
	for (;;) {
		struct pollfd pfd[MAX_PORTS + 1];

		for (int i = 0; i < MAX_PORTS; i++)
			pfd[i] = (struct pollfd){
				.fd = ports[i].fd,
				.events = POLLIN | (ports[i].out_len ? POLLOUT : 0),
			};
		pfd[MAX_PORTS] = (struct pollfd){ .fd = listener, .events = POLLIN };
		if (poll(pfd, MAX_PORTS + 1, -1) < 0 && errno != EINTR)
			return 1;
		for (int i = 0; i < MAX_PORTS; i++)
			if (ports[i].fd >= 0 && (pfd[i].revents & (POLLIN | POLLHUP | POLLERR)))
				port_read(i);
		if (pfd[MAX_PORTS].revents)
			port_accept(listener);
		for (int i = 0; i < MAX_PORTS; i++)
			if (ports[i].fd >= 0)
				port_flush(&ports[i]);
	}
}
