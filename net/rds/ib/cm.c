// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: connections are made with the RDMA connection manager.
 *
 * An incoming request is judged in the CM's handler.  A good one is parked (park.c): its id stays
 * as it is, unanswered, until the core lets start() adopt it, or discards it.  All handlers of an
 * id run under the CM's lock for it; an id changes hands, from parked request to link, under that
 * lock.
 */
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "ib.h"

/* A confirmation that takes longer was lost. */
#define RDS_IB_CONFIRM_DELAY	(HZ / 5)
#define RDS_IB_RESOLVE_MS	5000

/*
 * The neighbour's answer may come between the resolver's look at the neighbour and the moment it
 * waits for news of it; then it looks again when the time is over.
 */
#define RDS_IB_ADDR_MS		1000
#define RDS_IB_BACKLOG		128
/* What a reject says, in the byte order of the host. */
#define RDS_IB_REJECT		1

static struct rdma_cm_id *rds_ib_listener4;
static struct rdma_cm_id *rds_ib_listener6;

/**
 * rds_ib_reject() - refuse a request
 * @id: the CM's
 */
void rds_ib_reject(struct rdma_cm_id *id)
{
	int why = RDS_IB_REJECT;

	rdma_reject(id, &why, sizeof(why), IB_CM_REJ_CONSUMER_DEFINED);
}

/* ---- what we say ---------------------------------------------------------------- */

static bool rds_ib_is_v6(const struct rds_ib_link *l)
{
	return !ipv6_addr_v4mapped(rds_path_laddr(l->ib->path));
}

static bool rds_ib_offers_credits(const struct rds_ib_link *l)
{
	return READ_ONCE(rds_ib_sysctl_flow_control) && l->rx.ring.nr >= RDS_IB_CREDIT_LEAST;
}

/* Private data of a request or reply; buffers were posted.  Returns its length. */
static size_t rds_ib_say(struct rds_ib_link *l, u8 *buf)
{
	const struct in6_addr *laddr = rds_path_laddr(l->ib->path);
	const struct in6_addr *faddr = rds_path_faddr(l->ib->path);
	bool v6 = rds_ib_is_v6(l);
	struct rds_ib_private priv = {
		.instance = rds_instance(l->ib->path),
		.minors = RDS_IB_MINORS,
		.major = l->version >> 8,
		.minor = l->version & 0xff,
		.tos = l->tos,
	};

	memcpy(priv.saddr, v6 ? laddr->s6_addr : laddr->s6_addr + 12, v6 ? 16 : 4);
	memcpy(priv.daddr, v6 ? faddr->s6_addr : faddr->s6_addr + 12, v6 ? 16 : 4);
	/* A passive end answers an offer, an active one makes it. */
	l->credit.tell = l->adopted ? l->credit.on : rds_ib_offers_credits(l);
	if (l->credit.tell)
		priv.credit = rds_ib_credit_first(&l->credit);
	return rds_ib_private_build(buf, &priv, v6);
}

/* What a peer's private data means for the link. */
static void rds_ib_heard(struct rds_ib_link *l, const struct rds_ib_private *priv)
{
	u64 received = rds_path_peer_instance(l->ib->path, priv->instance);

	l->ours = priv->instance;
	spin_lock_bh(&l->lock);
	/* Said with our first frame: it does not wait for one of the peer's, behind many others. */
	l->ack_seq = received;
	l->credit.on = priv->credit && rds_ib_offers_credits(l);
	rds_ib_credit_got(&l->credit, priv->credit);
	spin_unlock_bh(&l->lock);
}

static u8 rds_ib_depth(u32 device, u32 offered)
{
	return min3(device, offered, (u32)U8_MAX);
}

/* ---- our own request ------------------------------------------------------------- */

static int rds_ib_addr_resolved(struct rds_ib_link *l)
{
	int err = rds_ib_link_attach(l);

	if (err)
		return err;
	/* Who asks for nothing gets what the administrator has set (default_roce_tos). */
	if (l->tos)
		rdma_set_service_type(l->id, l->tos);
	err = rdma_set_min_rnr_timer(l->id, IB_RNR_TIMER_000_32);
	if (err)
		return err;
	return rdma_resolve_route(l->id, RDS_IB_RESOLVE_MS);
}

