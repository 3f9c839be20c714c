/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is given up (expire.c), and what peers can make us hold (room.c).  Part of core.h.
 */
#ifndef _RDS_BOUNDS_H
#define _RDS_BOUNDS_H

/* expire.c */
unsigned int rds_peer_block(const struct rds_net *rn, const struct in6_addr *a);
void rds_conn_outlive(struct rds_conn *c);
void rds_conn_remember(struct rds_path *p);
bool rds_conn_may_create(struct rds_net *rn, enum rds_who who);
int rds_conn_charge(struct rds_conn *c, enum rds_who who);
void rds_conn_uncharge(struct rds_conn *c);
int rds_expire_init_net(struct rds_net *rn);
void rds_expire_exit_net(struct rds_net *rn);

/* room.c */
u64 rds_rx_limit(const struct rds_sock *rs);
/* rx.lock held */
bool rds_rx_has_room(const struct rds_sock *rs, bool charged);
bool rds_rx_is_pressed(const struct rds_sock *rs);
bool rds_rx_is_short(const struct rds_sock *rs);
bool rds_rx_spill(struct rds_sock *rs, u32 size);
void rds_rx_unspill(struct rds_sock *rs, u32 size);
bool rds_flow_charge(struct rds_conn *c, u16 sport);
void rds_flow_uncharge(struct rds_conn *c);
unsigned long rds_peer_bytes_default(void);

#endif /* _RDS_BOUNDS_H */
