// SPDX-License-Identifier: GPL-2.0
/*
 * A path's queues: enqueue and pump.  How messages leave it is in settle.c.
 *
 * A message is on exactly one of: queue or a flow (sendq.c: not yet taken by the transport), sent
 * (taken, not acknowledged), or a local list of the function that took it off under path->lock and
 * settles it afterwards without locks.
 *
 * Who pumps: sendmsg() tries the link mutex and leaves if it is busy, because the holder
 * looks at the queue again after letting go.  Softirq never wants the mutex: it queues
 * pump_work, which waits for it.
 */
#include <linux/jiffies.h>

#include "core.h"
#include "trace.h"

/* Kernel pings and pongs that may wait on one path. */
#define RDS_MAX_CONTROL		1024
/* Passes in the caller's context before the rest is left to the work. */
#define RDS_PUMP_PASSES		4

bool rds_path_is_up(const struct rds_path *p)
{
	return smp_load_acquire(&p->state) == RDS_UP;	/* pairs with path_apply() */
}

/* Does the transport have the peer asked for acknowledgments? */
bool rds_path_asks(const struct rds_path *p)
{
	return p->conn->key.trans->caps & RDS_CAP_ACK_REQUIRED;
}

/**
 * rds_path_begin_unacked() - the peer has acknowledged all there is, or was asked to
 * @p: the path, its lock held
 */
void rds_path_begin_unacked(struct rds_path *p)
{
	const struct rds_net *rn = p->conn->rn;

	p->unacked_packets = max(READ_ONCE(rn->sysctl.max_unacked_packets), 0);
	p->unacked_bytes = max(READ_ONCE(rn->sysctl.max_unacked_bytes), 0);
}

/* The acknowledgement-request rule of the protocol: every n messages or bytes. */
static void path_count_unacked(struct rds_path *p, struct rds_message *m)
{
	bool ask = rds_path_asks(p);

	/* A sender that has used half its buffer would like it back. */
	if (ask && m->rs && atomic_read(&m->rs->tx_bytes) >= rds_sndbuf(m->rs) / 2)
		m->flags |= RDS_FLAG_ACK_REQUIRED;
	if (p->unacked_packets && p->unacked_bytes >= m->len) {
		p->unacked_packets--;
		p->unacked_bytes -= m->len;
		return;
	}
	rds_path_begin_unacked(p);
	if (ask)
		m->flags |= RDS_FLAG_ACK_REQUIRED;
	rds_stat_inc(send_ack_required);
}

/* Who may take it back, or forget it, finds it without looking through the queue. */
static void path_own(struct rds_path *p, struct rds_message *m)
{
	m->path = p;
	m->where = RDS_MSG_QUEUED;
	if (m->control) {
		list_add_tail(&m->own, &p->controls);
		p->nr_control++;
		return;
	}
	spin_lock(&m->rs->tx_lock);
	list_add_tail(&m->own, &m->rs->tx_list);
	spin_unlock(&m->rs->tx_lock);
}

/*
 * The transport takes the message for the first time.  Not before: what is queued later may go
 * earlier.  path->lock held.
 */
static void path_number(struct rds_path *p, struct rds_message *m)
{
	m->seq = p->next_tx++;
	if (!p->index && !m->control)
		p->conn->last_data = m->seq;
	else if (!p->index && m->sport == RDS_PORT_PROBE)
		p->conn->pinged_at = m->seq;
	path_count_unacked(p, m);
}

/* Other paths will wait for it, if there come to be any; path[0].lock held. */
static void path_early(struct rds_conn *c, struct rds_message *m)
{
	m->early = true;
	c->nr_early++;
	c->nr_early_queued++;
}

/**
 * rds_path_enqueue() - put a message on the queue
 * @p: the path
 * @m: the message; its reference passes to the path on success
 * @npaths: path count @p was chosen with
 * @spare: a flow in case it has to wait in one, see rds_sendq_add()
 *
 * Context: any.
 * Return: 0, -EAGAIN if the choice of paths changed meanwhile (choose again), -ESHUTDOWN
 * if the connection is being destroyed, -ENOBUFS for too many control messages, -ENOSR if there
 * must be a flow (rds_sendq_prepare()).
 */
int rds_path_enqueue(struct rds_path *p, struct rds_message *m, unsigned int npaths,
		     struct rds_flow **spare)
{
	int err = 0;