static int rds_ib_route_resolved(struct rds_ib_link *l)
{
	struct rdma_conn_param param = {};
	u8 buf[RDS_IB_PRIVATE_MAX];
	int err;

	/* Nobody would hear it, and nobody could be told that it is over (leave.c). */
	if (rds_ib_port_down(l->id))
		return -ENETDOWN;
	if (l->tos)
		l->id->route.path_rec->sl = l->tos & 0xf;
	l->sl = l->id->route.path_rec->sl;
	err = rds_ib_link_setup(l);
	if (err)
		return err;
	param.private_data_len = rds_ib_say(l, buf);
	param.private_data = buf;
	param.responder_resources = rds_ib_depth(l->rdev->max_responder, U8_MAX);
	param.initiator_depth = rds_ib_depth(l->rdev->max_initiator, U8_MAX);
	param.retry_count = rds_ib_retries(l->id);
	param.rnr_retry_count = 7;
	l->asked = jiffies;
	smp_store_release(&l->requested, true);	/* after the time */
	return rdma_connect_locked(l->id, &param);
}

static int rds_ib_established(struct rds_ib_link *l, const struct rdma_cm_event *ev)
{
	struct rds_ib_private priv;

	WRITE_ONCE(l->confirmed, true);
	if (test_bit(RDS_IB_UP, &l->flags))
		return 0;
	if (!l->adopted &&
	    rds_ib_private_parse(ev->param.conn.private_data, ev->param.conn.private_data_len,
				 rds_ib_is_v6(l), &priv) && priv.major) {
		l->version = RDS_IB_VERSION(priv.major, priv.minor);
		if (!rds_ib_version_ok(l->version))
			return -EPROTONOSUPPORT;
		rds_ib_heard(l, &priv);
	}
	rds_ib_link_up(l);
	return 0;
}

static int rds_ib_rejected(struct rds_ib_link *l, struct rdma_cm_event *ev)
{
	/* So ends a link that its peer was not known to have confirmed. */
	if (test_bit(RDS_IB_UP, &l->flags)) {
		WRITE_ONCE(l->disconnected, true);
		return -ECONNRESET;
	}
	rds_ib_count(RDS_IB_REJECTED);
	rds_ib_say_refused(l, ev->status);
	return -ECONNREFUSED;
}

/* The link is being stopped: only its end is of interest. */
static void rds_ib_event_stopping(struct rds_ib_link *l, const struct rdma_cm_event *ev)
{
	if (ev->event != RDMA_CM_EVENT_DISCONNECTED && ev->event != RDMA_CM_EVENT_TIMEWAIT_EXIT &&
	    ev->event != RDMA_CM_EVENT_REJECTED && ev->event != RDMA_CM_EVENT_DEVICE_REMOVAL)
		return;
	WRITE_ONCE(l->disconnected, true);
	rds_path_stop_again(l->ib->path);
}

/* The CM's handler for the id of a link. */
static int rds_ib_link_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rds_ib_link *l = id->context;
	int err = 0;

	rds_ib_count(RDS_IB_EVT_HANDLER_CALL);
	if (ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		l->removed = true;
	if (l->stopping) {
		rds_ib_event_stopping(l, ev);
		return 0;
	}
	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		err = rds_ib_addr_resolved(l);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		err = rds_ib_route_resolved(l);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		err = rds_ib_established(l, ev);
		break;
	case RDMA_CM_EVENT_REJECTED:
		err = rds_ib_rejected(l, ev);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		WRITE_ONCE(l->disconnected, true);
		err = -ECONNRESET;
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rds_ib_count(RDS_IB_DEVICE_REMOVED);
		WRITE_ONCE(l->disconnected, true);
		err = -ENODEV;
		break;
	default:
		err = ev->status < 0 ? ev->status : -ENOTCONN;
	}
	if (err)
		rds_ib_link_drop(l, err);
	return 0;
}

