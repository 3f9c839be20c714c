// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: the devices, and which addresses are theirs.
 *
 * A device qualifies if it is an InfiniBand or RoCE adapter (not iWARP) with fast registration.
 * Its protection domain lives as long as it does.  Who uses a device holds a reference; when it
 * is removed it is first taken off the list, so that nobody new finds it, then its links are
 * taken down, then its regions, and then the last reference is waited for.
 *
 * Whose address is it?  The GID tables know: RoCE makes a GID of each IP address of its network
 * device, and an IPoIB interface has the GID of its port in its hardware address.
 *
 * A path whose address is no device's does not wait for the end of its back-off: with a device,
 * and with each change of a GID table, those paths are dialled that have one by now.
 */
#include <linux/if_arp.h>
#include <linux/if_infiniband.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <rdma/ib_cache.h>

#include "ib.h"

static DEFINE_SPINLOCK(devices_lock);	/* devices, removing */
static LIST_HEAD(devices);
static struct ib_client rds_ib_client;

/**
 * rds_ib_dev_get() - our part of a device
 * @dev: device
 *
 * Context: process.
 * Return: counted, NULL if @dev does not qualify or is going away.
 */
struct rds_ib_device *rds_ib_dev_get(struct ib_device *dev)
{
	struct rds_ib_device *rdev, *found = NULL;

	spin_lock(&devices_lock);
	list_for_each_entry(rdev, &devices, node) {
		if (rdev->dev == dev) {
			refcount_inc(&rdev->ref);
			found = rdev;
			break;
		}
	}
	spin_unlock(&devices_lock);
	return found;
}

/**
 * rds_ib_dev_put() - give a reference back
 * @rdev: device
 *
 * Context: any.
 */
void rds_ib_dev_put(struct rds_ib_device *rdev)
{
	if (refcount_dec_and_test(&rdev->ref))
		complete(&rdev->gone);
}

/* ---- addresses ------------------------------------------------------------------- */

static struct net_device *netdev_of6(struct net *net, const struct in6_addr *addr, u32 scope)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct net_device *ndev;

	if (!ipv6_mod_enabled())
		return NULL;
	if (!scope)
		return ipv6_dev_find(net, addr, NULL);
	ndev = dev_get_by_index_rcu(net, scope);
	return ndev && ipv6_chk_addr(net, addr, ndev, 0) ? ndev : NULL;
#else
	return NULL;
#endif
}

/* Interface that has a local address, under RCU. */
static struct net_device *netdev_of(struct net *net, const struct in6_addr *addr, u32 scope)
{
	if (ipv6_addr_v4mapped(addr))
		return __ip_dev_find(net, addr->s6_addr32[3], false);
	return netdev_of6(net, addr, scope);
}

static bool has_gid(struct ib_device *dev, const union ib_gid *gid, enum ib_gid_type type,
		    struct net_device *ndev)
{
	const struct ib_gid_attr *attr = rdma_find_gid(dev, gid, type, ndev);

	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

/* Is @addr of interface @ndev one that @dev serves? */
static bool serves(struct ib_device *dev, const struct in6_addr *addr, struct net_device *ndev)
{
	union ib_gid gid;

	if (ndev->type == ARPHRD_INFINIBAND) {
		memcpy(gid.raw, ndev->dev_addr + INFINIBAND_ALEN - sizeof(gid), sizeof(gid));
		return has_gid(dev, &gid, IB_GID_TYPE_IB, NULL);
	}
	memcpy(gid.raw, addr, sizeof(gid));
	return has_gid(dev, &gid, IB_GID_TYPE_ROCE_UDP_ENCAP, ndev) ||
	       has_gid(dev, &gid, IB_GID_TYPE_ROCE, ndev);
}

/**
 * rds_ib_dev_for_addr() - the device that serves a local address now
 * @net: namespace
 * @addr: address, IPv4 in mapped form
 * @scope: interface of a link-local address, else 0
 *
 * Context: process.
 * Return: counted, or NULL.
 */
struct rds_ib_device *rds_ib_dev_for_addr(struct net *net, const struct in6_addr *addr, u32 scope)
{
	struct rds_ib_device *rdev, *found = NULL;
	struct net_device *ndev;

