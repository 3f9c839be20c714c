/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages on their way out: message.c, path.c, sendq.c, settle.c, underway.c, blame.c.  Included
 * by core.h.
 *
 * The structures are guarded by rds_path.lock.
 */
#ifndef _RDS_SENDQ_H
#define _RDS_SENDQ_H

/* A message without payload costs about that. */
#define RDS_TX_MSG_COST		512

/* By this ports take their shares of what is under way. */
static inline u32 rds_message_cost(const struct rds_message *m)
{
	return m->len + RDS_TX_MSG_COST;
}

/* By this users take their turns: what an operation moves goes by the same link. */
static inline u32 rds_message_load(const struct rds_message *m)
{
	return rds_message_cost(m) + (unlikely(m->op) ? m->op->part[RDS_OP_RDMA].bytes : 0);
}

/* That much may wait in front; as rds_message_load() counts. */
#define RDS_SENDQ_FRONT_MAX	SZ_128K

#define RDS_SENDQ_HASH_BITS	6

/**
 * struct rds_sendq - what waits on a path behind the messages of rds_path.queue
 * @ring: users whose turn comes, by rds_sendq_user.node
 * @parked: flows whose port was congested when it was their turn
 * @waking: those that were, to be looked at again
 * @nr: messages in all flows
 * @nr_parked: those in @parked; peeked at unlocked
 * @round: bumped when @parked was emptied
 * @flows: flows by user and port
 * @users: users by uid
 */
struct rds_sendq {
	struct list_head ring;
	struct list_head parked;
	struct list_head waking;
	u32 nr;
	u32 nr_parked;
	u32 round;
	struct hlist_head flows[1 << RDS_SENDQ_HASH_BITS];
	struct hlist_head users[1 << RDS_SENDQ_HASH_BITS];
};

/**
 * struct rds_sendq_user - a user whose messages wait on a path
 * @node: rds_sendq.ring, or empty while all his flows are parked
 * @hash: rds_sendq.users
 * @uid: the user
 * @credit: bytes he may still send in this turn; what he overdrew is taken from the next ones
 * @flows: his flows that are not parked, whose turn comes first
 * @nr_flows: all his flows
 */
struct rds_sendq_user {
	struct list_head node;
	struct hlist_node hash;
	kuid_t uid;
	int credit;
	struct list_head flows;
	u32 nr_flows;
};

/**
 * struct rds_flow - messages of one user to one port
 * @node: rds_sendq_user.flows, rds_sendq.parked or rds_sendq.waking
 * @hash: rds_sendq.flows
 * @user: whose
 * @msgs: the messages, oldest first
 * @nr: their number
 * @round: rds_sendq.round when it was parked last
 * @port: destination port
 */
struct rds_flow {
	struct list_head node;
	struct hlist_node hash;
	struct rds_sendq_user *user;
	struct list_head msgs;
	u32 nr;
	u32 round;
	u16 port;
};

/* sendq.c, in process context */
int rds_sendq_prepare(struct rds_path *p, const struct rds_sock *rs, struct rds_flow **spare);
void rds_sendq_unprepare(struct rds_flow *spare);
void rds_sendq_free(struct rds_path *p);

/* with the path's lock held */
bool rds_sendq_add_behind(struct rds_path *p, struct rds_message *m, struct rds_flow **spare);
void rds_sendq_del(struct rds_path *p, struct rds_message *m);
struct rds_message *rds_sendq_next(struct rds_path *p, bool *again);
struct rds_message *rds_sendq_behind(struct rds_path *p);
void rds_sendq_wake(struct rds_path *p);

/* message.c */
struct rds_message *rds_message_from_user(struct rds_sock *rs, struct iov_iter *from, size_t len,
					  int *err);
struct rds_message *rds_message_zerocopy(struct rds_sock *rs, struct iov_iter *from, size_t len,
					 u32 cookie, int *err);
