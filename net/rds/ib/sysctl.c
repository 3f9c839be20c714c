// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: /proc/sys/net/rds/ib, of the initial namespace.
 *
 * Each value counts from the next link on, but for the two max_*_allocation.
 */
#include <linux/mm.h>
#include <linux/sysctl.h>

#include "ib.h"

unsigned long rds_ib_sysctl_max_send_wr = 256;
unsigned long rds_ib_sysctl_max_recv_wr = 1024;
unsigned long rds_ib_sysctl_max_unsignaled_wr = 16;
unsigned long rds_ib_sysctl_max_recv_allocation;
unsigned long rds_ib_sysctl_max_link_allocation;
int rds_ib_sysctl_flow_control;

static unsigned long rds_ib_wr_min = 1;
static unsigned long rds_ib_wr_max = U32_MAX;
static unsigned long rds_ib_unsignaled_max = 64;

static struct ctl_table rds_ib_sysctls[] = {
	{
		.procname	= "max_send_wr",
		.data		= &rds_ib_sysctl_max_send_wr,
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
		.extra1		= &rds_ib_wr_min,
		.extra2		= &rds_ib_wr_max,
	},
	{
		.procname	= "max_recv_wr",
		.data		= &rds_ib_sysctl_max_recv_wr,
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
		.extra1		= &rds_ib_wr_min,
		.extra2		= &rds_ib_wr_max,
	},
	{
		.procname	= "max_unsignaled_wr",
		.data		= &rds_ib_sysctl_max_unsignaled_wr,
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
		.extra1		= &rds_ib_wr_min,
		.extra2		= &rds_ib_unsignaled_max,
	},
	{
		.procname	= "max_recv_allocation",
		.data		= &rds_ib_sysctl_max_recv_allocation,
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
	},
	{
		.procname	= "max_link_allocation",
		.data		= &rds_ib_sysctl_max_link_allocation,
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
	},
	{
		.procname	= "flow_control",
		.data		= &rds_ib_sysctl_flow_control,
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec,
	},
};

static struct ctl_table_header *rds_ib_sysctl_header;

/**
 * rds_ib_sysctl_init() - register the table
 *
 * Return: 0 or -ENOMEM.
 */
int rds_ib_sysctl_init(void)
{
	/* A third of the memory, in fragments. */
	rds_ib_sysctl_max_recv_allocation = totalram_pages() / 3 * (PAGE_SIZE / RDS_IB_FRAG);
	rds_ib_sysctl_max_link_allocation = totalram_pages() / 4 * (PAGE_SIZE / RDS_IB_FRAG);
	rds_ib_sysctl_header = register_net_sysctl_sz(&init_net, "net/rds/ib", rds_ib_sysctls,
						      ARRAY_SIZE(rds_ib_sysctls));
	return rds_ib_sysctl_header ? 0 : -ENOMEM;
}

/**
 * rds_ib_sysctl_exit() - unregister the table
 */
void rds_ib_sysctl_exit(void)
{
	unregister_net_sysctl_table(rds_ib_sysctl_header);
}