/**
 * rds_ib_sockaddr() - an address as the rest of the kernel wants it
 * @ss: filled in
 * @addr: address
 * @scope: interface of a link-local address, else 0
 * @port: with our port, or without one
 *
 * Context: any.
 */
void rds_ib_sockaddr(struct sockaddr_storage *ss, const struct in6_addr *addr, u32 scope, bool port)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (ipv6_addr_v4mapped(addr)) {
		sin->sin_family = AF_INET;
		sin->sin_addr.s_addr = addr->s6_addr32[3];
		sin->sin_port = port ? htons(RDS_IB_PORT4) : 0;
		return;
	}
	sin6->sin6_family = AF_INET6;
	sin6->sin6_addr = *addr;
	sin6->sin6_port = port ? htons(RDS_IB_PORT6) : 0;
	if (ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL)
		sin6->sin6_scope_id = scope;
}

/**
 * rds_ib_confirm_work() - the peer uses the link, and has not confirmed it
 * @work: &rds_ib_link.confirm
 *
 * The queue pair could send since we have replied: the link is up.  The CM isn't told, see
 * rdma_notify(): a link that ends, on either side, before it has worked off what it is told leaves
 * it repeating the reply to nobody, and neither the id nor the device can go for a minute.  As long
 * as it knows nothing it repeats the reply to a peer that will confirm, and refuses the peer when
 * the id goes.
 */
void rds_ib_confirm_work(struct work_struct *work)
{
	struct rds_ib_link *l = container_of(to_delayed_work(work), struct rds_ib_link, confirm);

	rdma_lock_handler(l->id);
	if (!l->stopping && !test_bit(RDS_IB_UP, &l->flags))
		rds_ib_link_up(l);
	rdma_unlock_handler(l->id);
}

/**
 * rds_ib_confirm_later() - the peer sends on a link that is not up yet
 * @l: link
 *
 * It has our reply, then, and its confirmation is late, or lost.
 *
 * Context: any.
 */
void rds_ib_confirm_later(struct rds_ib_link *l)
{
	queue_delayed_work(rds_ib_wq, &l->confirm, RDS_IB_CONFIRM_DELAY);
}

/**
 * rds_ib_dial() - begin to connect
 * @l: link, published
 *
 * Return: 0, the outcome is told by upcalls; or -errno.
 */
int rds_ib_dial(struct rds_ib_link *l)
{
	struct rds_path *p = l->ib->path;
	struct sockaddr_storage src, dst;
	struct rds_ib_device *rdev;
	struct rdma_cm_id *id;
	int err;

	/*
	 * The CM warns about a device that goes away inside rdma_resolve_addr().  Ours goes
	 * before the CM's, and waits for this reference.
	 */
	rdev = rds_ib_dev_for_path(l->ib);
	if (!rdev)
		return -ENODEV;
	l->version = RDS_IB_VERSION_3_1;
	id = rdma_create_id(&init_net, rds_ib_link_event, l, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		err = PTR_ERR(id);
		goto out;
	}
	l->id = id;
	rds_ib_sockaddr(&src, rds_path_laddr(p), rds_path_scope(p), false);
	rds_ib_sockaddr(&dst, rds_path_faddr(p), rds_path_scope(p), true);
	err = rdma_resolve_addr(id, (struct sockaddr *)&src, (struct sockaddr *)&dst,
				RDS_IB_ADDR_MS);
out:
	rds_ib_dev_put(rdev);
	return err;
}

/* ---- requests of peers -------------------------------------------------------------- */

/**
 * rds_ib_accept() - answer a parked request
 * @l: link, published; takes over the id of @pk
 * @pk: the request; the caller frees it
 *
 * Return: 0, the outcome is told by upcalls; or -errno.
 */
