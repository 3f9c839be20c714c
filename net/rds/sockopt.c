// SPDX-License-Identifier: GPL-2.0
/*
 * Socket options: one table of number, size and handlers.
 *
 * The argument is copied in once, before any lock is taken; handlers see the kernel copy
 * and its length, never the user's pointer.
 */
#include <linux/net.h>
#include <linux/sockptr.h>
#include <net/sock.h>

#include "core.h"

/* Off again only after a while: each change patches code on all CPUs, and any user can ask. */
DEFINE_STATIC_KEY_DEFERRED_FALSE(rds_rx_trace_key, HZ);

union opt_arg {
	int val;
	struct rds_get_mr_args mr;
	struct rds_get_mr_for_dest_args mr_dest;
	struct rds_free_mr_args free_mr;
	struct rds_rx_trace_so traces;
	struct sockaddr_storage ss;
};

/**
 * struct rds_opt - a socket option
 * @nr: number
 * @min: least length of the argument
 * @max: greatest length that is accepted
 * @copy: bytes that are looked at, 0 = all
 * @size_err: errno for any other length
 * @ready: errno of a socket which may not set the option, tested before the length
 * @set: setter; @len bytes of the argument are valid
 * @get: getter of an int
 */
struct rds_opt {
	int nr;
	unsigned int min;
	unsigned int max;
	unsigned int copy;
	int size_err;
	int (*ready)(struct rds_sock *rs);
	int (*set)(struct rds_sock *rs, const union opt_arg *arg, unsigned int len);
	int (*get)(struct rds_sock *rs);
};

#define OPT_EXACT(size)		.min = (size), .max = (size)
#define OPT_AT_LEAST(size)	.min = (size), .max = INT_MAX
#define OPT_INT_AT_LEAST	OPT_AT_LEAST(sizeof(int)), .copy = sizeof(int)

static int is_bound(struct rds_sock *rs)
{
	return rds_is_bound(rs) ? 0 : -ENOTCONN;
}

static int set_cancel(struct rds_sock *rs, const union opt_arg *arg, unsigned int len)
{
	struct rds_addr dst;
	int err;

	err = rds_sockaddr_cancel(arg, len, READ_ONCE(rs->scope), &dst);
	return err ?: rds_cancel(rs, &dst);
}

static int set_get_mr(struct rds_sock *rs, const union opt_arg *arg, unsigned int len)
{
	u64 cookie;

	return rds_is_bound(rs) ? rds_mr_register(rs, &arg->mr, &cookie) : -ENOTCONN;
}

/* Any peer may use the region, as ever: the destination is not looked at. */
static int set_get_mr_dest(struct rds_sock *rs, const union opt_arg *arg, unsigned int len)
{
	const struct rds_get_mr_args args = {
		.vec = arg->mr_dest.vec,
		.cookie_addr = arg->mr_dest.cookie_addr,
		.flags = arg->mr_dest.flags,
	};
	u64 cookie;

	return rds_is_bound(rs) ? rds_mr_register(rs, &args, &cookie) : -ENOTCONN;
}

static int set_free_mr(struct rds_sock *rs, const union opt_arg *arg, unsigned int len)
{
	const struct rds_free_mr_args *a = &arg->free_mr;

	return rds_mr_free(rs, a->cookie, a->flags & RDS_RDMA_INVALIDATE);
}

static int set_recverr(struct rds_sock *rs, const union opt_arg *arg, unsigned int len)
{
	WRITE_ONCE(rs->recverr, !!arg->val);
	return 0;
}

static int get_recverr(struct rds_sock *rs)
{
	return READ_ONCE(rs->recverr);
}

static int set_cong_monitor(struct rds_sock *rs, const union opt_arg *arg, unsigned int len)
{
	WRITE_ONCE(rs->monitor, !!arg->val);
	if (!arg->val) {
		atomic64_set(&rs->rx.cong_wait, 0);
		atomic64_set(&rs->rx.cong_ready, 0);
	}
	return 0;
}

