// SPDX-License-Identifier: GPL-2.0
/*
 * What a transport module may call: the functions of net/rds.h, and of wire.h what a
 * transport needs.  The list is closed: a name that is missing here is not part of the
 * contract.
 */
#include <linux/export.h>

#include "core.h"

/* Messages. */
EXPORT_SYMBOL_NS_GPL(rds_message_put, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_message_hdr, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_inc_init, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_inc_alloc_linear, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_inc_put, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_rx_trace_key, RDS_TRANSPORT);

/* Registry. */
EXPORT_SYMBOL_NS_GPL(rds_transport_register, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_transport_unregister, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_transport_exit_net, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_transport_walk_paths, RDS_TRANSPORT);

/* Facts about a path. */
EXPORT_SYMBOL_NS_GPL(rds_path_priv, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_net, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_conn, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_index, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_first, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_conn_path, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_is_guess, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_brings, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_laddr, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_faddr, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_scope, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_tos, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_is_active, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_is_half, RDS_TRANSPORT);

/* Incoming links and upcalls. */
EXPORT_SYMBOL_NS_GPL(rds_conn_find_or_create, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_conn_put, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_conn_accept_path, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_conn_place, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_conn_answer, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_net_answer_self, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_conn_told_path, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_conn_tells, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_conn_ask, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_conn_forsake, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_conn_nudged, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_accept, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_adopting, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_peer_port, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_peer_instance, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_instance, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_link_up, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_drop, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_stop_again, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_kick, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_hold, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_unhold, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_held_until, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_join, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_burst, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_push_wanted, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_control_due, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_pull_control, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_emptied, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_pull, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_has_queued, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_has_backlog, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_has_unacked, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_bad_checksum, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_acked, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_blank, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_deliver, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_deliver_done, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_memcg, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_charge, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_uncharge, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_quota_alloc, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_quota_free, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_claim, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_path_unclaim, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_info_emit, RDS_TRANSPORT);

/* Memory regions and operations. */
EXPORT_SYMBOL_NS_GPL(rds_mr_unmapped, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_mr_claim, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_mr_unclaim, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_op_pending, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_op_begin, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_op_refuse, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_op_done, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_op_end, RDS_TRANSPORT);

/* Wire format. */
EXPORT_SYMBOL_NS_GPL(rds_hdr_parse, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_hdr_build, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_hdr_seal, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_hdr_csum, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_hdr_csum_ok, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_hdr_is_cong, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_stream_reset, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_stream_hdr, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_stream_started, RDS_TRANSPORT);
EXPORT_SYMBOL_NS_GPL(rds_stream_took, RDS_TRANSPORT);
