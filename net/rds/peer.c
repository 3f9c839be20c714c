// SPDX-License-Identifier: GPL-2.0
/*
 * Whom a link leads to.
 *
 * Addresses and ports are what a middlebox makes of them: a NAT may change the source port that
 * is to tell the path, let two hosts appear as one, or lead a link to another host than the one
 * before, or back to this one.  So the first frame of each link says which path it is, which
 * instance its sender is, which of its connections (a name made of the two addresses as it sees
 * them), and which instance it expects at the other end.  The end that accepts judges before the
 * link gets a path; until it has answered, nothing but that first frame is sent by the end that
 * dials.  So a link that is refused has carried no message, in either direction.
 *
 * Older peers say nothing of this (RDS_PEER_OLDER): their links are placed by port or order.
 *
 * Documentation/links.rst has the rules, and why they are so.
 */
#include <linux/jiffies.h>

#include "core.h"
#include "trace.h"

/* How long links that may be those of a peer that is gone have to answer. */
#define PEER_ASK_TIME	(2 * HZ)
/* How long one that has lost its links may come back before one of another name follows. */
#define PEER_GRACE	(5 * HZ)

/* What an administrator reads, and the trace of the link. */
#define PEER_STALE	"another host answers there, the one before has or had links"
#define PEER_TAKEN	"another host comes by that address, the one before has or had links"

static const struct {
	int err;
	const char *why;
} peer_refusals[RDS_LINK_NR_VERDICTS] = {
	[RDS_LINK_STALE] = { -ESTALE, PEER_STALE },
	[RDS_LINK_TAKEN] = { -EADDRINUSE, PEER_TAKEN },
	[RDS_LINK_SELF] = { -ELOOP, "it leads back to this host" },
};

/* struct rds_conn: who_gen and who_name */
struct peer_who {
	u32 gen;
	u32 name;
};

/* Ours, for this connection. */
static u32 peer_own_name(const struct rds_conn *c)
{
	return rds_conn_name(c->key.laddr.s6_addr, c->key.faddr.s6_addr);
}

static void peer_set_kind(struct rds_conn *c, enum rds_peer_kind kind)
{
	if (READ_ONCE(c->kind) != kind)
		WRITE_ONCE(c->kind, kind);
}

/* The extension headers of a first frame of ours, or of an answer to one. */
static void peer_put_ext(u8 ext[RDS_EXT_LEN], u32 gen, const struct rds_ext_link *link)
{
	rds_ext_put_u32(ext, RDS_EXT_GEN_NUM, gen);
	rds_ext_put_link(ext, link);
}

/**
 * rds_peer_ext() - the extension headers of a link's first frame
 * @p: the path
 * @ext: extension area, zeroed
 */
void rds_peer_ext(const struct rds_path *p, u8 ext[RDS_EXT_LEN])
{
	const struct rds_conn *c = p->conn;
	const struct rds_ext_link link = {
		.index = p->index,
		.verdict = RDS_LINK_WELCOME,
		.to = READ_ONCE(c->who_gen),
		.name = peer_own_name(c),
	};

	peer_put_ext(ext, c->rn->generation, &link);
}

/* ---- what is known of the peer ------------------------------------------------- */

/* Is it the instance whose links were let in last, or the first one? */
static bool peer_is_known(struct rds_conn *c, const struct peer_who *who)
{
	bool known;

	spin_lock_bh(&c->lock);
	known = !c->who_gen || (c->who_gen == who->gen && c->who_name == who->name);
	spin_unlock_bh(&c->lock);
	return known;
}

/*
 * One instance may have two connections that look like one from here, because of its addresses or
 * ours; they count for themselves.  What is expected next starts again, as with a new instance.
 */
static void peer_forget_rx(struct rds_conn *c)
{
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		struct rds_path *q = smp_load_acquire(&c->paths[i]);	/* published complete */

		if (!q)
			continue;
		spin_lock_bh(&q->lock);
		q->rx_gen = 0;
		q->next_rx = 0;
		spin_unlock_bh(&q->lock);
	}
}

