// SPDX-License-Identifier: GPL-2.0
/* The TCP connection between client and server, a line at a time. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "control.h"
#include "link.h"

/* A host that is gone without a word is given up. */
static void notice_the_end(int fd)
{
	int on = 1, idle = 5, interval = 5, count = 3, unanswered_ms = 15000;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof(unanswered_ms));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/**
 * link_open() - make a link of a connection
 * @l: the link
 * @fd: the connection, which is closed if this fails
 *
 * Return: 0, or -1 with errno.
 */
int link_open(struct link *l, int fd)
{
	int copy = dup(fd);

	notice_the_end(fd);
	l->in = fdopen(fd, "r");
	l->out = copy < 0 ? NULL : fdopen(copy, "w");
	if (l->in && l->out)
		return 0;
	if (!l->in)
		close(fd);
	if (!l->out && copy >= 0)
		close(copy);
	link_close(l);
	return -1;
}

void link_close(struct link *l)
{
	if (l->in)
		fclose(l->in);
	if (l->out)
		fclose(l->out);
	l->in = NULL;
	l->out = NULL;
}

/* How long to wait for a line; 0: for ever. */
void link_patience(const struct link *l, unsigned int seconds)
{
	struct timeval tv = { .tv_sec = seconds };

	setsockopt(fileno(l->in), SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
}

/**
 * link_say() - send a line
 * @l: the link
 * @fmt: as printf() has it, without a new line
 *
 * Return: whether it has gone.
 */
bool link_say(struct link *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(l->out, fmt, ap);
	va_end(ap);
	putc('\n', l->out);
	return !fflush(l->out) && !ferror(l->out);
}

/**
 * link_hear() - receive a line
 * @l: the link
 * @line: for the line, without its end
 * @room: bytes at @line
 *
 * Return: false at the end of the connection, after too long a time or line.
 */
bool link_hear(struct link *l, char *line, size_t room)
{
	size_t len;

	errno = 0;
	if (!fgets(line, room, l->in))
		return false;
	len = strlen(line);
	if (!len || line[len - 1] != '\n')
		return false;
	line[len - 1] = '\0';
	return true;
}