	if (!net_eq(net, &init_net))
		return NULL;
	rcu_read_lock();
	ndev = netdev_of(net, addr, scope);
	spin_lock(&devices_lock);
	list_for_each_entry(rdev, &devices, node) {
		if (ndev && serves(rdev->dev, addr, ndev)) {
			refcount_inc(&rdev->ref);
			found = rdev;
			break;
		}
	}
	spin_unlock(&devices_lock);
	rcu_read_unlock();
	return found;
}

/**
 * rds_ib_dev_lost() - has an address gone from a device to another one?
 * @rdev: device that had it
 * @addr: address, IPv4 in mapped form
 * @scope: interface of a link-local address, else 0
 *
 * Context: process.
 * Return: false also if no device has it.
 */
bool rds_ib_dev_lost(struct rds_ib_device *rdev, const struct in6_addr *addr, u32 scope)
{
	bool own = false, other = false;
	struct rds_ib_device *d;
	struct net_device *ndev;

	rcu_read_lock();
	ndev = netdev_of(&init_net, addr, scope);
	spin_lock(&devices_lock);
	list_for_each_entry(d, &devices, node) {
		if (!ndev || !serves(d->dev, addr, ndev))
			continue;
		own |= d == rdev;
		other |= d != rdev;
	}
	spin_unlock(&devices_lock);
	rcu_read_unlock();
	return other && !own;
}

/**
 * rds_ib_owns_addr() - rds_transport.owns_addr
 * @net: namespace
 * @addr: address
 * @scope: interface of a link-local address, else 0
 */
bool rds_ib_owns_addr(struct net *net, const struct in6_addr *addr, u32 scope)
{
	struct rds_ib_device *rdev = rds_ib_dev_for_addr(net, addr, scope);

	if (rdev)
		rds_ib_dev_put(rdev);
	return rdev;
}

/* ---- paths without a device ---------------------------------------------------------- */

/* A path that is on its way to its back-off when it could be dialled is looked at again. */
#define WAITERS_INTERVAL	(HZ / 20 + 1)

static void wake_waiters(struct work_struct *work);
static DECLARE_DELAYED_WORK(waiters, wake_waiters);

static void wake_waiter(struct rds_path *p, void *arg)
{
	struct rds_ib_path *ib = rds_path_priv(p);
	bool *again = arg;

	if (!READ_ONCE(ib->no_device) ||
	    !rds_ib_owns_addr(&init_net, rds_path_laddr(p), rds_path_scope(p)))
		return;
	rds_conn_nudged(rds_path_conn(p));
	*again = true;
}

static void wake_waiters(struct work_struct *work)
{
	bool again = false;

	rds_transport_walk_paths(&rds_ib_transport, &init_net, true, wake_waiter, &again);
	if (again)
		queue_delayed_work(rds_ib_wq, &waiters, WAITERS_INTERVAL);
}

/* A device has other addresses: who waits for one, and which regions have lost theirs? */
static void addresses_changed(void)
{
	struct rds_ib_device *rdev;

	mod_delayed_work(rds_ib_wq, &waiters, 0);
	spin_lock(&devices_lock);
	if (!list_is_singular(&devices)) {
		list_for_each_entry(rdev, &devices, node)
			rds_ib_mr_look(rdev);
	}
	spin_unlock(&devices_lock);
}

static void device_event(struct ib_event_handler *handler, struct ib_event *event)
{
	if (event->event == IB_EVENT_GID_CHANGE)
		addresses_changed();
}

/**
 * rds_ib_dev_for_path() - the device to dial with
 * @ib: path
 *
 * Context: process.
 * Return: counted; or NULL, then the path is dialled again when there is one.
 */
struct rds_ib_device *rds_ib_dev_for_path(struct rds_ib_path *ib)
{
	struct rds_ib_device *rdev;