	spin_lock_bh(&p->lock);
	if (rds_state_is_dying(p->state) || READ_ONCE(p->conn->closing)) {
		err = -ESHUTDOWN;
	} else if (m->rs && (npaths != READ_ONCE(p->conn->tx_paths) || p->folded)) {
		err = -EAGAIN;
	} else if (m->control && p->nr_control >= RDS_MAX_CONTROL) {
		err = -ENOBUFS;
	} else if (!rds_sendq_add(p, m, spare)) {
		err = -ENOSR;
	} else {
		if (m->rs && npaths <= 1)	/* path 0 */
			path_early(p->conn, m);
		path_own(p, m);
		WRITE_ONCE(p->nr_queued, p->nr_queued + 1);
		trace_rds_enqueue(p, m);
	}
	spin_unlock_bh(&p->lock);
	if (!err)
		rds_stat_inc(send_queued);
	return err;
}

/**
 * rds_path_send_control() - queue a ping or pong of the kernel
 * @p: the path
 * @sport: source port
 * @dport: destination port
 *
 * Queued, never sent from here: the caller may be the receive path, in softirq and inside of the
 * transport, and sending sleeps and calls the transport.
 *
 * Context: any.
 * Return: 0, -ENOMEM, or an error of rds_path_enqueue().
 */
int rds_path_send_control(struct rds_path *p, u16 sport, u16 dport)
{
	struct rds_message *m = rds_message_control(GFP_ATOMIC | __GFP_NOWARN);
	int err;

	if (!m)
		return -ENOMEM;
	m->sport = sport;
	m->dport = dport;
	if ((sport == RDS_PORT_PROBE || dport == RDS_PORT_PROBE) &&
	    p->conn->key.trans->max_paths > 1)
		rds_mprds_ext(p, m->ext);
	err = rds_path_enqueue(p, m, 0, NULL);
	if (err) {
		rds_message_put(m);
		return err;
	}
	rds_stat_inc(send_pong);
	rds_path_want(p);
	rds_path_kick(p);
	return 0;
}

/**
 * rds_path_blank() - queue a message to a port that nobody can have
 * @p: the path
 *
 * Every peer acknowledges it and drops it.  A ping would not do: on a transport of one path the
 * reference warns of those from the probe port, and any other port may be somebody's.
 *
 * Context: any.
 * Return: 0, -ENOMEM, or an error of rds_path_enqueue().
 */
int rds_path_blank(struct rds_path *p)
{
	return rds_path_send_control(p, RDS_PORT_PROBE, RDS_PORT_PROBE);
}

static bool path_has_work(struct rds_path *p)
{
	return rds_path_is_up(p) && (rds_path_has_queued(p) || rds_path_control_due(p) ||
				     READ_ONCE(p->push));
}

/**
 * rds_path_push_wanted() - does somebody wait for what is held back, or would be?
 * @p: the path; link mutex held
 *
 * A worker begins to hold nothing: whoever sent that may be waiting already.  What is held and on
 * no list was to be pushed, and nothing could be sent then.
 */
bool rds_path_push_wanted(const struct rds_path *p)
{
	if (READ_ONCE(p->held))
		return p->pushing || list_empty_careful(&p->held_node);
	return p->pushing || !p->sender;
}

/**
 * rds_path_push() - transmit what is queued and what the transport holds back
 * @p: the path
 *
 * Context: process, may sleep.
 */
void rds_path_push(struct rds_path *p)
{
	if (!READ_ONCE(p->held))
		return;
	WRITE_ONCE(p->push, true);
	rds_path_pump(p, NULL);
}

/* One pass with the link mutex held.  True if the queue was emptied. */
static bool pump_locked(struct rds_path *p, struct rds_sock *sender)
{
	const struct rds_transport *t = p->conn->key.trans;
	u32 epoch = READ_ONCE(p->epoch);
	int err = 0;

	lockdep_assert_held(&p->link);
	p->pull_empty = false;
	p->pull_budget = max(rds_send_batch_count, 2);
	p->sender = sender;
	p->pushing = READ_ONCE(p->push);
	if (p->pushing)
		WRITE_ONCE(p->push, false);
	if (rds_path_is_up(p)) {
		WRITE_ONCE(p->sending, true);
		err = t->send(p);
		WRITE_ONCE(p->sending, false);
	}
	if (err < 0)
		rds_path_drop(p, epoch, err);
	/* Out of budget: others want the CPU too. */
	if (!p->pull_budget)
		rds_path_kick(p);
	return p->pull_empty;
}

/**
 * rds_path_pump() - transmit what is queued, in the caller's context
 * @p: the path
 * @sender: socket whose sendmsg() this is, or NULL
 *
 * Context: process, may sleep.
 */
