// SPDX-License-Identifier: GPL-2.0
/* RDS over verbs: what stands in the kernel log about links; IPv4 as IPv4. */
#include <rdma/rdma_cm.h>

#include "ib.h"

/* The addresses of a path, for %pISc, which does not know v4-mapped ones. */
struct ends {
	struct sockaddr_storage local;
	struct sockaddr_storage peer;
};

static void ends_of(struct ends *ends, const struct rds_ib_link *l)
{
	const struct rds_path *p = l->ib->path;

	rds_ib_sockaddr(&ends->local, rds_path_laddr(p), rds_path_scope(p), false);
	rds_ib_sockaddr(&ends->peer, rds_path_faddr(p), rds_path_scope(p), false);
}

/**
 * rds_ib_say_connected() - a link is up
 * @l: link
 *
 * Context: any.
 */
void rds_ib_say_connected(const struct rds_ib_link *l)
{
	struct ends ends;

	ends_of(&ends, l);
	pr_info_ratelimited("rds: connected %s <%pISc,%pISc,%d> version %u.%u%s\n",
			    l->adopted ? "passively" : "actively", &ends.local, &ends.peer,
			    l->tos, l->version >> 8, l->version & 0xff,
			    l->credit.on ? ", flow control" : "");
}

/**
 * rds_ib_say_refused() - the peer has refused a link
 * @l: link
 * @reason: of the CM
 *
 * Context: any.
 */
void rds_ib_say_refused(const struct rds_ib_link *l, int reason)
{
	struct ends ends;

	ends_of(&ends, l);
	pr_debug("rds: %pISc refused by %pISc: %s\n", &ends.local, &ends.peer,
		 rdma_reject_msg(l->id, reason));
}

/**
 * rds_ib_say_send_failed() - the device could not execute a request
 * @l: link
 * @status: of its completion
 *
 * Context: any.
 */
void rds_ib_say_send_failed(const struct rds_ib_link *l, enum ib_wc_status status)
{
	struct ends ends;

	ends_of(&ends, l);
	pr_info_ratelimited("rds: send from %pISc to %pISc failed: %s\n", &ends.local,
			    &ends.peer, ib_wc_status_msg(status));
}
