// SPDX-License-Identifier: GPL-2.0
/* The processes of a run: how they are started, waited for, and ended. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define PATIENCE	20.0	/* seconds without an end, or a message: it hangs */
#define FIRST_PORT	5000
#define PORTS		(2 * MAX_FLOWS)

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

void pause_s(double seconds)
{
	struct timespec ts = { seconds, (seconds - (time_t)seconds) * 1e9 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* Who there is in a run of @c. */
void job_shape(struct job *job, const struct proto *p, const struct cell *c, struct shared *sh)
{
	static unsigned int runs;
	unsigned int many = c->work == BESIDE ? 2 : c->n;

	if (c->work == STREAM || is_rdma(c))
		many = 1;
	sh->via = -1;
	*job = (struct job){ .proto = p, .cell = *c, .sh = sh, .nflows = many };
	job->nsenders = c->work == FANOUT || c->work == SOCKETS ? 1 : many;
	job->nsocks = c->work == FANIN || c->work == PINGPONG ? 1 : many;
	job->nreceivers = c->work == BESIDE ? 2 : 1;
	job->buf = c->size > 65536 ? 4 << 20 : 1 << 20;
	/* nothing of an earlier run may be on its way to these ports */
	job->base = FIRST_PORT + runs++ % ((65536 - FIRST_PORT) / PORTS) * PORTS;
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

/* Return: whether all receivers are there and ready. */
bool crew_receivers(const struct job *job, struct crew *crew)
{
	unsigned int i;

	for (i = 0; i < job->nreceivers; i++)
		if (!spawn(job, -1 - (int)i, crew))
			return false;
	return wait_ready(job, job->nreceivers);
}

/* The same for the senders. The receivers, here or on another host, are ready. */
bool crew_senders(const struct job *job, struct crew *crew)
{
	int ready = job->sh->ready;
	unsigned int i;

	for (i = 0; i < job->nsenders; i++)
		if (!spawn(job, i, crew))
			return false;
	return wait_ready(job, ready + job->nsenders);
}

/* What the receivers have had so far. */
static uint64_t progress(const struct job *job)
{
	uint64_t sum = 0;
	unsigned int f;

	for (f = 0; f < job->nflows; f++)
		sum += job->sh->flow[f].received + job->sh->flow[f].lost;
	return sum;
}

/*
 * On a slow machine it takes long until all that is queued has come, and as long as
 * something does nothing hangs.
 *
 * Return: false if for @patience seconds, or 1 if all is void, the process does not end.
 */
static bool reap(const struct job *job, pid_t pid, double patience, bool *ok)
{
	uint64_t begin = now_ns(), seen = progress(job), now;
	int status;

	do {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			*ok = *ok && WIFEXITED(status) && !WEXITSTATUS(status);
			return true;
		}
		if (job->sh->failed && patience > 1)
			patience = 1;
		pause_s(0.002);
		now = progress(job);
		if (now != seen && !job->sh->failed)
			begin = now_ns();
		seen = now;
	} while (now_ns() - begin < patience * 1e9);
	return false;
}

/**
 * crew_end() - wait for the end of processes, and kill those that do not end
 * @job: the run; knows why, if not all is well
 * @crew: its processes
 * @first: the first to wait for
 * @last: one behind the last
 *
 * Return: whether all have ended by themselves, and well.
 */
bool crew_end(const struct job *job, struct crew *crew, unsigned int first, unsigned int last)
{
	bool ok = true;
	unsigned int i;

	for (i = first; i < last && i < crew->n; i++) {
		/* the others may wait for the first that hangs: once is enough */
		if (!reap(job, crew->pid[i], crew->hang ? 0 : PATIENCE, &ok)) {
			crew->hang = true;
			kill(crew->pid[i], SIGKILL);
			waitpid(crew->pid[i], NULL, 0);
		}
	}
	if (crew->hang && !job->sh->failed)
		snprintf(job->sh->why, sizeof(job->sh->why),
			 "no end: messages are missing, or a process hangs");
	return ok && !crew->hang && !job->sh->failed;
}

/* Nobody wants to know any more. */
void crew_kill(struct crew *crew)
{
	unsigned int i;

	for (i = 0; i < crew->n; i++)
		kill(crew->pid[i], SIGKILL);
	for (i = 0; i < crew->n; i++)
		waitpid(crew->pid[i], NULL, 0);
	crew->n = 0;
}