struct rds_message *rds_message_control(gfp_t gfp);	/* ping, pong */
void rds_message_unpin(struct rds_message *m);
size_t rds_message_truesize(const struct rds_message *m);
int rds_message_read(const struct rds_message *m, size_t off, struct iov_iter *to, size_t n);
bool rds_tx_writable(const struct rds_sock *rs);
bool rds_tx_admit(struct rds_sock *rs, u32 len);
void rds_tx_write_space(struct sock *sk);
void rds_tx_release(struct rds_sock *rs, u32 bytes, u32 msgs);	/* any context, no locks held */
/* Messages taken off a path: release charge, wake senders, put.  No locks held. */
void rds_message_settle(struct list_head *list);
void rds_message_settle_parted(struct list_head *list, struct rds_sock *rs);
void rds_message_settle_outside(spinlock_t *lock);

/* path.c */
int rds_path_enqueue(struct rds_path *p, struct rds_message *m, unsigned int npaths,
		     struct rds_flow **spare);
void rds_path_unpark(struct rds_path *p);
void rds_path_pump(struct rds_path *p, struct rds_sock *sender);
void rds_path_begin(struct rds_path *p, struct rds_sock *sender);
void rds_path_push(struct rds_path *p);
void rds_path_want(struct rds_path *p);
void rds_path_pong(struct rds_path *p, const struct rds_hdr *h);	/* deliver.c */
int rds_path_send_control(struct rds_path *p, u16 sport, u16 dport);
bool rds_path_asks(const struct rds_path *p);
void rds_path_begin_unacked(struct rds_path *p);
bool rds_path_is_up(const struct rds_path *p);
void rds_path_pump_work(struct work_struct *work);
extern int rds_send_batch_count;

/**
 * struct rds_tx_walk - somebody looks through rds_sock.tx_list, and lets go of its lock in between
 * @rs: the socket
 * @here: how far he is: a message on no path, as all there may be on that list
 * @end: where he stops: another one
 */
struct rds_tx_walk {
	struct rds_sock *rs;
	struct rds_message here, end;
};

/* settle.c */
void rds_tx_walk_begin(struct rds_tx_walk *w, struct rds_sock *rs);
bool rds_tx_walk_some(struct rds_tx_walk *w, bool (*fn)(struct rds_message *m, void *arg),
		      void *arg);
void rds_tx_walk_end(struct rds_tx_walk *w);
void rds_path_leave(struct rds_path *p, struct rds_message *m, struct list_head *list);
void rds_path_settle(struct list_head *list);
void rds_path_settle_rest(struct rds_path *p);
void rds_path_empty(struct rds_path *p, enum rds_drop_reason why, struct list_head *out);
void rds_path_requeue_sent(struct rds_path *p);

/* underway.c */
int rds_underway_charge(struct rds_conn *c, struct rds_message *m, bool force);
bool rds_underway_is_full(struct rds_conn *c, u16 port);
void rds_underway_release(struct list_head *list);
void rds_underway_init(struct rds_conn *c);
void rds_underway_exit(struct rds_conn *c);

/* blame.c */
void rds_conn_blame(struct rds_conn *c, const struct rds_user *u);
bool rds_conn_blames(struct rds_conn *c, const struct rds_user *u);

/* Is too much under way to a port? */
static inline bool rds_underway_full(struct rds_conn *c, u16 port)
{
	return unlikely(READ_ONCE(c->crowded)) && rds_underway_is_full(c, port);
}

/**
 * rds_sendq_add() - put a message where it waits, in front or in a flow
 * @p: the path, its lock held
 * @m: the message
 * @spare: as rds_sendq_add_behind(); NULL for messages of the kernel, which wait in front
 *
 * Return: false if rds_sendq_prepare() has to make something first.
 */
static inline bool rds_sendq_add(struct rds_path *p, struct rds_message *m,
				 struct rds_flow **spare)
{
	if (spare && (p->front_cost >= RDS_SENDQ_FRONT_MAX || (p->sendq && p->sendq->nr)))
		return rds_sendq_add_behind(p, m, spare);
	list_add_tail(&m->node, &p->queue);
	p->front_cost += rds_message_load(m);
	return true;
}

/* What waits in front may be taken by that; mostly it is all there is. */
static inline void rds_sendq_front_del(struct rds_path *p, struct rds_message *m,
				       struct list_head *to)
{
	list_move_tail(&m->node, to);
	p->front_cost -= rds_message_load(m);
}

#endif /* _RDS_SENDQ_H */
