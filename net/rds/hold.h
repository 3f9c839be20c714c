/* SPDX-License-Identifier: GPL-2.0 */
/* Messages that wait for more, to go out together: hold.c. Included by core.h. */
#ifndef _RDS_HOLD_H
#define _RDS_HOLD_H

void rds_hold_init(void);
void rds_hold_exit(void);
void rds_send_push_held(struct rds_sock *rs);

/* A message of @rs may be held back there: rds_send_push() will look for it. */
static inline void rds_hold_note(struct rds_path *p, struct rds_sock *rs)
{
	unsigned long held_for = READ_ONCE(p->held_for), bit = BIT(rs->held_bit);

	if (!(held_for & bit))
		WRITE_ONCE(p->held_for, held_for | bit);
	if (READ_ONCE(rs->held_on) != READ_ONCE(p->holder))
		WRITE_ONCE(rs->held_on, READ_ONCE(p->holder));
}

static inline void rds_send_push(struct rds_sock *rs)
{
	if (unlikely(READ_ONCE(rs->held_on)))
		rds_send_push_held(rs);
}

#endif /* _RDS_HOLD_H */