	/* Before the look: what comes after it finds the path waiting. */
	smp_store_mb(ib->no_device, true);
	rdev = rds_ib_dev_for_addr(&init_net, rds_path_laddr(ib->path), rds_path_scope(ib->path));
	if (rdev)
		WRITE_ONCE(ib->no_device, false);
	return rdev;
}

/* ---- coming and going ---------------------------------------------------------------- */

/* Parts of a device for its management are of the same type, and have no port to connect by. */
static bool has_port(const struct ib_device *dev)
{
	u32 port;

	rdma_for_each_port(dev, port)
		if (rdma_ib_or_roce(dev, port))
			return true;
	return false;
}

static bool qualifies(const struct ib_device *dev)
{
	if (dev->node_type != RDMA_NODE_IB_CA || !has_port(dev)) {
		dev_info(&dev->dev, "rds: not an InfiniBand or RoCE device, not used\n");
		return false;
	}
	/* A SEND is a header and its payload. */
	if (dev->attrs.max_send_sge < 2 || dev->attrs.max_recv_sge < 2) {
		dev_info(&dev->dev, "rds: work requests of one segment only, not used\n");
		return false;
	}
	if (!(dev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS)) {
		dev_info(&dev->dev, "rds: no fast registration of memory, not used\n");
		return false;
	}
	return true;
}

/*
 * What a device tells of atomics holds for programs; which of them its driver posts for the kernel
 * is written nowhere.  One that it does not post costs the link, and the operations of everybody.
 */
static void init_atomics(struct rds_ib_device *rdev)
{
	const struct ib_device_attr *a = &rdev->dev->attrs;

	rdev->atomics = a->atomic_cap != IB_ATOMIC_NONE;
	rdev->masked_atomics = a->masked_atomic_cap != IB_ATOMIC_NONE;
	switch (rdev->dev->ops.driver_id) {
	case RDMA_DRIVER_MLX5:
		rdev->atomics = false;
		fallthrough;
	case RDMA_DRIVER_BNXT_RE:
	case RDMA_DRIVER_VMW_PVRDMA:
		rdev->masked_atomics = false;
		break;
	default:
		break;
	}
}

static void init_dev(struct rds_ib_device *rdev, struct ib_device *dev)
{
	const struct ib_device_attr *a = &dev->attrs;

	rdev->dev = dev;
	refcount_set(&rdev->ref, 1);
	init_completion(&rdev->gone);
	spin_lock_init(&rdev->lock);
	INIT_LIST_HEAD(&rdev->links);
	rdev->max_sge = min_t(u32, a->max_send_sge, RDS_IB_MAX_SGE);
	rdev->max_wr = a->max_qp_wr;
	rdev->max_responder = a->max_qp_rd_atom;
	rdev->max_initiator = a->max_qp_init_rd_atom;
	init_atomics(rdev);
}

static int rds_ib_add_one(struct ib_device *dev)
{
	struct rds_ib_device *rdev;
	int err;

	if (!qualifies(dev))
		return -EOPNOTSUPP;
	rdev = kzalloc(sizeof(*rdev), GFP_KERNEL);
	if (!rdev)
		return -ENOMEM;
	init_dev(rdev, dev);
	rdev->pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(rdev->pd)) {
		err = PTR_ERR(rdev->pd);
		goto err_free;
	}
	err = rds_ib_mr_add(rdev);
	if (err)
		goto err_pd;

	ib_set_client_data(dev, &rds_ib_client, rdev);
	spin_lock(&devices_lock);
	list_add_tail(&rdev->node, &devices);
	spin_unlock(&devices_lock);
	INIT_IB_EVENT_HANDLER(&rdev->events, dev, device_event);
	ib_register_event_handler(&rdev->events);
	addresses_changed();
	return 0;

err_pd:
	ib_dealloc_pd(rdev->pd);
err_free:
	kfree(rdev);
	return err;
}

static void rds_ib_remove_one(struct ib_device *dev, void *data)
{
	struct rds_ib_device *rdev = data;

	ib_unregister_event_handler(&rdev->events);
	spin_lock(&devices_lock);
	WRITE_ONCE(rdev->removing, true);
	list_del(&rdev->node);
	spin_unlock(&devices_lock);

	rds_ib_links_gone(rdev);
	rds_ib_mr_remove(rdev);
	rds_ib_dev_put(rdev);
	wait_for_completion(&rdev->gone);
	ib_dealloc_pd(rdev->pd);
	kfree(rdev->mr);
	kfree(rdev);
}

static struct ib_client rds_ib_client = {
	.name	= "rds_rdma",
	.add	= rds_ib_add_one,
	.remove	= rds_ib_remove_one,
};

/**
 * rds_ib_device_init() - begin to use devices, those that there are and those to come
 *
 * Return: 0 or -errno.
 */
int rds_ib_device_init(void)
{
	int err = rds_ib_mr_init();

	if (err)
		return err;
	err = ib_register_client(&rds_ib_client);
	if (err) {
		cancel_delayed_work_sync(&waiters);
		rds_ib_mr_exit();
	}
	return err;
}

/* rds_ib_device_exit() - let go of all devices; there are no links any more */
void rds_ib_device_exit(void)
{
	ib_unregister_client(&rds_ib_client);
	cancel_delayed_work_sync(&waiters);
	rds_ib_mr_exit();
}
