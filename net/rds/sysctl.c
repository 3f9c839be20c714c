// SPDX-License-Identifier: GPL-2.0
/*
 * Settings of a namespace: /proc/sys/net/rds.
 *
 * A namespace that belongs to a user namespace of its own can read but not write them:
 * they decide how much memory of the whole machine is used.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sysctl.h>

#include "core.h"

static unsigned long one_jiffy = 1;

/* A shorter time counts from now on, not after the old one. */
static int idle_timeout_handler(const struct ctl_table *table, int write, void *buf,
				size_t *len, loff_t *pos)
{
	struct rds_net *rn = container_of(table->data, struct rds_net,
					  sysctl.idle_conn_timeout_ms);
	int err = proc_dointvec_minmax(table, write, buf, len, pos);

	if (write && !err)
		mod_delayed_work(system_long_wq, &rn->gc,
				 msecs_to_jiffies(READ_ONCE(*(int *)table->data)) / 2);
	return err;
}

/* The size of the field and the handler's idea of it cannot differ. */
#define FIELD(type, field)							\
	((void *)(offsetof(struct rds_net, sysctl.field) +			\
		  BUILD_BUG_ON_ZERO(!__same_type(type, ((struct rds_net *)0)->sysctl.field))))

#define ROW_INT(field, least, handler)						\
	{ .procname = #field, .data = FIELD(int, field), .maxlen = sizeof(int),	\
	  .mode = 0644, .proc_handler = (handler), .extra1 = (least) }

#define ROW_MS(name, field)							\
	{ .procname = #name, .data = FIELD(unsigned long, field),		\
	  .maxlen = sizeof(unsigned long), .mode = 0644,			\
	  .proc_handler = proc_doulongvec_ms_jiffies_minmax }

static int least_timeout_ms = 1000;
/* One message of the largest size must always fit. */
static unsigned long least_peer_bytes = 2 * RDS_MAX_MSG_SIZE;

enum { ROW_MIN_DELAY, ROW_MAX_DELAY };

/* .data is an offset into struct rds_net until the table is copied. */
static const struct ctl_table rows[] = {
	[ROW_MIN_DELAY] = ROW_MS(reconnect_min_delay_ms, reconnect_min_jiffies),
	[ROW_MAX_DELAY] = ROW_MS(reconnect_max_delay_ms, reconnect_max_jiffies),
	ROW_INT(max_unacked_packets, NULL, proc_dointvec),
	ROW_INT(max_unacked_bytes, NULL, proc_dointvec),
	ROW_INT(ping_enable, NULL, proc_dointvec),
	/* Connections of the namespace; unanswered ones are given up to make room. */
	ROW_INT(max_conns, SYSCTL_ONE, proc_dointvec_minmax),
	/* A connection nobody ever answered is forgotten after this time without a send. */
	ROW_INT(idle_conn_timeout_ms, &least_timeout_ms, idle_timeout_handler),
	/* What peers can make the namespace hold that no socket is charged for. */
	{ .procname = "max_peer_bytes", .data = FIELD(unsigned long, max_peer_bytes),
	  .maxlen = sizeof(unsigned long), .mode = 0644,
	  .proc_handler = proc_doulongvec_minmax, .extra1 = &least_peer_bytes },
	/* What closed sockets have not sent is dropped after this time. */
	ROW_INT(close_timeout_ms, SYSCTL_ZERO, proc_dointvec_minmax),
	/* How many closed sockets may go on sending; the oldest gives way. */
	ROW_INT(max_orphans, SYSCTL_ZERO, proc_dointvec_minmax),
};

/* All of them may have a 16th of the memory. */
static int orphans_default(void)
{
	return clamp(totalram_pages() >> (ilog2(16 * RDS_ORPHAN_UNIT) - PAGE_SHIFT), 16UL,
		     16384UL);
}

/**
 * rds_sysctl_defaults() - the first step: others start from these values
 * @rn: namespace
 */
void rds_sysctl_defaults(struct rds_net *rn)
{
	rn->sysctl.reconnect_min_jiffies = max(msecs_to_jiffies(1), 1UL);
	rn->sysctl.reconnect_max_jiffies = HZ;
	rn->sysctl.max_unacked_packets = 8;
	rn->sysctl.max_unacked_bytes = SZ_16M;
	rn->sysctl.ping_enable = 1;
	rn->sysctl.max_conns = 16384;
	rn->sysctl.idle_conn_timeout_ms = 60 * MSEC_PER_SEC;
	rn->sysctl.max_peer_bytes = rds_peer_bytes_default();
	rn->sysctl.close_timeout_ms = 10 * MSEC_PER_SEC;
	rn->sysctl.max_orphans = orphans_default();
}

/**
 * rds_sysctl_init_net() - register the table
 * @rn: namespace, complete
 *
 * Return: 0 or -ENOMEM.
 */
int rds_sysctl_init_net(struct rds_net *rn)
{
	struct ctl_table *table;
	int i;

	table = kmemdup(rows, sizeof(rows), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		table[i].data = (void *)rn + (unsigned long)rows[i].data;
		if (rn->net->user_ns != &init_user_ns)
			table[i].mode &= ~0222;
	}
	table[ROW_MIN_DELAY].extra1 = &one_jiffy;
	table[ROW_MIN_DELAY].extra2 = &rn->sysctl.reconnect_max_jiffies;
	table[ROW_MAX_DELAY].extra1 = &rn->sysctl.reconnect_min_jiffies;

	rn->ctl_header = register_net_sysctl_sz(rn->net, "net/rds", table, ARRAY_SIZE(rows));
	if (!rn->ctl_header) {
		kfree(table);
		return -ENOMEM;
	}
	rn->ctl_table = table;
	return 0;
}

/* rds_sysctl_exit_net() - no handler of @rn runs afterwards */
void rds_sysctl_exit_net(struct rds_net *rn)
{
	unregister_net_sysctl_table(rn->ctl_header);
	kfree(rn->ctl_table);
}
