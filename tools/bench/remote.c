// SPDX-License-Identifier: GPL-2.0
/* The client's side: the receivers are on another host, where a server starts them. */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common.h"
#include "control.h"
#include "link.h"

#define CONNECT_MS	5000
#define ANSWER_S	600	/* as long as messages come the server waits for more */

static struct link server;
static struct greeting greeted;
static bool gone;			/* that has been said already */

/* What the server is, once there is a connection. */
const struct about *remote_about(void)
{
	return &greeted.about;
}

static int wait_connected(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int n = poll(&p, 1, CONNECT_MS), err = 0;
	socklen_t len = sizeof(err);

	if (n > 0 && !getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) && !err)
		return 0;
	errno = n ? err : ETIMEDOUT;
	return -1;
}

/* Return: a connected socket, or -1 after saying what is wrong. */
static int dial(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), refused;

	if (fd >= 0 && (!connect(fd, (const struct sockaddr *)to, sizeof(*to)) ||
			(errno == EINPROGRESS && !wait_connected(fd)))) {
		fcntl(fd, F_SETFL, 0);
		return fd;
	}
	refused = errno == ECONNREFUSED;
	warn("no server at %s port %u", inet_ntoa(to->sin_addr), ntohs(to->sin_port));
	if (refused)
		warnx("is 'rds-bench -s' running there?");
	if (fd >= 0)
		close(fd);
	return -1;
}

/* The ends of the measurement are those of this connection, unless others are named. */
static int choose_addresses(int fd, const struct sockaddr_in *to)
{
	struct sockaddr_in own;
	socklen_t len = sizeof(own);

	if (getsockname(fd, (struct sockaddr *)&own, &len)) {
		warn("getsockname");
		return -1;
	}
	if (!opt.rx_named)
		opt.rx = to->sin_addr;
	if (!opt.tx_named)
		opt.tx = own.sin_addr;
	return 0;
}

static int greet(const struct greeting *mine)
{
	char line[1024], why[200];

	greeting_write(mine, line, sizeof(line));
	link_patience(&server, CONNECT_MS / 1000);
	if (!link_say(&server, "%s", line) || !link_hear(&server, line, sizeof(line))) {
		warnx("the server does not answer");
	} else if (!strncmp(line, "busy ", 5)) {
		warnx("the server is at work for %.40s; try again later", line + 5);
	} else if (!greeting_read(line, &greeted)) {
		warnx("who listens there is no rds-bench: '%.40s'", line);
	} else if (greeting_agree(mine, &greeted, why, sizeof(why))) {
		warnx("the server's %s", why);
	} else {
		link_patience(&server, ANSWER_S);
		return 0;
	}
	return -1;
}

/**
 * remote_connect() - find the server
 * @mine: what to tell it about us
 *
 * Return: 0, or -1 after saying what is wrong.
 */
int remote_connect(const struct greeting *mine)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(opt.port) };
	int fd;

	if (inet_pton(AF_INET, opt.server, &to.sin_addr) != 1) {
		warnx("'%s' is not an IPv4 address", opt.server);
		return -1;
	}
	fd = dial(&to);
	if (fd < 0 || choose_addresses(fd, &to))
		return -1;
	if (link_open(&server, fd)) {
		warn("no connection to the server");
		return -1;
	}
	return greet(mine);
}

/* What we have seen may only follow from what the server knows. */
static void add_reason(struct shared *sh, const char *reason)
{
	size_t len = strnlen(sh->why, sizeof(sh->why) - 1);

	snprintf(sh->why + len, sizeof(sh->why) - len, "; server: %.90s", reason);
}

/* Return: whether there is an answer other than that it failed. */
static bool answered(const struct job *job, char *line, size_t room)
{
	if (!link_hear(&server, line, room)) {
		give_up(job->sh, "the server is gone%s", errno == EAGAIN ? ", or hangs" : "");
		gone = true;
		/* what it says later would answer an earlier question */
		shutdown(fileno(server.in), SHUT_RDWR);
		return false;
	}
	if (!strncmp(line, "failed ", 7)) {
		if (!give_up(job->sh, "server: %.150s", line + 7))
			add_reason(job->sh, line + 7);
		return false;
	}
	return true;
}

static bool ask(const struct job *job, const char *question, char *line, size_t room)
{
	if (link_say(&server, "%s", question))
		return answered(job, line, room);
	give_up(job->sh, "the server is gone");
	gone = true;
	return false;
}

/* The sockets of the receivers, and the keys to their memory. */
static bool take_addresses(const struct job *job, unsigned int nsocks, unsigned int nkeys)
{
	struct shared *sh = job->sh;
	char line[512];
	unsigned int i;
	size_t len;

	for (i = 0; i < nsocks; i++) {
		if (!answered(job, line, sizeof(line)))
			return false;
		if (!bytes_read("address", line, &sh->addr[i], sizeof(sh->addr[i]), &len))
			break;
		sh->addr_len[i] = len;
	}
	for (; i < nsocks + nkeys; i++) {
		if (!answered(job, line, sizeof(line)))
			return false;
		if (!bytes_read("key", line, &sh->key[i - nsocks], sizeof(sh->key[0]), &len))
			break;
	}
	if (i == nsocks + nkeys)
		return true;
	give_up(sh, "the server's answer cannot be understood: '%.60s'", line);
	return false;
}

/* Return: whether the receivers are there, with their addresses in job->sh. */
bool remote_start(const struct job *job)
{
	struct errand e = { .cell = job->cell, .rx = opt.rx, .run = job->sh->run };
	char line[512];

	snprintf(e.proto, sizeof(e.proto), "%s", job->proto->name);
	errand_write(&e, line, sizeof(line));
	if (!ask(job, line, line, sizeof(line)))
		return false;
	if (sscanf(line, "ready %d", &job->sh->via) != 1) {
		give_up(job->sh, "the server's answer cannot be understood: '%.60s'", line);
		return false;
	}
	return take_addresses(job, job->nsocks, job_keys(job));
}

/* Return: whether @c has what the receivers have counted. */
bool remote_look(const struct job *job, struct counts *c)
{
	static char line[CONTROL_LINE];

	if (job->sh->failed || !ask(job, "look", line, sizeof(line)))
		return false;
	if (counts_read(line, c))
		return true;
	give_up(job->sh, "the server's counts cannot be understood");
	return false;
}

/* Return: whether the receivers have had all messages. */
bool remote_stop(const struct job *job)
{
	char line[512];

	if (!job->sh->failed)
		return ask(job, "stop", line, sizeof(line));
	if (gone)
		return false;
	if (!link_say(&server, "abort") || !link_hear(&server, line, sizeof(line)))
		add_reason(job->sh, "it is gone");
	else if (!strncmp(line, "failed ", 7))
		add_reason(job->sh, line + 7);
	return false;
}