static void peer_let_in(struct rds_conn *c, const struct peer_who *who)
{
	bool renamed;

	spin_lock_bh(&c->lock);
	renamed = c->who_gen == who->gen && c->who_name != who->name;
	WRITE_ONCE(c->who_gen, who->gen);
	c->who_name = who->name;
	c->doubt_since = 0;
	spin_unlock_bh(&c->lock);
	if (renamed)
		peer_forget_rx(c);
}

/* Has the path a link that is in use, or one that waits to become it? */
static bool path_has_link(struct rds_path *p)
{
	return (rds_path_is_up(p) && (READ_ONCE(p->adopted) || READ_ONCE(p->welcome))) ||
	       rds_path_has_successor(p);
}

/* Has any path but @but? */
static bool conn_has_links(struct rds_conn *c, const struct rds_path *but)
{
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		struct rds_path *q = smp_load_acquire(&c->paths[i]);	/* published complete */

		if (q && q != but && path_has_link(q))
			return true;
	}
	return false;
}

/* Were messages accepted for the instance that was there, and not acknowledged? */
static bool conn_owes(struct rds_conn *c)
{
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		struct rds_path *q = smp_load_acquire(&c->paths[i]);	/* published complete */
		bool owes;

		if (!q)
			continue;
		spin_lock_bh(&q->lock);
		owes = q->nr_queued > q->nr_control || !list_empty(&q->sent);
		spin_unlock_bh(&q->lock);
		if (owes)
			return true;
	}
	return false;
}

/* How long it is that another instance was found first, and the known one has not come back. */
static unsigned long peer_doubted_for(struct rds_conn *c)
{
	unsigned long now = jiffies, since;

	spin_lock_bh(&c->lock);
	if (!c->doubt_since)
		c->doubt_since = now | 1;
	since = c->doubt_since;
	spin_unlock_bh(&c->lock);
	return time_after(now, since) ? now - since : 0;
}

/*
 * One that calls the connection otherwise never gets what was accepted for the one before.  That
 * nothing waits at this moment does not say that the one before is left: its links may have been
 * cut just now, by who leads the next ones away.
 */
static bool peer_may_follow(struct rds_conn *c, const struct peer_who *who)
{
	bool same_name;

	spin_lock_bh(&c->lock);
	same_name = c->who_name == who->name;
	spin_unlock_bh(&c->lock);
	return same_name || (peer_doubted_for(c) >= PEER_GRACE && !conn_owes(c));
}

/*
 * Whoever answers there now, may messages go to him?  To the same instance in any case: it has
 * another name for the connection because our address became another one on the way.
 */
static bool peer_may_answer(struct rds_conn *c, const struct peer_who *who)
{
	return READ_ONCE(c->who_gen) == who->gen || peer_may_follow(c, who);
}

/* It is ourselves, and not because an address of a peer has moved to us. */
static bool peer_is_self(const struct rds_conn *c, u32 gen)
{
	const struct rds_conn_key *key = &c->key;

	return gen == c->rn->generation &&
	       !rds_transport_owns(key->trans, c->rn->net, &key->faddr, key->scope);
}

static void peer_complain(const struct rds_conn *c, enum rds_link_verdict v)
{
	const struct in6_addr *l = &c->key.laddr, *f = &c->key.faddr;

	rds_stat_inc(link_wrong_peer);
	if (ipv6_addr_v4mapped(f))
		pr_warn_ratelimited("rds: link between %pI4 and %pI4 refused: %s\n",
				    &l->s6_addr32[3], &f->s6_addr32[3], peer_refusals[v].why);
	else
		pr_warn_ratelimited("rds: link between %pI6c and %pI6c refused: %s\n", l, f,
				    peer_refusals[v].why);
}

