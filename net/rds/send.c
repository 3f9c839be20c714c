// SPDX-License-Identifier: GPL-2.0
/*
 * sendmsg(): request -> message -> path.
 *
 * The order of the checks is the ABI (Documentation/sockets.rst).  The commit point is
 * rds_path_enqueue() in send_commit(): before it every error undoes everything, after it
 * the call returns the payload length whatever the transport says, for the message will be sent,
 * and who is told of an error sends it again.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "core.h"
#include "trace.h"

/* MSG_BATCH is sendmmsg()'s own. */
#define SEND_FLAGS_OK	(MSG_DONTWAIT | MSG_ZEROCOPY | MSG_NOSIGNAL | MSG_EOR | \
			 MSG_CMSG_COMPAT | MSG_BATCH)
/* Times a sender waits a tick for a dying connection to leave the table. */
#define SEND_RETRIES	1000

/**
 * struct send_ctx - one sendmsg() call
 * @rs: socket
 * @msg: the caller's message
 * @len: payload bytes
 * @dst: destination
 * @req: what the control messages ask for
 * @zerocopy: MSG_ZEROCOPY and SO_ZEROCOPY
 * @timeo: time left for waits, 0 = do not wait
 * @nonblock: do not wait
 * @mapped: cookie of a region that was registered for the message, or 0
 */
struct send_ctx {
	struct rds_sock *rs;
	struct msghdr *msg;
	size_t len;
	struct rds_addr dst;
	struct rds_request req;
	bool zerocopy;
	bool nonblock;
	long timeo;
	u64 mapped;
};

/* Where to: what the call names, or else what connect() has set. */
static int send_destination(struct send_ctx *s)
{
	struct rds_sock *rs = s->rs;
	bool named = s->msg->msg_name && s->msg->msg_namelen, has_peer = named;
	u32 scope;
	int err;

	if (named) {
		err = rds_sockaddr_parse(s->msg->msg_name, s->msg->msg_namelen, &s->dst);
		if (err)
			return err;
	}
	if (named) {
		scope = READ_ONCE(rs->scope);
	} else {
		spin_lock_bh(&rs->addr_lock);
		has_peer = rs->has_peer;
		scope = rs->scope;
		s->dst = rs->peer;
		spin_unlock_bh(&rs->addr_lock);
	}

	if (!rds_is_bound(rs) || !has_peer)
		return -ENOTCONN;
	if (rds_addr_is_v4(&s->dst.ip) != rds_addr_is_v4(&rs->bound.ip))
		return -EOPNOTSUPP;
	if (named && s->dst.scope && scope && s->dst.scope != scope)
		return -EINVAL;
	/* One link-local end is enough to need the interface. */
	if (!s->dst.scope && (rds_addr_is_linklocal(&s->dst.ip) ||
			      rds_addr_is_linklocal(&rs->bound.ip)))
		s->dst.scope = scope;
	/* From a link-local address there is only one interface to go by. */
	if (!s->dst.scope && rds_addr_is_linklocal(&rs->bound.ip))
		s->dst.scope = rs->bound.scope;
	return 0;
}

/* The local vectors of an RDMA operation, checked; free with kvfree().  Or ERR_PTR(). */
static struct rds_iovec *send_iovs(const struct rds_rdma_args *args, u64 *bytes)
{
	const struct rds_iovec __user *uvec = u64_to_user_ptr(args->local_vec_addr);
	struct rds_iovec *iov;
	u64 n = args->nr_local;
	int err = 0;

	iov = kvmalloc_array(n, sizeof(*iov), GFP_KERNEL_ACCOUNT);
	if (!iov)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(iov, uvec, n * sizeof(*iov)))
		err = -EFAULT;
	if (!err)
		err = rds_iov_check(iov, n, bytes);
	if (!err)
		return iov;
	kvfree(iov);
	return ERR_PTR(err);
}

static int send_check_iovs(const struct rds_rdma_args *args)
{
	struct rds_iovec *iov;
	u64 bytes;

	iov = send_iovs(args, &bytes);
	if (IS_ERR(iov))
		return PTR_ERR(iov);
	kvfree(iov);
	return 0;
}

