/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Network namespaces for the RDS socket tests, made with rtnetlink: no `ip`
 * program is started, so a test's set-up costs milliseconds.
 *
 *   ns_local()  one namespace, loopback only, but with more addresses on lo:
 *               127.0.0.1, ::1          owned by the loopback transport
 *               10.9.0.1, 10.9.0.2      owned by the TCP transport
 *               fd09::1, fd09::2        owned by the TCP transport
 *               fe80::9%lo              link-local
 *   ns_pair()   the above as rds_ns[0], a second namespace rds_ns[1] and a veth
 *               pair, eth0 in both: 10.1.0.1 <-> 10.1.0.2, fd00:1::1 <-> ::2,
 *               fe80::1 <-> fe80::2
 *
 * The caller stays in rds_ns[0]. Each returns 0 or a negative errno.
 */
#ifndef RDS_NETNS_H
#define RDS_NETNS_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../patience.h"

static int rds_ns[2] = { -1, -1 };

struct nl_req {
	struct nlmsghdr n;
	char body[1024];
};

static inline void *nl_tail(struct nl_req *r)
{
	return (char *)r + NLMSG_ALIGN(r->n.nlmsg_len);
}

static inline struct rtattr *nl_attr(struct nl_req *r, int type,
				     const void *data, size_t len)
{
	struct rtattr *a = nl_tail(r);

	a->rta_type = type;
	a->rta_len = RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	r->n.nlmsg_len = NLMSG_ALIGN(r->n.nlmsg_len) + RTA_ALIGN(a->rta_len);
	return a;
}

static inline void nl_end(struct nl_req *r, struct rtattr *a)
{
	a->rta_len = (char *)nl_tail(r) - (char *)a;
}

/* Sends one request in the current namespace and waits for its answer. */
static inline int nl_talk(struct nl_req *r)
{
	struct {
		struct nlmsghdr n;
		struct nlmsgerr e;
		char pad[1024];
	} ans;
	int fd, ret;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -errno;
	r->n.nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	if (send(fd, r, r->n.nlmsg_len, 0) < 0 ||
	    recv(fd, &ans, sizeof(ans), 0) < 0)
		ret = -errno;
	else
		ret = ans.n.nlmsg_type == NLMSG_ERROR ? ans.e.error : -EPROTO;
	close(fd);
	return ret;
}

static inline void nl_init(struct nl_req *r, int type, int flags, size_t len)
{
	memset(r, 0, sizeof(*r));
	r->n.nlmsg_type = type;
	r->n.nlmsg_flags = flags;
	r->n.nlmsg_len = NLMSG_LENGTH(len);
}

static inline int nl_link_flags(const char *name, int up)
{
	struct nl_req r;
	struct ifinfomsg *ifi = (void *)r.body;

	nl_init(&r, RTM_NEWLINK, 0, sizeof(*ifi));
	ifi->ifi_index = if_nametoindex(name);
	ifi->ifi_change = IFF_UP;
	ifi->ifi_flags = up ? IFF_UP : 0;
	return nl_talk(&r);
}

static inline int nl_addr(const char *ifname, const char *addr, int plen, int add)
{
	struct nl_req r;
	struct ifaddrmsg *ifa = (void *)r.body;
	unsigned char bin[16];
	int v6 = !!strchr(addr, ':');

	nl_init(&r, add ? RTM_NEWADDR : RTM_DELADDR,
		add ? NLM_F_CREATE | NLM_F_EXCL : 0, sizeof(*ifa));
	ifa->ifa_family = v6 ? AF_INET6 : AF_INET;
	ifa->ifa_prefixlen = plen;
	ifa->ifa_flags = v6 ? IFA_F_NODAD : 0;
	ifa->ifa_index = if_nametoindex(ifname);
	if (inet_pton(ifa->ifa_family, addr, bin) != 1)
		return -EINVAL;
	nl_attr(&r, IFA_LOCAL, bin, v6 ? 16 : 4);
	nl_attr(&r, IFA_ADDRESS, bin, v6 ? 16 : 4);
	return nl_talk(&r);
}

/* eth0 here, its peer eth0 in the namespace behind nsfd. */
static inline int nl_veth(int nsfd)
{
	struct nl_req r;
	struct rtattr *info, *data, *peer;
	struct ifinfomsg ifi = {};
	__u32 ns = nsfd;

	nl_init(&r, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(ifi));
	nl_attr(&r, IFLA_IFNAME, "eth0", 5);
	info = nl_attr(&r, IFLA_LINKINFO, NULL, 0);
	nl_attr(&r, IFLA_INFO_KIND, "veth", 5);
	data = nl_attr(&r, IFLA_INFO_DATA, NULL, 0);
	peer = nl_attr(&r, VETH_INFO_PEER, &ifi, sizeof(ifi));
	nl_attr(&r, IFLA_IFNAME, "eth0", 5);
	nl_attr(&r, IFLA_NET_NS_FD, &ns, sizeof(ns));
	nl_end(&r, peer);
	nl_end(&r, data);
	nl_end(&r, info);
	return nl_talk(&r);
}