int rds_ib_accept(struct rds_ib_link *l, struct rds_ib_parked *pk)
{
	struct rdma_conn_param param = {};
	u8 buf[RDS_IB_PRIVATE_MAX];
	int err;

	rdma_lock_handler(pk->id);
	l->id = pk->id;
	l->version = pk->version;
	l->sl = l->tos & 0xf;
	pk->id->context = l;
	pk->id->event_handler = rds_ib_link_event;
	err = rds_ib_link_attach(l);
	if (!err)
		err = rdma_set_min_rnr_timer(l->id, IB_RNR_TIMER_000_32);
	if (!err)
		err = rds_ib_link_setup(l);
	if (!err) {
		rds_ib_heard(l, &pk->priv);
		param.private_data_len = rds_ib_say(l, buf);
		param.private_data = buf;
		param.responder_resources = rds_ib_depth(l->rdev->max_responder, pk->responder);
		param.initiator_depth = rds_ib_depth(l->rdev->max_initiator, pk->initiator);
		param.retry_count = rds_ib_retries(l->id);
		param.rnr_retry_count = 7;
		err = rdma_accept(l->id, &param);
	}
	rdma_unlock_handler(pk->id);
	return err;
}

/**
 * struct rds_ib_caller - who calls whom
 * @laddr: our address
 * @faddr: the peer's
 * @scope: interface of a link-local connection, else 0
 */
struct rds_ib_caller {
	struct in6_addr laddr;
	struct in6_addr faddr;
	u32 scope;
};

static void rds_ib_cm_addr(const struct sockaddr_storage *ss, struct in6_addr *addr)
{
	if (ss->ss_family == AF_INET6)
		*addr = ((const struct sockaddr_in6 *)ss)->sin6_addr;
	else
		ipv6_addr_set_v4mapped(((const struct sockaddr_in *)ss)->sin_addr.s_addr, addr);
}

/*
 * Who is it that we will talk to?  On RoCE the GID is made of the address, so nobody can name
 * somebody else's; on InfiniBand nothing here knows which address a port has.
 */
static bool rds_ib_is_caller(const struct rdma_cm_id *id, const struct in6_addr *faddr)
{
	return !rdma_protocol_roce(id->device, id->port_num) ||
	       !memcmp(id->route.path_rec->dgid.raw, faddr, sizeof(*faddr));
}

/*
 * The addresses of the private data count, but they have to be those of the CM: both are what the
 * caller says of himself.
 */
static bool rds_ib_identify(struct rdma_cm_id *id, const struct rds_ib_private *priv, bool v6,
			    struct rds_ib_caller *c)
{
	struct in6_addr src, dst;
	__be32 a;

	memset(c, 0, sizeof(*c));
	if (v6) {
		memcpy(&c->laddr, priv->daddr, sizeof(c->laddr));
		memcpy(&c->faddr, priv->saddr, sizeof(c->faddr));
	} else {
		memcpy(&a, priv->daddr, sizeof(a));
		ipv6_addr_set_v4mapped(a, &c->laddr);
		memcpy(&a, priv->saddr, sizeof(a));
		ipv6_addr_set_v4mapped(a, &c->faddr);
	}
	if ((ipv6_addr_type(&c->laddr) | ipv6_addr_type(&c->faddr)) & IPV6_ADDR_LINKLOCAL)
		c->scope = id->route.addr.dev_addr.bound_dev_if;
	rds_ib_cm_addr(&id->route.addr.src_addr, &src);
	rds_ib_cm_addr(&id->route.addr.dst_addr, &dst);
	return ipv6_addr_equal(&src, &c->laddr) && ipv6_addr_equal(&dst, &c->faddr) &&
	       rds_ib_is_caller(id, &c->faddr);
}

/* Find the connection and give it the request. */
static int rds_ib_place(const struct rds_ib_caller *caller, struct rds_ib_parked *pk)
{
	struct rds_conn *c;
	struct rds_path *p;
	int err;

	c = rds_conn_find_or_create(&init_net, &rds_ib_transport, &caller->laddr, &caller->faddr,
				    caller->scope, pk->priv.tos);
	if (IS_ERR(c))
		return PTR_ERR(c);
	p = rds_conn_accept_path(c, 0);
	err = p ? rds_ib_park(p, pk) : -ENOMEM;
	rds_conn_put(c);
	return err;
}

