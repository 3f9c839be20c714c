// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=300 ref=0 expect="kmemleak:.*suspected" lanes=uml */
/*
 * Sending: every fault point of every way to send (E12, I11, J3, J4). A message
 * whose call succeeded arrives once, one whose call failed does not arrive.
 */
#include "step.h"

static struct mmsghdr mm[4];
static struct iovec mm_iov[8];
static char *zpage;
static __u32 cookie;

static void p_make(size_t len)
{
	make(len);
}

static void p_small(void)
{
	p_make(100);
}

static void p_linear(void)
{
	p_make(2048);
}

static void p_pages(void)
{
	p_make(20000);
}

static void p_mega(void)
{
	p_make(MSG_MAX_LEN);
}

static int send_len(size_t len)
{
	return send(x.a, out, len, 0);
}

static int c_small(void)
{
	return send_len(100);
}

static int c_linear(void)
{
	return send_len(2048);
}

static int c_pages(void)
{
	return send_len(20000);
}

static int c_mega(void)
{
	return send_len(MSG_MAX_LEN);
}

static int c_named(void)
{
	return sendto(x.a, out, 100, 0, (void *)&x.bss, x.blen);
}

static int c_write(void)
{
	return write(x.a, out, 100);
}

/* Ten pieces, more than the eight that the kernel keeps on its stack. */
static int c_writev(void)
{
	struct iovec v[10];
	int i;

	for (i = 0; i < 10; i++)
		v[i] = (struct iovec){ out + i * 2000, 2000 };
	return writev(x.a, v, 10);
}

static void p_mmsg(void)
{
	int i;

	for (i = 0; i < 4; i++) {
		make(3000);
		if (!mm_iov[i].iov_base)
			mm_iov[i].iov_base = malloc(3000);
		memcpy(mm_iov[i].iov_base, out, 3000);
		mm_iov[i].iov_len = 3000;
		mm[i].msg_hdr = (struct msghdr){ .msg_iov = &mm_iov[i], .msg_iovlen = 1 };
	}
}

static int c_mmsg(void)
{
	return sendmmsg(x.a, mm, 4, 0);
}

/* ---- to a peer that is new, and never answers ------------------------------ */

static struct sockaddr_storage new_ss;
static socklen_t new_len;
static int queued;

static void p_new(void)
{
	static int n;
	char dst[64];

	n++;
	if (!strchr(x.aaddr, ':'))
		snprintf(dst, sizeof(dst), "%s.%d.%d", x.loop ? "127.0" : "10.1",
			 n / 250 + 1, n % 250 + 1);
	else if (strchr(x.aaddr, '%'))
		snprintf(dst, sizeof(dst), "fe80::1:%x%%eth0", n);
	else
		snprintf(dst, sizeof(dst), "fd00:1::1:%x", n);
	new_len = mkaddr(&new_ss, dst, 9);
	queued = msgs_of_port(x.a, RDS6_INFO_SEND_MESSAGES, DUO_A);
	p_make(100);
	x.seq--;		/* it will never get to b */
}

static int c_new(void)
{
	return sendto(x.a, out, 100, 0, (void *)&new_ss, new_len);
}

/* On the queue of the new connection, or nowhere. */
static void d_new(int ret, int err)
{
	int now = msgs_of_port(x.a, RDS6_INFO_SEND_MESSAGES, DUO_A);
	int sent = ret > 0;

	if (!x.loop && now != queued + sent)
		WRONG("%d messages queued, %d before, result %d", now, queued, ret);
}

/* ---- zero copy --------------------------------------------------------------- */

static void p_zcopy(void)
{
	if (!zpage) {
		zpage = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		set_int(x.a, SOL_SOCKET, SO_ZEROCOPY, 1);
	}
	make(40000);
	/* at an odd offset: eleven pages, the last and the first in part */
	memcpy(zpage + 1001, out, 40000);
	cookie++;
}

static int c_zcopy(void)
{
	return send_cmsg(x.a, NULL, 0, zpage + 1001, 40000, MSG_ZEROCOPY,
			 RDS_CMSG_ZCOPY_COOKIE, &cookie, sizeof(cookie));
}

/* The cookies of one record, 0 if there is none. */
static int zcopy_get(struct rds_zcopy_cookies *z)
{
	struct cmsghdr *c;
	struct rx rx;

	if (rx_msg(x.a, in, 0, MSG_DONTWAIT, &rx))
		return 0;
	c = rx_cmsg(&rx, SOL_RDS, RDS_CMSG_ZCOPY_COMPLETION);
	if (!c)
		return 0;
	memcpy(z, CMSG_DATA(c), sizeof(*z));
	return z->num;
}