static int no_transport_yet(struct rds_sock *rs)
{
	return READ_ONCE(rs->trans) ? -EOPNOTSUPP : 0;
}

static int set_transport(struct rds_sock *rs, const union opt_arg *arg, unsigned int len)
{
	struct rds_transport *t;
	int err = 0;

	if (arg->val < 0 || arg->val >= RDS_TRANS_COUNT)
		return -EINVAL;
	if (arg->val != RDS_TRANS_TCP && !net_eq(sock_net(&rs->sk), &init_net))
		return -EPROTOTYPE;
	t = rds_transport_get(arg->val);
	if (!t)
		return -ENOPROTOOPT;

	lock_sock(&rs->sk);
	if (rs->trans) {
		err = -EOPNOTSUPP;
	} else {
		rs->trans_chosen = true;
		WRITE_ONCE(rs->trans, t);
	}
	release_sock(&rs->sk);
	if (err)
		rds_transport_put(t);
	return err;
}

static int get_transport(struct rds_sock *rs)
{
	int type;

	lock_sock(&rs->sk);
	type = rs->trans ? rs->trans->type : RDS_TRANS_NONE;
	release_sock(&rs->sk);
	return type;
}

static bool traces_valid(const struct rds_rx_trace_so *t)
{
	int i;

	for (i = 0; i < t->rx_traces; i++) {
		if (t->rx_trace_pos[i] >= RDS_MSG_RX_DGRAM_TRACE_MAX)
			return false;
	}
	return true;
}

/* The errno is what the reference says. */
static int set_traces(struct rds_sock *rs, const union opt_arg *arg, unsigned int len)
{
	struct rds_rx_trace_so new = arg->traces;
	int err = 0;

	if (new.rx_traces > RDS_MSG_RX_DGRAM_TRACE_MAX)
		return -EFAULT;
	if (!traces_valid(&new)) {
		new = (struct rds_rx_trace_so){};
		err = -EFAULT;
	}

	lock_sock(&rs->sk);
	if (new.rx_traces && !rs->traces.rx_traces)
		static_branch_deferred_inc(&rds_rx_trace_key);
	else if (!new.rx_traces && rs->traces.rx_traces)
		static_branch_slow_dec_deferred(&rds_rx_trace_key);
	rs->traces = new;
	release_sock(&rs->sk);
	return err;
}

static int set_timestamp(struct rds_sock *rs, const union opt_arg *arg, unsigned int len)
{
	lock_sock(&rs->sk);
	sock_valbool_flag(&rs->sk, SOCK_RCVTSTAMP, arg->val);
	release_sock(&rs->sk);
	return 0;
}

static int set_timestamp_new(struct rds_sock *rs, const union opt_arg *arg, unsigned int len)
{
	lock_sock(&rs->sk);
	sock_valbool_flag(&rs->sk, SOCK_RCVTSTAMP, arg->val);
	sock_set_flag(&rs->sk, SOCK_TSTAMP_NEW);
	release_sock(&rs->sk);
	return 0;
}

