/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who the peer is: of which kind, which instance (peer.c, generation.c, legacy.c).  Part of core.h.
 */
#ifndef _RDS_PEER_H
#define _RDS_PEER_H

#include <linux/types.h>

#include "wire.h"

struct rds_conn;
struct rds_path;

/* How long a link waits for the first frame of a peer that may have nothing to say. */
#define RDS_LISTEN_TIME		(HZ / 5 + 1)

/**
 * enum rds_peer_kind - what the first frames of a peer's links say
 * @RDS_PEER_UNKNOWN: none has come
 * @RDS_PEER_OLDER: nothing of the link
 * @RDS_PEER_TELLS: RDS_EXT_LINK
 */
enum rds_peer_kind {
	RDS_PEER_UNKNOWN,
	RDS_PEER_OLDER,
	RDS_PEER_TELLS
};

/* peer.c */
void rds_peer_ext(const struct rds_path *p, u8 ext[RDS_EXT_LEN]);
bool rds_peer_told(struct rds_path *p, const struct rds_hdr *h, bool first);
bool rds_peer_must_speak(const struct rds_path *p);

/* generation.c */
void rds_generation_told(struct rds_path *p, u32 gen, u64 seq);
void rds_generation_fresh_link(struct rds_path *p);	/* path->lock held */

/* legacy.c */
bool rds_legacy_peer(const struct rds_conn *c);
bool rds_legacy_announced(struct rds_path *p, const struct rds_hdr *h, const struct rds_ext *e,
			  unsigned int n);
void rds_legacy_forget(struct rds_conn *c);
enum rds_seq_verdict rds_legacy_accept(struct rds_path *p, const struct rds_hdr *h);

#endif /* _RDS_PEER_H */