/* Sizes and control messages, before there is a message that would have to be undone. */
static int send_request(struct send_ctx *s)
{
	const struct msghdr *msg = s->msg;
	bool want_zc = msg->msg_flags & MSG_ZEROCOPY;
	int err;

	if (msg->msg_controllen) {
		err = rds_cmsg_early(msg->msg_control, msg->msg_controllen, &s->req);
		if (err)
			return err;
	}
	if (s->len > RDS_MAX_MSG_SIZE || s->req.rdma_bytes > RDS_MAX_MSG_SIZE)
		return -EMSGSIZE;
	if (s->len > rds_sndbuf(s->rs))
		return -EMSGSIZE;
	s->zerocopy = want_zc && sock_flag(rds_rs_to_sk(s->rs), SOCK_ZEROCOPY);
	if (s->zerocopy && !(s->rs->trans->caps & RDS_CAP_ZCOPY))
		return -EOPNOTSUPP;
	if (!msg->msg_controllen && !want_zc)
		return 0;
	err = rds_cmsg_scan(msg->msg_control, msg->msg_controllen, want_zc, &s->req);
	if (err)
		return err;
	if (s->req.have & RDS_REQ_RDMA_ARGS)
		return send_check_iovs(&s->req.rdma);
	return 0;
}

/* The message and its payload, copied or pinned. */
static struct rds_message *send_message(struct send_ctx *s)
{
	struct iov_iter *from = &s->msg->msg_iter;
	struct rds_message *m;
	int err;

	if (s->zerocopy && s->len)
		m = rds_message_zerocopy(s->rs, from, s->len, s->req.zcookie, &err);
	else
		m = rds_message_from_user(s->rs, from, s->len, &err);
	if (!m)
		return ERR_PTR(err);
	m->sport = s->rs->bound.port;
	m->dport = s->dst.port;
	return m;
}

/*
 * A transfer that will be refused, because it is too long or for lack of a transport that can:
 * but first memory that is not there is.
 */
static int send_probe(const struct rds_rdma_args *args, const struct rds_iovec *iov)
{
	bool write = !(args->flags & RDS_RDMA_READWRITE);
	int err = 0;
	u64 i;

	for (i = 0; !err && i < args->nr_local; i++)
		err = rds_pin_probe(iov[i].addr, iov[i].bytes, write);
	return err;
}

static int send_add_rdma(const struct send_ctx *s, struct rds_op *op)
{
	const struct rds_rdma_args *args = &s->req.rdma;
	struct rds_iovec *iov;
	u64 bytes;
	int err;

	iov = send_iovs(args, &bytes);
	if (IS_ERR(iov))
		return PTR_ERR(iov);
	if (!op || bytes > args->remote_vec.bytes)
		err = send_probe(args, iov);
	else
		err = rds_op_add_rdma(s->rs, op, args, iov, bytes);
	if (!err && bytes > args->remote_vec.bytes)
		err = -EINVAL;
	kvfree(iov);
	return err;
}

static int send_add_atomic(const struct send_ctx *s, struct rds_op *op)
{
	const struct rds_atomic_args *a = &s->req.atomic;

	if (op)
		return rds_op_add_atomic(s->rs, op, s->req.atomic_type, a);
	if (a->local_addr & 7)
		return -EFAULT;
	return rds_pin_probe(a->local_addr, sizeof(u64), true);
}

/*
 * RDMA and atomic requests.  A transport that has neither says so only when the arguments
 * are known to be good.
 */
static int send_add_op(const struct send_ctx *s, struct rds_message *m, struct rds_conn *c)
{
	const struct rds_rdma_ops *ops = c->key.trans->rdma;
	const struct rds_request *r = &s->req;
	int err = 0;

	if (ops && r->have & (RDS_REQ_RDMA_ARGS | RDS_REQ_ATOMIC)) {
		m->op = rds_op_alloc(ops);
		if (!m->op)
			return -ENOMEM;
	}
	if (r->have & RDS_REQ_ATOMIC && r->atomic_first)
		err = send_add_atomic(s, m->op);
	if (!err && r->have & RDS_REQ_RDMA_ARGS)
		err = send_add_rdma(s, m->op);
	if (!err && r->have & RDS_REQ_ATOMIC && !r->atomic_first)
		err = send_add_atomic(s, m->op);
	if (err)
		return err;
	if (r->dup_a)
		return -EINVAL;
	if (!m->op)
		return r->have & (RDS_REQ_RDMA_ARGS | RDS_REQ_ATOMIC) ? -EOPNOTSUPP : 0;
	m->op->silent &= !m->len;
	if (r->have & RDS_REQ_RDMA_ARGS)
		rds_ext_put_u32(m->ext, RDS_EXT_RDMA, (u32)r->rdma.cookie);
	return ops->op_check(&c->key.laddr, c->key.scope, m->op);
}