/* ---- the end that accepts -------------------------------------------------------- */

static enum rds_link_verdict peer_judge(struct rds_conn *c, const struct rds_ext *e)
{
	const struct peer_who who = { .gen = e->gen, .name = e->link.name };

	if (peer_is_self(c, who.gen))
		return RDS_LINK_SELF;
	if (e->link.to && e->link.to != c->rn->generation)
		return RDS_LINK_STALE;
	if (peer_is_known(c, &who))
		return RDS_LINK_WELCOME;
	if (conn_has_links(c, NULL))
		return RDS_LINK_WAIT;
	return peer_may_follow(c, &who) ? RDS_LINK_WELCOME : RDS_LINK_TAKEN;
}

static void peer_answer(struct rds_conn *c, const struct rds_hdr *h, enum rds_link_verdict v,
			u8 answer[RDS_HDR_LEN])
{
	struct rds_hdr a = { .flags = RDS_FLAG_CONG_BITMAP };
	struct rds_ext_link link = { .verdict = v, .name = peer_own_name(c) };
	struct rds_ext e;

	rds_ext_parse(h->ext, &e);
	link.index = e.link.index;
	link.to = e.gen;
	peer_put_ext(a.ext, c->rn->generation, &link);
	rds_hdr_build(answer, &a);
	/* An instance that has gone is no news, and it is for the other end to judge. */
	if (v == RDS_LINK_WAIT || v == RDS_LINK_STALE)
		return;
	trace_rds_link_drop(c->paths[0], READ_ONCE(c->paths[0]->epoch), peer_refusals[v].err);
	peer_complain(c, v);
}

/**
 * rds_net_answer_self() - what is told to a link that comes from an address of ours
 * @net: namespace
 * @laddr: the address to which it came
 * @answer: the frame
 *
 * Context: any.
 */
void rds_net_answer_self(struct net *net, const struct in6_addr *laddr, u8 answer[RDS_HDR_LEN])
{
	struct rds_hdr a = { .flags = RDS_FLAG_CONG_BITMAP };
	const struct rds_ext_link link = {
		.verdict = RDS_LINK_SELF,
		.name = rds_conn_name(laddr->s6_addr, laddr->s6_addr),
	};

	peer_put_ext(a.ext, rds_net(net)->generation, &link);
	rds_hdr_build(answer, &a);
}

/**
 * rds_conn_answer() - what is told to a link that has a rival
 * @c: the connection
 * @h: the link's first header
 * @wait: it has to wait; else it is refused
 * @answer: the frame
 *
 * Context: process.
 */
void rds_conn_answer(struct rds_conn *c, const struct rds_hdr *h, bool wait,
		     u8 answer[RDS_HDR_LEN])
{
	peer_answer(c, h, wait ? RDS_LINK_WAIT : RDS_LINK_TAKEN, answer);
}

/* Whose links tell: are some of his here? */
static bool teller_is_here(struct rds_conn *c)
{
	return rds_conn_tells(c) && conn_has_links(c, NULL);
}

/* Nothing has come.  Who told once, and has no link, may have been replaced by who does not. */
static enum rds_placing place_silent(struct rds_conn *c)
{
	if (READ_ONCE(c->kind) == RDS_PEER_OLDER)
		return RDS_PLACE_GUESS;
	return teller_is_here(c) ? RDS_PLACE_MUST_SPEAK : RDS_PLACE_LATER;
}

/* A first frame that does not say which path it is.  Another host's than the peer's with links? */
static enum rds_placing place_older(struct rds_conn *c)
{
	if (teller_is_here(c))
		return RDS_PLACE_RIVAL;
	peer_set_kind(c, RDS_PEER_OLDER);
	return RDS_PLACE_GUESS;
}

/**
 * rds_conn_place() - where does an incoming link belong?
 * @c: the connection
 * @h: its first header, or NULL if nothing has come
 * @index: the path, if it is told
 * @answer: a frame to be sent, if it is refused
 *
 * Context: process.
 */
