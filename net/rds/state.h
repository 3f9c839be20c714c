/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state machine of a path: one const table, no side effects.
 * state.c applies it under path->lock; selftests/unit walks every cell.
 */
#ifndef _RDS_STATE_H
#define _RDS_STATE_H

#include <linux/types.h>

/**
 * enum rds_state - state of a path
 * @RDS_DOWN: no link and no timer
 * @RDS_BACKOFF: DOWN with the reconnect timer armed
 * @RDS_CONNECTING: a link is being made or adopted
 * @RDS_UP: the link carries messages
 * @RDS_DISCONNECTING: the link is being taken down
 * @RDS_ERROR: another drop arrived while DISCONNECTING
 * @RDS_DYING: the connection is being destroyed, the link is being taken down
 * @RDS_GONE: nothing left; the path may be freed
 * @RDS_NR_STATES: number of states
 */
enum rds_state {
	RDS_DOWN,
	RDS_BACKOFF,
	RDS_CONNECTING,
	RDS_UP,
	RDS_DISCONNECTING,
	RDS_ERROR,
	RDS_DYING,
	RDS_GONE,
	RDS_NR_STATES
};

/**
 * enum rds_event - what can happen to a path
 * @RDS_EV_WANT: somebody has a message, or the peer asked us to connect
 * @RDS_EV_TIMER: the reconnect timer expired
 * @RDS_EV_ACCEPT: the transport parked an incoming link for this path
 * @RDS_EV_LINK_UP: the link of the current epoch can carry messages
 * @RDS_EV_DROP: the link broke or could not be made, or an administrative drop
 * @RDS_EV_STOPPED_ADOPT: tear-down is complete and a link is parked
 * @RDS_EV_STOPPED_RETRY: tear-down is complete, reconnect is our job or messages wait
 * @RDS_EV_STOPPED_IDLE: tear-down is complete, nothing to do
 * @RDS_EV_DESTROY: the connection goes away
 * @RDS_NR_EVENTS: number of events
 */
enum rds_event {
	RDS_EV_WANT,
	RDS_EV_TIMER,
	RDS_EV_ACCEPT,
	RDS_EV_LINK_UP,
	RDS_EV_DROP,
	RDS_EV_STOPPED_ADOPT,
	RDS_EV_STOPPED_RETRY,
	RDS_EV_STOPPED_IDLE,
	RDS_EV_DESTROY,
	RDS_NR_EVENTS
};

/**
 * enum rds_action - what the caller must do after a transition
 * @RDS_ACT_NONE: nothing; the event has no meaning in this state
 * @RDS_ACT_STALE: nothing; counted as a stale event
 * @RDS_ACT_REFUSE: the offered link must be refused; counted
 * @RDS_ACT_PARK: keep the offered link parked; it is looked at when the tear-down is complete
 * @RDS_ACT_START: new epoch, transport->start() from the path's work
 * @RDS_ACT_ADOPT: new epoch, transport->start() on the parked link
 * @RDS_ACT_UP: arm the timer that resets the back-off, send control frames and what is queued
 * @RDS_ACT_STOP: transport->stop() from the path's work
 * @RDS_ACT_TIMER: arm the reconnect timer
 * @RDS_ACT_RELEASE: the path is gone: complete the destroyer
 * @RDS_NR_ACTIONS: number of actions
 */
enum rds_action {
	RDS_ACT_NONE,
	RDS_ACT_STALE,
	RDS_ACT_REFUSE,
	RDS_ACT_PARK,
	RDS_ACT_START,
	RDS_ACT_ADOPT,
	RDS_ACT_UP,
	RDS_ACT_STOP,
	RDS_ACT_TIMER,
	RDS_ACT_RELEASE,
	RDS_NR_ACTIONS
};

/**
 * struct rds_transition - one cell of the state table
 * @next: state after the event
 * @action: what the caller has to do
 */
struct rds_transition {
	u8 next;
	u8 action;
};

struct rds_transition rds_state_next(enum rds_state s, enum rds_event e);
const char *rds_state_name(enum rds_state s);
const char *rds_event_name(enum rds_event e);

/* Derived facts, so that nobody keeps a flag for them. */
static inline bool rds_state_has_link(enum rds_state s)
{
	return s == RDS_CONNECTING || s == RDS_UP || s == RDS_DISCONNECTING ||
	       s == RDS_ERROR || s == RDS_DYING;
}

static inline bool rds_state_is_stopping(enum rds_state s)
{
	return s == RDS_DISCONNECTING || s == RDS_ERROR;
}

static inline bool rds_state_is_dying(enum rds_state s)
{
	return s == RDS_DYING || s == RDS_GONE;
}

#endif /* _RDS_STATE_H */