static inline int ns_enter(int fd)
{
	return setns(fd, CLONE_NEWNET) ? -errno : 0;
}

/* Moves the caller to the machine's first namespace, where the sysctls are. */
static inline int ns_initial(void)
{
	int fd = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC);
	int ret = fd < 0 ? -errno : ns_enter(fd);

	close(fd);
	return ret;
}

/* A fresh namespace with lo up; the caller is moved into it. */
static inline int ns_fresh(void)
{
	int fd, ret;

	if (unshare(CLONE_NEWNET))
		return -errno;
	ret = nl_link_flags("lo", 1);
	if (ret)
		return ret;
	fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * Waits until what is sent to this IPv6 address of ours arrives: the kernel makes its local route
 * in a work item, and until then a SYN to it is answered with "no route".
 */
static inline int ns_reach(const char *addr)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	struct pollfd pfd = { .events = POLLIN };
	socklen_t len = sizeof(sin6);
	int ret = -1, i;

	inet_pton(AF_INET6, addr, &sin6.sin6_addr);
	pfd.fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (pfd.fd < 0 || bind(pfd.fd, (void *)&sin6, len) ||
	    getsockname(pfd.fd, (void *)&sin6, &len))
		goto out;
	for (i = 0; i < 1000 * slow() && ret < 1; i++) {
		sendto(pfd.fd, "x", 1, 0, (void *)&sin6, len);
		ret = poll(&pfd, 1, 10);
		/* an error that came back */
		if (ret == 1 && !(pfd.revents & POLLIN))
			ret = 0;
	}
	errno = ENETUNREACH;
out:
	ret = ret == 1 ? 0 : -errno;
	close(pfd.fd);
	return ret;
}

static inline int ns_lo_addrs(void)
{
	static const char * const addr[] = {
		"10.9.0.1", "10.9.0.2", "fd09::1", "fd09::2",
	};
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(addr); i++) {
		ret = nl_addr("lo", addr[i], strchr(addr[i], ':') ? 128 : 32, 1);
		if (ret)
			return ret;
	}
	ret = nl_addr("lo", "fe80::9", 64, 1);
	if (!ret)
		ret = ns_reach("fd09::1");
	if (!ret)
		ret = ns_reach("fd09::2");
	return ret;
}

static inline int ns_local(void)
{
	int fd = ns_fresh();

	if (fd < 0)
		return fd;
	rds_ns[0] = fd;
	return ns_lo_addrs();
}

static inline int ns_eth(const char *v4, const char *v6, const char *ll)
{
	int ret = nl_link_flags("eth0", 1);

	if (!ret)
		ret = nl_addr("eth0", v4, 24, 1);
	if (!ret)
		ret = nl_addr("eth0", v6, 64, 1);
	if (!ret)
		ret = nl_addr("eth0", ll, 64, 1);
	if (!ret)
		ret = ns_reach(v6);
	return ret;
}

/*
 * Waits until eth0 sends: the kernel gives a link its queue some time after the carrier, up to
 * a second later, and a SYN sent before is repeated after one more.
 */
static inline int ns_eth_running(void)
{
	struct ifreq r = { .ifr_name = "eth0" };
	int fd, i;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	for (i = 0; i < 1000 * slow(); i++) {
		if (ioctl(fd, SIOCGIFFLAGS, &r) || r.ifr_flags & IFF_RUNNING)
			break;
		usleep(10000);
	}
	close(fd);
	return r.ifr_flags & IFF_RUNNING ? 0 : -ENETDOWN;
}

static inline int ns_pair(void)
{
	int ret;

	rds_ns[1] = ns_fresh();
	if (rds_ns[1] < 0)
		return rds_ns[1];
	ret = ns_local();
	if (!ret)
		ret = nl_veth(rds_ns[1]);
	if (!ret)
		ret = ns_eth("10.1.0.1", "fd00:1::1", "fe80::1");
	if (!ret)
		ret = ns_enter(rds_ns[1]);
	if (!ret)
		ret = ns_eth("10.1.0.2", "fd00:1::2", "fe80::2");
	if (!ret)
		ret = ns_eth_running();
	if (!ret)
		ret = ns_enter(rds_ns[0]);
	if (!ret)
		ret = ns_eth_running();
	return ret;
}

#endif
