// SPDX-License-Identifier: GPL-2.0
/*
 * The transition table of a path, and the printable names of its states and
 * events.
 *
 * Pure code: state.c is the only caller of rds_state_next() and applies its
 * answer under path->lock.  Every pair has a cell: one without meaning is
 * written as IGNORE or STALE, so that each has been thought of.
 */
#include <linux/types.h>

#include "state.h"

#define TO(state, action)	{ RDS_##state, RDS_ACT_##action }

/*
 * DESTROY while a link is being taken down starts no second stop: the one that
 * runs, or waits in the path's work, reports STOPPED and that ends the path.
 */
static const struct rds_transition table[RDS_NR_STATES][RDS_NR_EVENTS] = {
	[RDS_DOWN] = {
		[RDS_EV_WANT]		= TO(CONNECTING, START),
		[RDS_EV_TIMER]		= TO(DOWN, NONE),
		[RDS_EV_ACCEPT]		= TO(CONNECTING, ADOPT),
		[RDS_EV_LINK_UP]	= TO(DOWN, STALE),
		[RDS_EV_DROP]		= TO(DOWN, NONE),
		[RDS_EV_STOPPED_ADOPT]	= TO(DOWN, STALE),
		[RDS_EV_STOPPED_RETRY]	= TO(DOWN, STALE),
		[RDS_EV_STOPPED_IDLE]	= TO(DOWN, STALE),
		[RDS_EV_DESTROY]	= TO(GONE, RELEASE),
	},
	[RDS_BACKOFF] = {
		[RDS_EV_WANT]		= TO(BACKOFF, NONE),	/* the timer will do it */
		[RDS_EV_TIMER]		= TO(CONNECTING, START),
		[RDS_EV_ACCEPT]		= TO(CONNECTING, ADOPT),
		[RDS_EV_LINK_UP]	= TO(BACKOFF, STALE),
		[RDS_EV_DROP]		= TO(BACKOFF, NONE),
		[RDS_EV_STOPPED_ADOPT]	= TO(BACKOFF, STALE),
		[RDS_EV_STOPPED_RETRY]	= TO(BACKOFF, STALE),
		[RDS_EV_STOPPED_IDLE]	= TO(BACKOFF, STALE),
		[RDS_EV_DESTROY]	= TO(GONE, RELEASE),
	},
	[RDS_CONNECTING] = {
		[RDS_EV_WANT]		= TO(CONNECTING, NONE),
		[RDS_EV_TIMER]		= TO(CONNECTING, NONE),
		/* our own attempt was only a nudge: stop it, then adopt the parked link */
		[RDS_EV_ACCEPT]		= TO(DISCONNECTING, STOP),
		[RDS_EV_LINK_UP]	= TO(UP, UP),
		[RDS_EV_DROP]		= TO(DISCONNECTING, STOP),
		[RDS_EV_STOPPED_ADOPT]	= TO(CONNECTING, STALE),
		[RDS_EV_STOPPED_RETRY]	= TO(CONNECTING, STALE),
		[RDS_EV_STOPPED_IDLE]	= TO(CONNECTING, STALE),
		[RDS_EV_DESTROY]	= TO(DYING, STOP),
	},
	[RDS_UP] = {
		[RDS_EV_WANT]		= TO(UP, NONE),
		[RDS_EV_TIMER]		= TO(UP, NONE),
		/* the peer has given up on our link: take it down, the new one is parked */
		[RDS_EV_ACCEPT]		= TO(DISCONNECTING, STOP),
		[RDS_EV_LINK_UP]	= TO(UP, STALE),
		[RDS_EV_DROP]		= TO(DISCONNECTING, STOP),
		[RDS_EV_STOPPED_ADOPT]	= TO(UP, STALE),
		[RDS_EV_STOPPED_RETRY]	= TO(UP, STALE),
		[RDS_EV_STOPPED_IDLE]	= TO(UP, STALE),
		[RDS_EV_DESTROY]	= TO(DYING, STOP),
	},
	[RDS_DISCONNECTING] = {
		[RDS_EV_WANT]		= TO(DISCONNECTING, NONE),
		[RDS_EV_TIMER]		= TO(DISCONNECTING, NONE),
		[RDS_EV_ACCEPT]		= TO(DISCONNECTING, PARK),
		[RDS_EV_LINK_UP]	= TO(DISCONNECTING, STALE),
		[RDS_EV_DROP]		= TO(ERROR, NONE),
		[RDS_EV_STOPPED_ADOPT]	= TO(CONNECTING, ADOPT),
		[RDS_EV_STOPPED_RETRY]	= TO(BACKOFF, TIMER),
		[RDS_EV_STOPPED_IDLE]	= TO(DOWN, NONE),
		[RDS_EV_DESTROY]	= TO(DYING, NONE),
	},
	[RDS_ERROR] = {
		[RDS_EV_WANT]		= TO(ERROR, NONE),
		[RDS_EV_TIMER]		= TO(ERROR, NONE),
		[RDS_EV_ACCEPT]		= TO(ERROR, PARK),
		[RDS_EV_LINK_UP]	= TO(ERROR, STALE),
		[RDS_EV_DROP]		= TO(ERROR, NONE),
		[RDS_EV_STOPPED_ADOPT]	= TO(DISCONNECTING, STOP),	/* once more */
		[RDS_EV_STOPPED_RETRY]	= TO(DISCONNECTING, STOP),
		[RDS_EV_STOPPED_IDLE]	= TO(DISCONNECTING, STOP),
		[RDS_EV_DESTROY]	= TO(DYING, NONE),
	},
	[RDS_DYING] = {
		[RDS_EV_WANT]		= TO(DYING, NONE),
		[RDS_EV_TIMER]		= TO(DYING, NONE),
		[RDS_EV_ACCEPT]		= TO(DYING, REFUSE),
		[RDS_EV_LINK_UP]	= TO(DYING, STALE),
		[RDS_EV_DROP]		= TO(DYING, NONE),
		[RDS_EV_STOPPED_ADOPT]	= TO(GONE, RELEASE),
		[RDS_EV_STOPPED_RETRY]	= TO(GONE, RELEASE),
		[RDS_EV_STOPPED_IDLE]	= TO(GONE, RELEASE),
		[RDS_EV_DESTROY]	= TO(DYING, NONE),
	},
	[RDS_GONE] = {
		[RDS_EV_WANT]		= TO(GONE, NONE),
		[RDS_EV_TIMER]		= TO(GONE, NONE),
		[RDS_EV_ACCEPT]		= TO(GONE, REFUSE),
		[RDS_EV_LINK_UP]	= TO(GONE, STALE),
		[RDS_EV_DROP]		= TO(GONE, NONE),
		[RDS_EV_STOPPED_ADOPT]	= TO(GONE, STALE),
		[RDS_EV_STOPPED_RETRY]	= TO(GONE, STALE),
		[RDS_EV_STOPPED_IDLE]	= TO(GONE, STALE),
		[RDS_EV_DESTROY]	= TO(GONE, NONE),
	},
};

