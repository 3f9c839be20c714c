// SPDX-License-Identifier: GPL-2.0
/*
 * One run of one cell: starts the processes, waits until all flows move, and
 * looks at their counters twice. Nothing is asked of the clock for a message.
 *
 * With two hosts the receivers are on the other one. What they count is looked
 * at there, by that host's clock; what senders count, by ours.
 */
#include <linux/rds.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "control.h"

struct snapshot {
	uint64_t time, count[MAX_FLOWS], lost, sum;
	uint64_t ctxsw;			/* of the other host */
};

/* What the receivers on the other host have counted. */
static void look_there(const struct job *job, struct snapshot *s)
{
	static struct counts c;
	unsigned int f;

	if (!remote_look(job, &c))
		return;
	for (f = 0; f < job->nflows && f < c.n; f++) {
		s->count[f] += c.flow[f].received;
		s->lost += c.flow[f].lost;
	}
	s->ctxsw = c.ctxsw;
	/* who counts has the clock */
	if (!job_sender_counts(job, job->nflows - 1))
		s->time = c.time;
}

static void look(const struct job *job, struct snapshot *s)
{
	unsigned int f;

	memset(s, 0, sizeof(*s));
	s->time = now_ns();
	for (f = 0; f < job->nflows; f++) {
		s->count[f] = job->sh->flow[f].received;
		s->lost += job->sh->flow[f].lost;
	}
	if (opt.server)
		look_there(job, s);
	/* the rate is the stream's */
	for (f = job->cell.work == BESIDE; f < job->nflows; f++)
		s->sum += s->count[f];
}

static bool all_flows_move(const struct job *job)
{
	struct snapshot s;
	unsigned int f;

	look(job, &s);
	for (f = 0; f < job->nflows; f++)
		if (!s.count[f])
			return false;
	return true;
}

/* Connections are made, buffers grow, caches warm up: not part of it. */
static void warm_up(const struct job *job)
{
	/* between two hosts it takes longer until all know each other */
	uint64_t end = now_ns() + (opt.server ? 10 : 2) * 1000000000ULL;

	while (!all_flows_move(job) && !job->sh->failed && now_ns() < end)
		pause_s(opt.server ? 0.02 : 0.005);
	if (!job->sh->failed)
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

static const char *what_then(const struct job *job)
{
	if (job->sh->via == RDS_TRANS_TCP)
		return "d; is TCP port 16385 open at both hosts?";
	return "d";
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
	if (!job->sh->failed)
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
	if (r->messages && b.time > a.time) {
		r->rate = r->messages / r->seconds;
		r->ns = 1e9 / r->rate;
		r->ctxsw = (double)(after.ctxsw - before.ctxsw + b.ctxsw - a.ctxsw) / r->messages;
	}
	measure_wakeups(job, r);
	/* who waited for messages that do not come would wait for long */
	if (opt.server && !r->messages)
		give_up(job->sh, "no message arrive%s", b.sum ? "s any more" : what_then(job));
}

static double microseconds(const struct histogram *h, unsigned int percent)
{
	double ns = histogram_percentile(h, percent);

	return ns < 0 ? -1 : ns / 1e3;
}

/* All messages are accounted for when the receivers end by themselves. */
static bool stop_all(const struct job *job, struct crew *crew)
{
	bool ok;

	job->sh->stop = 1;
	if (opt.server) {
		ok = remote_stop(job);
		job->sh->finish = 1;
		return crew_end(job, crew, 0, crew->n) && ok;
	}
	ok = crew_end(job, crew, 0, job->nreceivers);
	job->sh->finish = 1;
	return crew_end(job, crew, job->nreceivers, crew->n) && ok;
}

/* Return: whether all processes are there and ready. */
static bool start_all(const struct job *job, struct crew *crew)
{
	return (opt.server ? remote_start(job) : crew_receivers(job, crew)) &&
		crew_senders(job, crew);
}

static void measure_job(const struct job *job, struct result *r)
{
	struct shared *sh = job->sh;
	struct crew crew = { .n = 0 };

	if (start_all(job, &crew)) {
		sh->go = 1;
		measure(job, r);
	} else {
		give_up(sh, "its processes do not get ready");
	}
	r->failed = !stop_all(job, &crew);
	if (!r->failed && !r->messages) {
		r->failed = true;
		snprintf(sh->why, sizeof(sh->why), "no message arrived");
	}
	r->via = sh->via;
}

/**
 * run_cell() - measure one cell with one transport
 * @p: the transport
 * @c: the work
 * @r: the result
 */
void run_cell(const struct proto *p, const struct cell *c, struct result *r)
{
	struct shared *sh = shared_new();
	struct job job;

	*r = (struct result){ .proto = p, .cell = *c, .wakeups = -1, .ctxsw = -1, .median = -1,
			      .p99 = -1, .failed = true };
	if (!sh) {
		snprintf(r->why, sizeof(r->why), "no memory");
		return;
	}
	sh->run = now_ns() * 2654435761U + getpid();
	job_shape(&job, p, c, sh);
	measure_job(&job, r);
	memcpy(r->why, sh->why, sizeof(r->why));
	if (is_time(c)) {
		r->median = microseconds(&sh->times, 50);
		r->p99 = microseconds(&sh->times, 99);
	}
	shared_free(sh);
}
