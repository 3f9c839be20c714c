// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: summed over all CPUs when asked for, so that an off-line CPU takes nothing
 * away.  They are machine-wide, as in the reference.
 */
#include "core.h"

DEFINE_PER_CPU_ALIGNED(struct rds_stats, rds_stats);

static const char *const stat_names[] = {
#define RDS_STAT_NAME(name)	\
	[RDS_STAT_##name] = #name,
	RDS_STATS(RDS_STAT_NAME)
	RDS_STATS_EXTRA(RDS_STAT_NAME)
#undef RDS_STAT_NAME
};

static void emit(struct rds_info_sink *sink, const char *name, u64 value)
{
	struct rds_info_counter rec = {};

	strscpy((char *)rec.name, name, sizeof(rec.name));
	rec.value = value;
	rds_info_emit(sink, &rec, sizeof(rec));
}

static void emit_core(struct rds_info_sink *sink, unsigned int from, unsigned int to)
{
	unsigned int i;
	int cpu;

	for (i = from; i < to; i++) {
		u64 sum = 0;

		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu_ptr(&rds_stats, cpu)->v[i]);
		emit(sink, stat_names[i], sum);
	}
}

static void emit_transport(const struct rds_stat_desc *d, struct rds_info_sink *sink,
			   unsigned int from, unsigned int to)
{
	unsigned int i;
	int cpu;

	for (i = from; i < to; i++) {
		u64 sum = 0;

		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu_ptr(d->base, cpu)[i]);
		emit(sink, d->names[i], sum);
	}
}

static void emit_ref(struct rds_transport *t, void *sink)
{
	if (t->stats)
		emit_transport(t->stats, sink, 0, t->stats->nr_ref);
}

static void emit_own(struct rds_transport *t, void *sink)
{
	if (t->stats)
		emit_transport(t->stats, sink, t->stats->nr_ref, t->stats->nr);
}

/**
 * rds_stats_info() - write the records of RDS_INFO_COUNTERS
 * @sink: where to
 *
 * The reference's counters come first, of the core and of all transports, in the
 * reference's order; then ours.
 */
void rds_stats_info(struct rds_info_sink *sink)
{
	emit_core(sink, 0, RDS_STAT_NR_REF);
	rds_transport_for_each(emit_ref, sink);
	emit_core(sink, RDS_STAT_NR_REF, RDS_STAT_NR);
	rds_transport_for_each(emit_own, sink);
}