enum rds_placing rds_conn_place(struct rds_conn *c, const struct rds_hdr *h, unsigned int *index,
				u8 answer[RDS_HDR_LEN])
{
	enum rds_link_verdict v;
	struct rds_ext e;

	if (!h)
		return place_silent(c);
	rds_ext_parse(h->ext, &e);
	if (!rds_hdr_is_cong(h) || !RDS_EXT_HAS(&e, RDS_EXT_LINK))
		return place_older(c);
	v = peer_judge(c, &e);
	if (v == RDS_LINK_WAIT)
		return RDS_PLACE_RIVAL;
	if (v != RDS_LINK_WELCOME) {
		peer_answer(c, h, v, answer);
		return RDS_PLACE_REFUSED;
	}
	peer_set_kind(c, RDS_PEER_TELLS);
	peer_let_in(c, &(struct peer_who){ .gen = e.gen, .name = e.link.name });
	*index = e.link.index;
	return RDS_PLACE_TOLD;
}

/**
 * rds_conn_tells() - does this peer say in the first frame of each link which path it is?
 * @c: the connection
 */
bool rds_conn_tells(const struct rds_conn *c)
{
	return READ_ONCE(c->kind) == RDS_PEER_TELLS;
}

/**
 * rds_conn_ask() - have something sent on each link, to see whether the peer is alive
 * @c: the connection
 *
 * A control frame: it has no number, and says nothing new.
 *
 * Context: any.
 */
void rds_conn_ask(struct rds_conn *c)
{
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		struct rds_path *q = smp_load_acquire(&c->paths[i]);	/* published complete */

		if (!q || !rds_path_is_up(q))
			continue;
		WRITE_ONCE(q->control_due, true);
		rds_path_kick(q);
	}
}

/**
 * rds_conn_forsake() - the peer does not answer: drop its links
 * @c: the connection
 *
 * Context: any.
 */
void rds_conn_forsake(struct rds_conn *c)
{
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		struct rds_path *q = smp_load_acquire(&c->paths[i]);	/* published complete */

		if (q && rds_path_is_up(q))
			rds_path_drop(q, READ_ONCE(q->epoch), -ETIMEDOUT);
	}
}

/* The link was placed before it has told; mprds_repair() gives it to the right path. */
static void peer_told_path(struct rds_path *p, unsigned int index)
{
	struct rds_conn *c = p->conn;

	if (p->index == index)
		return;
	spin_lock_bh(&p->lock);
	p->peer_port = index;
	spin_unlock_bh(&p->lock);
	spin_lock_bh(&c->lock);
	if (!c->dead)
		mod_delayed_work(rds_wq, &c->mprds_work, 0);
	spin_unlock_bh(&c->lock);
}

/* ---- the end that dials ------------------------------------------------------------ */

static void peer_refuse(struct rds_path *p, enum rds_link_verdict v)
{
	/* Not at once again, and not after each word of whoever is there. */
	spin_lock_bh(&p->lock);
	p->backoff = max(p->backoff, READ_ONCE(p->conn->rn->sysctl.reconnect_max_jiffies));
	spin_unlock_bh(&p->lock);
	peer_complain(p->conn, v);
	rds_path_drop(p, READ_ONCE(p->epoch), peer_refusals[v].err);
}

/* Do other links stand, though they were asked for long enough whether the peer knows them? */
static bool peer_has_rivals(struct rds_path *p)
{
	rds_conn_ask(p->conn);
	return peer_doubted_for(p->conn) >= PEER_ASK_TIME;
}

/*
 * Another instance than we expected: the one that was there may have been started anew.  If it
 * was, what it does not know any more is reset as soon as something is sent there.
 */