/* A region of ours goes to the peer with the message. */
static int send_add_cookie(struct send_ctx *s, struct rds_message *m)
{
	const struct rds_request *r = &s->req;
	u64 cookie = r->dest_cookie;
	int err = 0;

	if (r->have & RDS_REQ_DEST) {
		err = rds_mr_dest(s->rs, cookie);
	} else if (r->have & RDS_REQ_MAP) {
		err = rds_mr_register(s->rs, &r->map, &cookie);
		/* No device just now: it may come. */
		if (err == -ENODEV)
			err = -EAGAIN;
		if (!err)
			s->mapped = cookie;
	}
	if (err)
		return err;
	if (r->dup_b)
		return -EINVAL;
	if (r->have & (RDS_REQ_DEST | RDS_REQ_MAP))
		rds_ext_put_rdma_dest(m->ext, (u32)cookie, cookie >> 32);
	return 0;
}

/* Do what the control messages ask for, as far as the connection's transport can. */
static int send_execute(struct send_ctx *s, struct rds_message *m, struct rds_conn *c)
{
	bool want_zc = s->msg->msg_flags & MSG_ZEROCOPY;
	int err;

	if (want_zc && (!s->zerocopy || !s->len))
		return -EINVAL;
	if (s->req.have & RDS_REQ_ZCOOKIE && !want_zc)
		return -EINVAL;
	err = send_add_cookie(s, m);
	return err ?: send_add_op(s, m, c);
}

/* The message was not queued: nothing of it stays. */
static void send_undo(struct send_ctx *s, struct rds_message *m)
{
	rds_op_undo(m);
	if (s->mapped)
		rds_mr_free(s->rs, s->mapped, false);
}

static void send_uncharge(struct rds_message *m)
{
	LIST_HEAD(one);

	list_add(&m->node, &one);
	rds_underway_release(&one);
	list_del_init(&m->node);
}

/* Wait for room in the send buffer, unless the call is not to wait. */
static int send_wait_room(struct send_ctx *s)
{
	struct sock *sk = rds_rs_to_sk(s->rs);
	long ret;

	if (rds_tx_admit(s->rs, s->len))
		return 0;
	rds_stat_inc(send_queue_full);
	rds_send_push(s->rs);
	if (s->nonblock)
		return -EAGAIN;
	ret = wait_event_interruptible_timeout(*sk_sleep(sk), rds_tx_admit(s->rs, s->len),
					       s->timeo);
	if (ret < 0)
		return rds_intr_errno(s->timeo);
	return ret ? 0 : -ETIMEDOUT;
}

/* What was accepted for one connection goes by the one that follows it. */
static int send_next_conn(struct send_ctx *s, struct rds_message *m, struct rds_conn **conn,
			  unsigned int *tries)
{
	struct rds_conn *c;

	if (!--*tries || fatal_signal_pending(current))
		return -EAGAIN;
	send_uncharge(m);
	rds_conn_put(*conn);
	schedule_timeout_killable(1);
	*conn = c = rds_conn_for_send(s->rs, &s->dst.ip, s->dst.scope);
	return IS_ERR(c) ? PTR_ERR(c) : rds_underway_charge(c, m, true);
}

/*
 * The commit point.  A connection that is being expired refuses the message; its successor
 * is found as soon as it has left the table.
 */
static struct rds_path *send_commit(struct send_ctx *s, struct rds_message *m,
				    struct rds_conn **conn)
{
	unsigned int npaths, tries = SEND_RETRIES;
	struct rds_flow *spare = NULL;
	struct rds_path *p;
	int err;

	for (;;) {
		p = rds_mprds_select(*conn, m->sport, m->dport, &npaths);
		err = rds_path_enqueue(p, m, npaths, &spare);
		if (!err)
			break;
		if (err == -EAGAIN)
			continue;
		if (err == -ENOSR)
			err = rds_sendq_prepare(p, m->rs, &spare);
		else
			err = send_next_conn(s, m, conn, &tries);
		if (err)
			break;
	}
	rds_sendq_unprepare(spare);
	return err ? ERR_PTR(err) : p;
}

