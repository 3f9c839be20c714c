// SPDX-License-Identifier: GPL-2.0
/*
 * One run of one cell: starts the processes, waits until all flows move, and
 * looks at their counters twice. Nothing is asked of the clock for a message.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define PATIENCE	20.0	/* seconds without an end: it hangs */
#define FIRST_PORT	5000
#define PORTS		(2 * MAX_FLOWS)

struct snapshot {
	uint64_t time, count[MAX_FLOWS], lost, sum;
};

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void pause_s(double seconds)
{
	struct timespec ts = { seconds, (seconds - (time_t)seconds) * 1e9 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static void look(const struct job *job, struct snapshot *s)
{
	unsigned int f;

	memset(s, 0, sizeof(*s));
	s->time = now_ns();
	for (f = 0; f < job->nflows; f++) {
		s->count[f] = job->sh->flow[f].received;
		/* the rate is the stream's */
		if (job->cell.work != BESIDE || f)
			s->sum += s->count[f];
		s->lost += job->sh->flow[f].lost;
	}
}

static void join_netns(struct shared *sh, const char *ns)
{
	char path[256];
	int fd;

	if (!ns)
		return;
	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		fail(sh, "cannot enter the network namespace %s: %s", ns, strerror(errno));
	close(fd);
}

/* The processes of a run: those that are there, so that what is killed is one of them. */
struct crew {
	unsigned int n;
	pid_t pid[MAX_FLOWS + 2];
};

/* @sender: its number, or below 0: -1 - the number of a receiver */
static bool spawn(const struct job *job, int sender, struct crew *crew)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		give_up(job->sh, "cannot start a process: %s", strerror(errno));
		return false;
	}
	if (pid) {
		crew->pid[crew->n++] = pid;
		return true;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	join_netns(job->sh, sender < 0 ? opt.rx_ns : opt.tx_ns);
	if (sender < 0)
		receive_process(job, -1 - sender);
	send_process(job, sender);
}

/* Return: false when a process has given up, or it took too long. */
static bool wait_ready(const struct job *job, int count)
{
	uint64_t end = now_ns() + PATIENCE * 1e9;

	while (job->sh->ready < count && !job->sh->failed && now_ns() < end)
		pause_s(0.001);
	return job->sh->ready >= count && !job->sh->failed;
}

static bool all_flows_move(const struct job *job)
{
	unsigned int f;

	for (f = 0; f < job->nflows; f++)
		if (!job->sh->flow[f].received)
			return false;
	return true;
}

/* Connections are made, buffers grow, caches warm up: not part of it. */
static void warm_up(const struct job *job)
{
	uint64_t end = now_ns() + 2000000000ULL;

	while (!all_flows_move(job) && !job->sh->failed && now_ns() < end)
		pause_s(0.005);
	pause_s(opt.seconds / 4);
}

static double fairness(const struct job *job, const struct snapshot *a, const struct snapshot *b)
{
	uint64_t least = UINT64_MAX, most = 0, n;
	unsigned int f;

	for (f = 0; f < job->nflows; f++) {
		n = b->count[f] - a->count[f];
		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	return most ? (double)least / most : 0;
}

/* Counting wake-ups costs, so it has a time of its own. */
static void measure_wakeups(const struct job *job, struct result *r)
{
	struct snapshot a, b;
	struct cost before, after;

	if (!opt.wakeups || !cost_count_wakeups(true))
		return;		/* main() has made sure that it can be done */
	look(job, &a);
	cost_read(&before);
	pause_s(opt.seconds / 2);
	look(job, &b);
	cost_read(&after);
	cost_count_wakeups(false);
	if (b.sum > a.sum && after.wakeups_known)
		r->wakeups = (double)(after.wakeups - before.wakeups) / (b.sum - a.sum);
}

static void measure(const struct job *job, struct result *r)
{
	struct cost before, after;
	struct snapshot a, b;

	warm_up(job);
	cost_read(&before);
	job->sh->measuring = 1;
	if (opt.mark)
		cost_mark(1);
	look(job, &a);
	pause_s(opt.seconds);
	look(job, &b);
	if (opt.mark)
		cost_mark(0);
	job->sh->measuring = 0;
	cost_read(&after);
	r->seconds = (b.time - a.time) / 1e9;
	r->messages = b.sum - a.sum;
	r->lost = b.lost - a.lost;
	r->fairness = fairness(job, &a, &b);
	if (r->messages) {
		r->rate = r->messages / r->seconds;
		r->ns = 1e9 / r->rate;
		r->ctxsw = (double)(after.ctxsw - before.ctxsw) / r->messages;
	}
	measure_wakeups(job, r);
}

static double microseconds(const struct histogram *h, unsigned int percent)
{
	double ns = histogram_percentile(h, percent);

	return ns < 0 ? -1 : ns / 1e3;
}

/* Return: false if the process does not end within @patience seconds, or 1 if all is void. */
static bool reap(const struct job *job, pid_t pid, double patience, bool *ok)
{
	uint64_t begin = now_ns();
	int status;

	do {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			*ok = *ok && WIFEXITED(status) && !WEXITSTATUS(status);
			return true;
		}
		if (job->sh->failed && patience > 1)
			patience = 1;
		pause_s(0.002);
	} while (now_ns() - begin < patience * 1e9);
	return false;
}

/* All messages are accounted for when the receivers, which are first, end by themselves. */
static bool stop_all(const struct job *job, const struct crew *crew)
{
	bool ok = true, hang = false;
	unsigned int i;

	job->sh->stop = 1;
	for (i = 0; i < crew->n; i++) {
		/* the others may wait for the first that hangs: once is enough */
		if (!reap(job, crew->pid[i], hang ? 0 : PATIENCE, &ok)) {
			hang = true;
			kill(crew->pid[i], SIGKILL);
			waitpid(crew->pid[i], NULL, 0);
		}
		if (i + 1 >= job->nreceivers)
			job->sh->finish = 1;
	}
	if (hang && !job->sh->failed)
		snprintf(job->sh->why, sizeof(job->sh->why),
			 "no end: messages are missing, or a process hangs");
	return ok && !hang && !job->sh->failed;
}

static void shape(struct job *job, const struct proto *p, const struct cell *c, struct shared *sh)
{
	static unsigned int runs;
	unsigned int many = c->work == STREAM ? 1 : c->work == BESIDE ? 2 : c->n;

	*job = (struct job){ .proto = p, .cell = *c, .sh = sh, .nflows = many };
	job->nsenders = c->work == FANOUT || c->work == SOCKETS ? 1 : many;
	job->nsocks = c->work == FANIN || c->work == PINGPONG ? 1 : many;
	job->nreceivers = c->work == BESIDE ? 2 : 1;
	job->buf = c->size > 65536 ? 4 << 20 : 1 << 20;
	/* nothing of an earlier run may be on its way to these ports */
	job->base = FIRST_PORT + runs++ % ((65536 - FIRST_PORT) / PORTS) * PORTS;
}

/* Return: whether all processes are there and ready. */
static bool start_all(const struct job *job, struct crew *crew)
{
	unsigned int i;

	for (i = 0; i < job->nreceivers; i++)
		if (!spawn(job, -1 - (int)i, crew))
			return false;
	if (!wait_ready(job, job->nreceivers))
		return false;
	for (i = 0; i < job->nsenders; i++)
		if (!spawn(job, i, crew))
			return false;
	return wait_ready(job, job->nreceivers + job->nsenders);
}

/**
 * run_cell() - measure one cell with one transport
 * @p: the transport
 * @c: the work
 * @r: the result
 */
void run_cell(const struct proto *p, const struct cell *c, struct result *r)
{
	struct shared *sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct crew crew = { .n = 0 };
	struct job job;

	*r = (struct result){ .proto = p, .cell = *c, .wakeups = -1, .ctxsw = -1, .median = -1,
			      .p99 = -1, .failed = true };
	if (sh == MAP_FAILED) {
		snprintf(r->why, sizeof(r->why), "no memory");
		return;
	}
	sh->run = now_ns() * 2654435761U + getpid();
	shape(&job, p, c, sh);
	if (start_all(&job, &crew)) {
		sh->go = 1;
		measure(&job, r);
	} else {
		give_up(sh, "its processes do not get ready");
	}
	r->failed = !stop_all(&job, &crew);
	if (!r->failed && !r->messages) {
		r->failed = true;
		snprintf(sh->why, sizeof(sh->why), "no message arrived");
	}
	memcpy(r->why, sh->why, sizeof(r->why));
	if (is_time(c)) {
		r->median = microseconds(&sh->times, 50);
		r->p99 = microseconds(&sh->times, 99);
	}
	munmap(sh, sizeof(*sh));
}