/* One completion for an accepted message; one too many is seen by the next step. */
static void d_zcopy(int ret, int err)
{
	struct rds_zcopy_cookies z = {};

	if (ret > 0) {
		if (!WAIT_UNTIL(zcopy_get(&z)) || z.num != 1 || z.cookies[0] != cookie)
			WRONG("cookie %u: %u completions, %u", cookie, z.num, z.cookies[0]);
	} else if (zcopy_get(&z)) {
		WRONG("cookie %u was refused, %u came back", cookie, z.cookies[0]);
	}
}

/* ---- refused in the end, after a good deal of work ------------------------------ */

static int with_cmsg(int type, const void *data, size_t len)
{
	return send_cmsg(x.a, NULL, 0, out, 100, 0, type, data, len);
}

static int c_rdma(void)
{
	struct rds_iovec v[2] = { { (long)in, 4096 }, { (long)in + 4096, 4096 } };
	struct rds_rdma_args a = {
		.remote_vec = { 0, 8192 }, .local_vec_addr = (long)v, .nr_local = 2,
		.flags = RDS_RDMA_NOTIFY_ME,
	};

	return with_cmsg(RDS_CMSG_RDMA_ARGS, &a, sizeof(a));
}

static int c_rdma_dest(void)
{
	__u64 key = 1;

	return with_cmsg(RDS_CMSG_RDMA_DEST, &key, sizeof(key));
}

static int c_rdma_map(void)
{
	static __u64 got;
	struct rds_get_mr_args a = { .vec = { (long)in, 4096 }, .cookie_addr = (long)&got };

	return with_cmsg(RDS_CMSG_RDMA_MAP, &a, sizeof(a));
}

static int atomic(int type)
{
	static __u64 v;
	struct rds_atomic_args a = { .local_addr = (long)&v };

	return with_cmsg(type, &a, sizeof(a));
}

static int c_fadd(void)
{
	return atomic(RDS_CMSG_ATOMIC_FADD);
}

static int c_cswp(void)
{
	return atomic(RDS_CMSG_ATOMIC_CSWP);
}

static int c_mfadd(void)
{
	return atomic(RDS_CMSG_MASKED_ATOMIC_FADD);
}

static int c_mcswp(void)
{
	return atomic(RDS_CMSG_MASKED_ATOMIC_CSWP);
}

static int c_cookie(void)
{
	return with_cmsg(RDS_CMSG_ZCOPY_COOKIE, &cookie, sizeof(cookie));
}

static void d_refused(int ret, int err)
{
	if (ret >= 0)
		WRONG("accepted what no transport can do");
}

static const struct step steps[] = {
	{ "send 100", p_small, c_small, 2, .msgs = 1 },
	{ "send 2048", p_linear, c_linear, 2, .msgs = 1 },
	{ "send 20000", p_pages, c_pages, 4, .msgs = 1 },
	{ "send 200 KiB", p_mega, c_mega, 10, .msgs = 1 },
	{ "sendto", p_small, c_named, 3, .msgs = 1 },
	{ "write", p_small, c_write, 2, .msgs = 1 },
	{ "writev, 10 pieces", p_pages, c_writev, 5, .msgs = 1 },
	{ "sendmmsg", p_mmsg, c_mmsg, 10, .msgs = 2, .partly = true },
	{ "to a new peer", p_new, c_new, 5, .done = d_new },
	{ "zero copy", p_zcopy, c_zcopy, 6, .msgs = 1, .tcp_only = true, .after = d_zcopy },
	{ "RDMA", NULL, c_rdma, 4, .done = d_refused },
	{ "RDMA destination", NULL, c_rdma_dest, 2, .done = d_refused },
	{ "RDMA map", NULL, c_rdma_map, 2, .done = d_refused },
	{ "fetch and add", NULL, c_fadd, 2, .done = d_refused },
	{ "compare and swap", NULL, c_cswp, 2, .done = d_refused },
	{ "masked fetch and add", NULL, c_mfadd, 2, .done = d_refused },
	{ "masked compare and swap", NULL, c_mcswp, 2, .done = d_refused },
	{ "cookie without zero copy", NULL, c_cookie, 2, .done = d_refused },
};

TEST_F_TIMEOUT(duo, send__fail_nth, 120)
{
	RUN_STEPS(steps_all(steps, ARRAY_SIZE(steps)));
}

#include "leaks.h"

TEST_HARNESS_MAIN