void rds_path_pump(struct rds_path *p, struct rds_sock *sender)
{
	unsigned int pass;
	bool emptied;

	for (pass = 0; pass < RDS_PUMP_PASSES; pass++) {
		/*
		 * Pairs with the barrier below: either our trylock succeeds, or the
		 * holder sees the message we queued before.
		 */
		smp_mb();
		if (!mutex_trylock(&p->link)) {
			rds_stat_inc(send_lock_contention);
			return;
		}
		emptied = pump_locked(p, sender);
		mutex_unlock(&p->link);
		smp_mb();	/* unlocked before the look; pairs with the one above */
		/* Not emptied: no room (the transport will kick) or no budget (kicked). */
		if (!emptied || !path_has_work(p))
			return;
		rds_stat_inc(send_lock_queue_raced);
	}
	rds_path_kick(p);
}

/**
 * rds_path_begin() - make a link that needs nobody else, and transmit by it
 * @p: the path, down
 * @sender: socket whose sendmsg() this is
 *
 * Both under the link mutex: the work that a new link queues must not be in the way.
 *
 * Context: process, may sleep.
 */
void rds_path_begin(struct rds_path *p, struct rds_sock *sender)
{
	bool emptied;

	rds_path_want(p);
	mutex_lock(&p->link);
	rds_path_control(p);
	emptied = pump_locked(p, sender);
	mutex_unlock(&p->link);
	smp_mb();	/* as in rds_path_pump() */
	if (emptied && path_has_work(p))
		rds_path_kick(p);
}

/**
 * rds_path_pump_work() - transmit from the path's work
 * @work: rds_path.pump_work
 */
void rds_path_pump_work(struct work_struct *work)
{
	struct rds_path *p = container_of(work, struct rds_path, pump_work);
	bool emptied;

	/* Do not queue behind a tear-down, which may be slow: coming up pumps anyway. */
	if (!rds_path_is_up(p))
		return;
	mutex_lock(&p->link);
	if (READ_ONCE(p->unsettled))
		rds_path_settle_rest(p);
	emptied = pump_locked(p, NULL);
	mutex_unlock(&p->link);
	smp_mb();	/* as in rds_path_pump() */
	if (emptied && path_has_work(p))
		rds_path_kick(p);
}

/**
 * rds_path_kick() - there is something to send, or room for it: pump from the work
 * @p: the path
 *
 * Context: any.
 */
void rds_path_kick(struct rds_path *p)
{
	spin_lock_bh(&p->lock);
	if (p->state == RDS_UP)
		queue_work(rds_wq, &p->pump_work);
	spin_unlock_bh(&p->lock);
}

/**
 * rds_path_unpark() - ports of the peer may be congested no more
 * @p: the path
 *
 * Context: any.
 */
void rds_path_unpark(struct rds_path *p)
{
	bool parked;

	spin_lock_bh(&p->lock);
	parked = p->sendq && p->sendq->nr_parked;
	rds_sendq_wake(p);
	spin_unlock_bh(&p->lock);
	if (parked)
		rds_path_kick(p);
}

/**
 * rds_path_control_due() - must a control frame go before the next message?
 * @p: the path
 *
 * Each link begins with a control frame that says which one it is (peer.c).  Maps travel on path 0
 * only: on several paths an older one could overtake a newer one.
 */
bool rds_path_control_due(struct rds_path *p)
{
	return READ_ONCE(p->control_due) ||
	       (!p->index && rds_cong_update_due(p->conn));
}

/**
 * rds_path_pull_control() - build the control frame that is due
 * @p: the path; link mutex held
 * @buf: RDS_CONTROL_MAX bytes
 *
 * Return: bytes written, 0 = none due.
 */
size_t rds_path_pull_control(struct rds_path *p, u8 *buf)
{
	struct rds_hdr h = { .flags = RDS_FLAG_CONG_BITMAP };

	if (!rds_path_control_due(p))
		return 0;
	WRITE_ONCE(p->control_due, false);
	if (p->conn->key.trans->caps & RDS_CAP_HANDSHAKE)
		rds_peer_ext(p, h.ext);
	if (!p->index) {
		rds_cong_snapshot(p->conn, buf + RDS_HDR_LEN);
		h.len = RDS_CONG_MAP_BYTES;
		rds_stat_inc(cong_update_sent);
	}
	rds_hdr_build(buf, &h);
	return RDS_HDR_LEN + h.len;
}

/* The message that goes next, on the sent list, or NULL; p->lock held. */
static struct rds_message *path_take(struct rds_path *p, u64 *end, bool *again)
{
	struct rds_message *m = list_first_entry_or_null(&p->queue, struct rds_message, node);