static void peer_was_stale(struct rds_path *p, const struct peer_who *who)
{
	struct rds_conn *c = p->conn;
	bool rivals = conn_has_links(c, p);

	if (rivals ? peer_has_rivals(p) : !peer_may_follow(c, who)) {
		peer_refuse(p, RDS_LINK_STALE);
		return;
	}
	if (!rivals)
		peer_let_in(c, who);
	rds_path_drop(p, READ_ONCE(p->epoch), -ESTALE);
}

/* True if the link may carry messages. */
static bool peer_welcomes(struct rds_path *p, const struct peer_who *who)
{
	struct rds_conn *c = p->conn;

	if (peer_is_self(c, who->gen)) {
		peer_refuse(p, RDS_LINK_SELF);
		return false;
	}
	if (!peer_is_known(c, who) && (conn_has_links(c, p) || !peer_may_answer(c, who))) {
		peer_was_stale(p, who);
		return false;
	}
	peer_let_in(c, who);
	WRITE_ONCE(p->welcome, true);
	rds_path_kick(p);
	return true;
}

static bool peer_answered(struct rds_path *p, const struct rds_ext *e)
{
	const struct peer_who who = { .gen = e->gen, .name = e->link.name };

	switch (e->link.verdict) {
	case RDS_LINK_WELCOME:
		return READ_ONCE(p->welcome) || peer_welcomes(p, &who);
	case RDS_LINK_WAIT:
		break;
	case RDS_LINK_STALE:
		peer_was_stale(p, &who);
		break;
	case RDS_LINK_SELF:
		peer_refuse(p, RDS_LINK_SELF);
		break;
	default:	/* also what a later version may find */
		peer_refuse(p, RDS_LINK_TAKEN);
	}
	return false;
}

/**
 * rds_peer_told() - the first frame of a link, or a control frame, has come
 * @p: path it came by
 * @h: its header
 * @first: it is the first one
 *
 * Context: any; one caller at a time per path.
 * Return: false if it says that the link carries nothing: there is nothing more in it.
 */
bool rds_peer_told(struct rds_path *p, const struct rds_hdr *h, bool first)
{
	struct rds_conn *c = p->conn;
	struct rds_ext e;

	if (!(c->key.trans->caps & RDS_CAP_HANDSHAKE))
		return true;
	rds_ext_parse(h->ext, &e);
	if (!rds_hdr_is_cong(h) || !RDS_EXT_HAS(&e, RDS_EXT_LINK)) {
		if (first) {
			peer_set_kind(c, RDS_PEER_OLDER);
			WRITE_ONCE(p->welcome, true);
			/* What came before was turned away, see rds_peer_must_speak(). */
			rds_path_kick(p);
		}
		return true;
	}
	if (!p->adopted) {
		peer_set_kind(c, RDS_PEER_TELLS);
		return peer_answered(p, &e);
	}
	if (first) {
		peer_set_kind(c, RDS_PEER_TELLS);
		peer_told_path(p, e.link.index);
		peer_let_in(c, &(struct peer_who){ .gen = e.gen, .name = e.link.name });
	}
	return true;
}

/**
 * rds_peer_must_speak() - must messages wait for what the other end of a link says?
 * @p: path
 *
 * On a link that we dialled.  A peer of the old kind may reset a link that TCP has already
 * accepted, and with it the first messages that TCP has already acknowledged; and on paths above
 * 0 it may have nothing to say, hence the time limit.
 */
bool rds_peer_must_speak(const struct rds_path *p)
{
	const struct rds_conn *c = p->conn;

	if (p->adopted || READ_ONCE(p->welcome) || !(c->key.trans->caps & RDS_CAP_HANDSHAKE))
		return false;
	switch (READ_ONCE(c->kind)) {
	case RDS_PEER_TELLS:
		return true;
	case RDS_PEER_OLDER:
		if (!rds_legacy_peer(c))
			return false;
		break;
	default:
		break;
	}
	return time_before(jiffies, READ_ONCE(p->up_since) + RDS_LISTEN_TIME);
}
