// SPDX-License-Identifier: GPL-2.0
/*
 * The server: starts receivers for a client on another host, and tells what they
 * have counted. One client at a time, since two would measure each other.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common.h"
#include "control.h"
#include "link.h"

/* A client, and the run that it has asked for. */
struct session {
	struct link link;
	char peer[INET_ADDRSTRLEN];
	struct shared *sh;		/* NULL: there is no run */
	struct job job;
	struct crew crew;
};

static void end_run(struct session *s)
{
	crew_kill(&s->crew);
	if (s->sh)
		shared_free(s->sh);
	s->sh = NULL;
}

static bool refuse(struct session *s, const char *why)
{
	end_run(s);
	return link_say(&s->link, "failed %s", *why ? why : "for no reason");
}

/* The run has come to nothing; whoever has given up knows why. */
static bool say_failed(struct session *s)
{
	char why[sizeof(s->sh->why)];

	memcpy(why, s->sh->why, sizeof(why));
	return refuse(s, why);
}

static bool say_ready(struct session *s)
{
	const struct shared *sh = s->sh;
	char line[512];
	unsigned int i;
	bool ok;

	ok = link_say(&s->link, "ready %d", sh->via);
	for (i = 0; ok && i < s->job.nsocks; i++) {
		bytes_write("address", &sh->addr[i], sh->addr_len[i], line, sizeof(line));
		ok = link_say(&s->link, "%s", line);
	}
	for (i = 0; ok && i < job_keys(&s->job); i++) {
		bytes_write("key", &sh->key[i], sizeof(sh->key[i]), line, sizeof(line));
		ok = link_say(&s->link, "%s", line);
	}
	return ok;
}

static bool start_run(struct session *s, const struct errand *e)
{
	const struct proto *p = find_proto(e->proto);
	char why[200], cell[48];

	cell_words(&e->cell, cell, sizeof(cell));
	if (!p || !proto_there(p)) {
		snprintf(why, sizeof(why), "its kernel has no %s", e->proto);
		return refuse(s, why);
	}
	if (!proto_can(p, &e->cell)) {
		snprintf(why, sizeof(why), "there is no %s with %s", cell, p->name);
		return refuse(s, why);
	}
	s->sh = shared_new();
	if (!s->sh)
		return refuse(s, "no memory");
	if (!opt.quiet) {
		printf("%s: %s %s\n", s->peer, p->name, cell);
		fflush(stdout);
	}
	opt.rx = e->rx;
	s->sh->run = e->run;
	job_shape(&s->job, p, &e->cell, s->sh);
	if (crew_receivers(&s->job, &s->crew))
		return say_ready(s);
	give_up(s->sh, "its receivers do not get ready");
	return say_failed(s);
}

static bool say_counts(struct session *s)
{
	static char line[CONTROL_LINE];
	static struct counts c;
	struct cost cost;
	unsigned int f;

	if (s->sh->failed)
		return say_failed(s);
	c.time = now_ns();
	c.n = s->job.nflows;
	for (f = 0; f < c.n; f++) {
		c.flow[f].received = s->sh->flow[f].received;
		c.flow[f].lost = s->sh->flow[f].lost;
	}
	cost_read(&cost);
	c.ctxsw = cost.ctxsw;
	counts_write(&c, line, sizeof(line));
	return link_say(&s->link, "%s", line);
}

static bool stop_run(struct session *s)
{
	bool ok;

	s->sh->stop = 1;
	ok = crew_end(&s->job, &s->crew, 0, s->crew.n);
	s->crew = (struct crew){ .n = 0 };
	if (!ok)
		return say_failed(s);
	end_run(s);
	return link_say(&s->link, "done");
}

/* Return: false if the client is not worth another word. */
static bool obey(struct session *s, const char *line)
{
	struct errand e;
	char why[200];

	if (!strncmp(line, "run ", 4)) {
		end_run(s);
		return errand_read(line, &e, why, sizeof(why)) ? refuse(s, why) : start_run(s, &e);
	}
	if (!strcmp(line, "abort")) {
		if (s->sh && s->sh->failed)
			return say_failed(s);
		end_run(s);
		return link_say(&s->link, "done");
	}
	if (s->sh && !strcmp(line, "look"))
		return say_counts(s);
	if (s->sh && !strcmp(line, "stop"))
		return stop_run(s);
	refuse(s, s->sh ? "that is no order" : "there is no run");
	return false;
}

/* The process that has this client's receivers as its children. */
static void serve_client(int fd, const char *peer, const struct greeting *mine)
{
	struct session s = { .sh = NULL };
	struct greeting other;
	char line[1024], why[200];

	snprintf(s.peer, sizeof(s.peer), "%s", peer);
	if (link_open(&s.link, fd))
		return;
	greeting_write(mine, line, sizeof(line));
	/* it can say what differs, too */
	link_patience(&s.link, 10);
	if (!link_say(&s.link, "%s", line) || !link_hear(&s.link, line, sizeof(line)))
		return;
	if (!greeting_read(line, &other))
		snprintf(why, sizeof(why), "no rds-bench: '%.40s'", line);
	else if (!greeting_agree(mine, &other, why, sizeof(why)))
		why[0] = '\0';
	if (why[0]) {
		warnx("%s: %s", peer, why);
		return;
	}
	link_patience(&s.link, 0);
	while (link_hear(&s.link, line, sizeof(line)) && obey(&s, line))
		;
	end_run(&s);
}

static int listen_for_clients(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(opt.port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (opt.rx_named)
		any.sin_addr = opt.rx;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&any, sizeof(any)) && !listen(fd, 8)) {
		if (!opt.quiet)
			printf("listening at %s port %u\n", inet_ntoa(any.sin_addr), opt.port);
		fflush(stdout);
		return fd;
	}
	warn("cannot listen at %s port %u", inet_ntoa(any.sin_addr), opt.port);
	return -1;
}

/* Who has just gone still has processes to end. */
static bool is_busy(pid_t *worker)
{
	int tries = 100;

	while (*worker && tries-- && waitpid(*worker, NULL, WNOHANG) == 0)
		pause_s(0.01);
	if (tries >= 0)
		*worker = 0;
	return *worker;
}

static pid_t start_worker(int fd, const char *peer, const struct greeting *mine)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid < 0 ? 0 : pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		serve_client(fd, peer, mine);
	_exit(0);
}

/**
 * serve() - work for clients until somebody ends us
 * @mine: what to tell them about us
 *
 * Return: an exit code.
 */
int serve(const struct greeting *mine)
{
	int listener = listen_for_clients(), fd;
	char peer[INET_ADDRSTRLEN] = "";
	struct sockaddr_in from;
	pid_t worker = 0;
	socklen_t len;

	while (listener >= 0) {
		len = sizeof(from);
		fd = accept4(listener, (struct sockaddr *)&from, &len, SOCK_CLOEXEC);
		if (fd < 0 && errno != EINTR && errno != ECONNABORTED) {
			warn("accept");
			break;
		}
		if (fd < 0)
			continue;
		if (is_busy(&worker)) {
			dprintf(fd, "busy %s\n", peer);
		} else {
			inet_ntop(AF_INET, &from.sin_addr, peer, sizeof(peer));
			worker = start_worker(fd, peer, mine);
		}
		close(fd);
	}
	return EXIT_FAILED;
}
