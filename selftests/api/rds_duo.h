/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fixture "duo": two bound sockets, each connected to the other, once for
 * every way a message can go. A TEST_F(duo, ...) runs once a variant:
 *   loop    127.0.0.1, loopback transport
 *   local   10.9.0.1 -> 10.9.0.2, TCP-bound sockets, loopback connection
 *   tcp     10.1.0.1 -> 10.1.0.2, another namespace, over TCP
 *   tcp6    fd00:1::1 -> fd00:1::2, over TCP
 *   tcpll   fe80::1 -> fe80::2 on eth0, over TCP
 */
#ifndef RDS_DUO_H
#define RDS_DUO_H

#include "rds_util.h"

FIXTURE(duo)
{
	int a, b;
};

FIXTURE_VARIANT(duo)
{
	const char *aaddr, *baddr;
	int ns;		/* namespace of b */
};

FIXTURE_VARIANT_ADD(duo, loop)
{
	.aaddr = "127.0.0.1", .baddr = "127.0.0.1",
};

FIXTURE_VARIANT_ADD(duo, local)
{
	.aaddr = "10.9.0.1", .baddr = "10.9.0.2",
};

FIXTURE_VARIANT_ADD(duo, tcp)
{
	.aaddr = "10.1.0.1", .baddr = "10.1.0.2", .ns = 1,
};

FIXTURE_VARIANT_ADD(duo, tcp6)
{
	.aaddr = "fd00:1::1", .baddr = "fd00:1::2", .ns = 1,
};

FIXTURE_VARIANT_ADD(duo, tcpll)
{
	.aaddr = "fe80::1%eth0", .baddr = "fe80::2%eth0", .ns = 1,
};

#define DUO_A 5001
#define DUO_B 5002

/* In-tree may need more than the deadline for its first messages (weakness 1). */
static inline int duo_warm_up(int a, int b)
{
	char c;
	int i;

	for (i = 0; i < 3; i++) {
		int flags = i ? 0 : MSG_DONTWAIT;

		if (send(a, "w", 1, flags) != 1 ||
		    (recv_wait(b, &c, 1) != 1 && recv_wait(b, &c, 1) != 1) ||
		    send(b, "w", 1, flags) != 1 ||
		    (recv_wait(a, &c, 1) != 1 && recv_wait(a, &c, 1) != 1))
			return -1;
		if (!all_acked(a) || !all_acked(b))
			return -1;
	}
	return 0;
}

FIXTURE_SETUP(duo)
{
	ASSERT_EQ(0, variant->ns ? ns_pair() : ns_local());
	self->a = rds_bound(variant->aaddr, DUO_A);
	ASSERT_FD(self->a);
	self->b = rds_bound_in(variant->ns, variant->baddr, DUO_B);
	ASSERT_FD(self->b);
	ASSERT_EQ(0, rds_connect(self->a, variant->baddr, DUO_B));
	ASSERT_EQ(0, ns_enter(rds_ns[variant->ns]));
	ASSERT_EQ(0, rds_connect(self->b, variant->aaddr, DUO_A));
	ASSERT_EQ(0, ns_enter(rds_ns[0]));
	if (is_ref() && variant->ns)
		ASSERT_EQ(0, duo_warm_up(self->a, self->b));
}

FIXTURE_TEARDOWN(duo)
{
	close(self->a);
	close(self->b);
}

#endif