static void send_transmit(struct send_ctx *s, struct rds_path *p)
{
	if (rds_path_is_up(p)) {
		rds_path_pump(p, s->rs);
		if (READ_ONCE(p->held))
			rds_hold_note(p, s->rs);
		return;
	}
	if (p->conn->key.trans->caps & RDS_CAP_AT_ONCE) {
		rds_path_begin(p, s->rs);
		return;
	}
	rds_path_want(p);
	if (p->index)
		rds_path_want(p->conn->paths[0]);
}

/* Wait until it may be queued; it then counts in the send buffer and as under way to the port. */
static int send_admit(struct send_ctx *s, struct rds_message *m, struct rds_conn *c)
{
	int err;

	for (;;) {
		err = rds_cong_wait(s->rs, c, s->dst.port, s->nonblock, &s->timeo);
		if (err)
			return err;
		err = send_wait_room(s);
		if (err)
			return err;
		err = rds_underway_charge(c, m, rds_state_is_dying(READ_ONCE(c->paths[0]->state)));
		if (!err)
			return 0;
		rds_tx_release(s->rs, s->len, 1);
		/* Too much under way to the port by now. */
		if (err != -ENOBUFS)
			return err;
	}
}

static int send_queue(struct send_ctx *s, struct rds_message *m, struct rds_conn **conn)
{
	struct rds_sock *rs = s->rs;
	struct rds_path *p;
	int err;

	err = send_admit(s, m, *conn);
	if (err)
		return err;

	m->charge = s->len;
	sock_hold(rds_rs_to_sk(rs));
	m->rs = rs;
	if (m->pin)
		m->pin->notify = true;
	if (m->pin || m->op)
		WRITE_ONCE(rs->lends, true);
	rds_message_get(m);		/* the path's */
	p = send_commit(s, m, conn);
	if (IS_ERR(p)) {
		if (m->pin)
			m->pin->notify = false;
		send_uncharge(m);
		rds_message_put(m);
		rds_tx_release(rs, s->len, 1);
		return PTR_ERR(p);
	}
	WRITE_ONCE(p->conn->last_used, jiffies);
	if (!READ_ONCE(rs->tos_used))
		WRITE_ONCE(rs->tos_used, true);
	if (m->pin)
		rds_stat_inc(zcopy_sent);
	send_transmit(s, p);
	return 0;
}

/**
 * rds_sendmsg() - queue one datagram for a peer
 * @sock: socket
 * @msg: message
 * @len: payload bytes
 *
 * Context: process, may sleep.
 * Return: @len, or an errno of Documentation/sockets.rst.
 */
int rds_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct send_ctx s = { .rs = rds_sk(sock->sk), .msg = msg, .len = len };
	size_t given = iov_iter_count(&msg->msg_iter);
	struct rds_message *m;
	struct rds_conn *conn;
	int err;

	if (msg->msg_flags & ~SEND_FLAGS_OK)
		return -EOPNOTSUPP;
	s.nonblock = msg->msg_flags & MSG_DONTWAIT;
	s.timeo = sock_sndtimeo(sock->sk, s.nonblock);
	err = send_destination(&s);
	if (err)
		return err;
	err = send_request(&s);
	if (err)
		return err;
	m = send_message(&s);
	if (IS_ERR(m)) {
		err = PTR_ERR(m);
		goto out_revert;
	}
	conn = rds_conn_for_send(s.rs, &s.dst.ip, s.dst.scope);
	if (IS_ERR(conn)) {
		err = PTR_ERR(conn);
		goto out_message;
	}
	err = send_execute(&s, m, conn);
	if (!err)
		err = send_queue(&s, m, &conn);
	if (err)
		send_undo(&s, m);
	if (!IS_ERR(conn))
		rds_conn_put(conn);
out_message:
	if (err)
		rds_message_unpin(m);
	rds_message_put(m);
	if (!err)
		return len;
out_revert:
	/* io_uring tries again with the same iterator. */
	iov_iter_revert(&msg->msg_iter, given - iov_iter_count(&msg->msg_iter));
	return err;
}