	if (m) {
		rds_sendq_front_del(p, m, &p->sent);
	} else {
		m = rds_sendq_next(p, again);
		if (!m)
			return NULL;
		rds_sendq_del(p, m);
		list_add_tail(&m->node, &p->sent);
	}
	WRITE_ONCE(p->nr_queued, p->nr_queued - 1);
	if (m->early)
		p->conn->nr_early_queued--;
	m->where = RDS_MSG_SENT;
	p->nr_sent++;
	if (!m->seq)
		path_number(p, m);
	if (end)
		*end += RDS_HDR_LEN + m->len;
	m->ack_pos = end ? *end : m->seq;
	rds_message_get(m);
	p->pull_budget--;
	trace_rds_transmit(p, m);
	return m;
}

/**
 * rds_path_pull() - take the next message for transmission
 * @p: the path; link mutex held
 * @end: stream position after the previous message, advanced over this one; NULL if the peer
 *	acknowledges sequences
 *
 * Return: the message with a reference for the caller, or NULL.
 */
struct rds_message *rds_path_pull(struct rds_path *p, u64 *end)
{
	struct rds_message *m = NULL;
	bool again, last_early;

	if (!p->pull_budget || rds_peer_must_speak(p) || !rds_mprds_may_send(p))
		return NULL;
	/* What is queued from now on is found after the link mutex is let go. */
	if (!rds_path_has_queued(p)) {
		p->pull_empty = true;
		return NULL;
	}
	do {
		again = false;
		spin_lock_bh(&p->lock);
		if (p->state == RDS_UP && rds_mprds_may_still_send(p))
			m = path_take(p, end, &again);
		last_early = m && m->early && !p->conn->nr_early_queued;
		p->pull_empty = !m || !rds_path_has_queued(p);
		spin_unlock_bh(&p->lock);
		if (again)
			cond_resched();
	} while (again);
	if (last_early)
		rds_mprds_path0_acked(p->conn);
	return m;
}

/**
 * rds_path_emptied() - was the last message that was pulled the last there was?
 * @p: the path; link mutex held
 *
 * Then there is no need to pull again: what is queued since is found after the mutex is let go.
 */
bool rds_path_emptied(const struct rds_path *p)
{
	return p->pull_empty;
}

/* What waits for a congested port is not counted. */
bool rds_path_has_queued(const struct rds_path *p)
{
	const struct rds_sendq *q = READ_ONCE(p->sendq);

	return READ_ONCE(p->nr_queued) != (q ? READ_ONCE(q->nr_parked) : 0);
}

/* So much waits that users take turns. */
bool rds_path_has_backlog(const struct rds_path *p)
{
	const struct rds_sendq *q = READ_ONCE(p->sendq);

	return q && READ_ONCE(q->nr) != READ_ONCE(q->nr_parked);
}

bool rds_path_has_unacked(const struct rds_path *p)
{
	return !list_empty(&p->sent);
}

void *rds_path_priv(const struct rds_path *p)
{
	return (void *)p->priv;
}

struct net *rds_path_net(const struct rds_path *p)
{
	return p->conn->rn->net;
}

struct rds_conn *rds_path_conn(const struct rds_path *p)
{
	return p->conn;
}

unsigned int rds_path_index(const struct rds_path *p)
{
	return p->index;
}

struct rds_path *rds_path_first(const struct rds_path *p)
{
	return p->conn->paths[0];
}

struct rds_path *rds_conn_path(const struct rds_conn *c, unsigned int index)
{
	return smp_load_acquire(&c->paths[index]);	/* published complete */
}

bool rds_path_is_guess(const struct rds_path *p)
{
	return rds_legacy_peer(p->conn);
}

struct rds_path *rds_path_brings(struct rds_path *p)
{
	return READ_ONCE(p->rx_as) ?: p;
}

const struct in6_addr *rds_path_laddr(const struct rds_path *p)
{
	return &p->conn->key.laddr;
}

const struct in6_addr *rds_path_faddr(const struct rds_path *p)
{
	return &p->conn->key.faddr;
}

u32 rds_path_scope(const struct rds_path *p)
{
	return p->conn->key.scope;
}

u8 rds_path_tos(const struct rds_path *p)
{
	return p->conn->key.tos;
}

bool rds_path_is_active(const struct rds_path *p)
{
	return rds_conn_is_active(p->conn);
}

bool rds_path_is_half(const struct rds_path *p)
{
	return p->conn->key.half;
}