static int rds_ib_request(struct rdma_cm_id *id, const struct rdma_cm_event *ev, bool v6)
{
	const struct rdma_conn_param *param = &ev->param.conn;
	struct rds_ib_device *rdev;
	struct rds_ib_caller caller;
	struct rds_ib_parked *pk;
	int err = -EPROTO;
	bool room;

	rdev = rds_ib_dev_get(id->device);
	if (!rdev)
		return -ENODEV;
	room = rds_ib_link_room(rdev);
	rds_ib_dev_put(rdev);
	if (!room)
		return -ENOSPC;

	pk = kzalloc(sizeof(*pk), GFP_KERNEL);
	if (!pk)
		return -ENOMEM;
	if (!rds_ib_private_parse(param->private_data, param->private_data_len, v6, &pk->priv))
		goto err_free;
	pk->version = rds_ib_version_accept(&pk->priv);
	if (!pk->version || !rds_ib_identify(id, &pk->priv, v6, &caller))
		goto err_free;
	pk->id = id;
	pk->responder = param->responder_resources;
	pk->initiator = param->initiator_depth;
	/* Before start() may find it. */
	id->context = pk;
	id->event_handler = rds_ib_parked_event;
	err = rds_ib_place(&caller, pk);
	if (err)
		goto err_free;
	return 0;

err_free:
	kfree(pk);
	return err;
}

/* The CM's handler for a listener, and for each id that comes by it. */
static int rds_ib_listen_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	bool v6 = id->context;
	int err;

	rds_ib_count(RDS_IB_EVT_HANDLER_CALL);
	if (ev->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	err = rds_ib_request(id, ev, v6);
	if (err) {
		rds_ib_count(RDS_IB_CONNECT_REFUSED);
		pr_debug("rds: a connection request is refused: %d\n", err);
		rds_ib_reject(id);
	}
	return err;
}

static struct rdma_cm_id *rds_ib_listen_on(const struct in6_addr *any, bool v6)
{
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;
	int err;

	id = rdma_create_id(&init_net, rds_ib_listen_event, v6 ? (void *)&rds_ib_listener6 : NULL,
			    RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return id;
	rds_ib_sockaddr(&ss, any, 0, true);
	/* Otherwise the wildcard of IPv6 takes IPv4 as well. */
	err = v6 ? rdma_set_afonly(id, 1) : 0;
	if (!err)
		err = rdma_bind_addr(id, (struct sockaddr *)&ss);
	if (!err)
		err = rdma_listen(id, RDS_IB_BACKLOG);
	if (!err)
		return id;
	rdma_destroy_id(id);
	return ERR_PTR(err);
}

/**
 * rds_ib_listen() - wait for requests
 *
 * Without IPv6 on this machine there is only one listener.
 *
 * Return: 0 or -errno.
 */
int rds_ib_listen(void)
{
	struct in6_addr any4;

	ipv6_addr_set_v4mapped(htonl(INADDR_ANY), &any4);
	rds_ib_listener4 = rds_ib_listen_on(&any4, false);
	if (IS_ERR(rds_ib_listener4))
		return PTR_ERR(rds_ib_listener4);
	rds_ib_listener6 = rds_ib_listen_on(&in6addr_any, true);
	if (!IS_ERR(rds_ib_listener6))
		return 0;
	/* Lack of memory is not lack of IPv6: then there would be none until the next start. */
	if (rds_ib_listener6 == ERR_PTR(-ENOMEM)) {
		rdma_destroy_id(rds_ib_listener4);
		return -ENOMEM;
	}
	pr_info("rds: no connections over IPv6: %ld\n", PTR_ERR(rds_ib_listener6));
	rds_ib_listener6 = NULL;
	return 0;
}

/**
 * rds_ib_unlisten() - no more requests
 */
void rds_ib_unlisten(void)
{
	if (rds_ib_listener6)
		rdma_destroy_id(rds_ib_listener6);
	rdma_destroy_id(rds_ib_listener4);
}