static const struct rds_opt options[] = {
	{ .nr = RDS_CANCEL_SENT_TO, OPT_AT_LEAST(sizeof(struct sockaddr_in)),
	  .copy = sizeof(struct sockaddr_in6),
	  .size_err = -EINVAL, .ready = is_bound, .set = set_cancel },
	{ .nr = RDS_GET_MR, OPT_EXACT(sizeof(struct rds_get_mr_args)),
	  .size_err = -EINVAL, .set = set_get_mr },
	{ .nr = RDS_GET_MR_FOR_DEST, OPT_EXACT(sizeof(struct rds_get_mr_for_dest_args)),
	  .size_err = -EINVAL, .set = set_get_mr_dest },
	{ .nr = RDS_FREE_MR, OPT_EXACT(sizeof(struct rds_free_mr_args)),
	  .size_err = -EINVAL, .set = set_free_mr },
	{ .nr = RDS_RECVERR, OPT_INT_AT_LEAST,
	  .size_err = -EINVAL, .set = set_recverr, .get = get_recverr },
	{ .nr = RDS_CONG_MONITOR, OPT_INT_AT_LEAST,
	  .size_err = -EINVAL, .set = set_cong_monitor },
	{ .nr = SO_RDS_TRANSPORT, OPT_EXACT(sizeof(int)), .size_err = -EINVAL,
	  .ready = no_transport_yet, .set = set_transport, .get = get_transport },
	{ .nr = SO_RDS_MSG_RXPATH_LATENCY, OPT_EXACT(sizeof(struct rds_rx_trace_so)),
	  .size_err = -EFAULT, .set = set_traces },
	{ .nr = SO_TIMESTAMP_OLD, OPT_EXACT(sizeof(int)),
	  .size_err = -EFAULT, .set = set_timestamp },
	{ .nr = SO_TIMESTAMP_NEW, OPT_EXACT(sizeof(int)),
	  .size_err = -EFAULT, .set = set_timestamp_new },
};

static const struct rds_opt *option(int nr)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		if (options[i].nr == nr)
			return &options[i];
	}
	return NULL;
}

/* The generic options; the congestion thresholds follow the receive buffer. */
static int set_generic(struct socket *sock, int level, int opt, sockptr_t val, unsigned int len)
{
	int err = sock_setsockopt(sock, level, opt, val, len);

	if (!err && (opt == SO_RCVBUF || opt == SO_RCVBUFFORCE))
		rds_cong_update(rds_sk(sock->sk));
	return err;
}

/**
 * rds_setsockopt() - proto_ops.setsockopt
 * @sock: socket
 * @level: SOL_SOCKET or SOL_RDS
 * @opt: option
 * @val: argument
 * @len: its length
 *
 * Return: 0 or -errno.
 */
int rds_setsockopt(struct socket *sock, int level, int opt, sockptr_t val, unsigned int len)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	const struct rds_opt *o;
	union opt_arg arg = {};
	int err;

	if (level == SOL_SOCKET)
		return set_generic(sock, level, opt, val, len);
	if (level != SOL_RDS)
		return -ENOPROTOOPT;
	o = option(opt);
	if (!o)
		return -ENOPROTOOPT;

	err = o->ready ? o->ready(rs) : 0;
	if (err)
		return err;
	if (len < o->min || len > o->max)
		return o->size_err;
	len = min_t(unsigned int, len, o->copy ?: sizeof(arg));
	if (copy_from_sockptr(&arg, val, len))
		return -EFAULT;
	return o->set(rs, &arg, len);
}

/**
 * rds_getsockopt() - proto_ops.getsockopt
 * @sock: socket
 * @level: SOL_RDS; the generic layer keeps SOL_SOCKET for itself
 * @opt: option
 * @val: where to write the value
 * @optlen: length of @val, and of the answer
 *
 * Return: 0, the record size of an info source, or -errno.
 */
int rds_getsockopt(struct socket *sock, int level, int opt, char __user *val, int __user *optlen)
{
	const struct rds_opt *o;
	int len, v;

	if (level != SOL_RDS)
		return -ENOPROTOOPT;
	if (get_user(len, optlen))
		return -EFAULT;
	if ((opt >= RDS_INFO_FIRST && opt <= RDS_INFO_LAST) || opt == RDS_INFO_PATHS)
		return rds_info_getsockopt(sock, opt, val, optlen);

	o = option(opt);
	if (!o || !o->get)
		return -ENOPROTOOPT;
	if (len < (int)sizeof(int))
		return -EINVAL;
	v = o->get(rds_sk(sock->sk));
	if (put_user(v, (int __user *)val) || put_user((int)sizeof(int), optlen))
		return -EFAULT;
	return 0;
}