static const char *const state_names[RDS_NR_STATES] = {
	[RDS_DOWN]		= "down",
	[RDS_BACKOFF]		= "backoff",
	[RDS_CONNECTING]	= "connecting",
	[RDS_UP]		= "up",
	[RDS_DISCONNECTING]	= "disconnecting",
	[RDS_ERROR]		= "error",
	[RDS_DYING]		= "dying",
	[RDS_GONE]		= "gone",
};

static const char *const event_names[RDS_NR_EVENTS] = {
	[RDS_EV_WANT]		= "want",
	[RDS_EV_TIMER]		= "timer",
	[RDS_EV_ACCEPT]		= "accept",
	[RDS_EV_LINK_UP]	= "link-up",
	[RDS_EV_DROP]		= "drop",
	[RDS_EV_STOPPED_ADOPT]	= "stopped-adopt",
	[RDS_EV_STOPPED_RETRY]	= "stopped-retry",
	[RDS_EV_STOPPED_IDLE]	= "stopped-idle",
	[RDS_EV_DESTROY]	= "destroy",
};

/**
 * rds_state_next() - what an event does to a path
 * @s: state of the path
 * @e: the event
 *
 * Return: the state to enter and what to do then.  Values that are no state or
 * no event change nothing and count as stale.
 */
struct rds_transition rds_state_next(enum rds_state s, enum rds_event e)
{
	if ((unsigned int)s >= RDS_NR_STATES || (unsigned int)e >= RDS_NR_EVENTS)
		return (struct rds_transition){ s, RDS_ACT_STALE };
	return table[s][e];
}

/**
 * rds_state_name() - name of a state, for traces and logs
 * @s: the state
 *
 * Return: a constant string, "?" if @s is none.
 */
const char *rds_state_name(enum rds_state s)
{
	return (unsigned int)s < RDS_NR_STATES ? state_names[s] : "?";
}

/**
 * rds_event_name() - name of an event, for traces and logs
 * @e: the event
 *
 * Return: a constant string, "?" if @e is none.
 */
const char *rds_event_name(enum rds_event e)
{
	return (unsigned int)e < RDS_NR_EVENTS ? event_names[e] : "?";
}
