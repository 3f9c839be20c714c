// SPDX-License-Identifier: GPL-2.0
/* What the model does not model: the module's own state table and sequence rule. */
#include <assert.h>
#include <linux/types.h>

#include "../../net/rds/state.h"
#include "../../net/rds/wire.h"

/* The numbers that delivery.pml goes by. */
static_assert(RDS_DOWN == 0 && RDS_BACKOFF == 1 && RDS_CONNECTING == 2 && RDS_UP == 3 &&
	      RDS_DISCONNECTING == 4 && RDS_ERROR == 5, "states");
static_assert(RDS_EV_WANT == 0 && RDS_EV_TIMER == 1 && RDS_EV_ACCEPT == 2 && RDS_EV_LINK_UP == 3 &&
	      RDS_EV_DROP == 4 && RDS_EV_STOPPED_ADOPT == 5 && RDS_EV_STOPPED_RETRY == 6 &&
	      RDS_EV_STOPPED_IDLE == 7, "events");
static_assert(RDS_ACT_NONE == 0 && RDS_ACT_START == 4 && RDS_ACT_ADOPT == 5 && RDS_ACT_STOP == 7,
	      "actions");

int model_next(int state, int event)
{
	return rds_state_next(state, event).next;
}

int model_action(int state, int event)
{
	return rds_state_next(state, event).action;
}

int model_dup(unsigned char *next, int seq, int repeat)
{
	u64 n = *next;
	enum rds_seq_verdict v = rds_seq_accept(&n, seq, repeat ? RDS_FLAG_RETRANSMITTED : 0);

	*next = n;
	return v == RDS_SEQ_DUP;
}

/* @last: 0, or the last number accepted from the socket, of a peer whose paths are known */
int model_dup_flow(unsigned char *next, unsigned char *last, int path, int seq, int repeat)
{
	struct rds_flow_seq flow = { .last = *last, .known = *last, .fanned = *last };
	u64 n = *next;
	enum rds_seq_verdict v = rds_seq_accept_flow(&n, &flow, true, !path, seq,
						     repeat ? RDS_FLAG_RETRANSMITTED : 0);

	*next = n;
	*last = flow.last;
	return v == RDS_SEQ_DUP;
}
