/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A path as the table sees it: a link that may be starting, running or being
 * stopped, a timer, one place for a parked link, and messages that wait.
 *
 * The model obeys every action and offers every event, in and out of turn; the
 * state is only changed by rds_state_next().  What must hold afterwards is
 * checked against what is really there, not against the table.
 */
#ifndef _RDS_UNIT_MODEL_STATE_H
#define _RDS_UNIT_MODEL_STATE_H

#include <string.h>

#include "check.h"
#include "state.h"

/**
 * struct path_model - one path and its surroundings
 * @state: what the table says
 * @link: a start was asked for and no stop of it was completed
 * @up: the present link reported that it is up
 * @stops: stops asked for and not completed
 * @timer: reconnect timer is armed
 * @parked: an incoming link waits
 * @waiting: messages wait
 * @released: releases seen
 * @destroyed: a destroy was sent
 */
struct path_model {
	enum rds_state state;
	bool link;
	bool up;
	int stops;
	bool timer;
	bool parked;
	bool waiting;
	int released;
	bool destroyed;
};

static inline void path_act(struct path_model *p, enum rds_event e, enum rds_action a)
{
	switch (a) {
	case RDS_ACT_START:
	case RDS_ACT_ADOPT:
		CHECK(!p->link && !p->stops);
		CHECK(a == RDS_ACT_START || p->parked);
		if (a == RDS_ACT_ADOPT)
			p->parked = false;
		p->timer = false;
		p->link = true;
		p->up = false;
		break;
	case RDS_ACT_UP:
		CHECK(e == RDS_EV_LINK_UP && p->link && !p->stops);
		p->up = true;
		p->waiting = false;
		break;
	case RDS_ACT_STOP:
		CHECK(!p->stops);
		p->stops = 1;
		p->up = false;
		break;
	case RDS_ACT_TIMER:
		CHECK(!p->timer && !p->link);
		p->timer = true;
		break;
	case RDS_ACT_RELEASE:
		CHECK(p->destroyed && !p->link && !p->stops);
		p->timer = false;
		p->parked = false;
		p->released++;
		break;
	case RDS_ACT_PARK:
		CHECK(e == RDS_EV_ACCEPT);
		break;
	case RDS_ACT_REFUSE:
		CHECK(e == RDS_EV_ACCEPT && p->destroyed);
		p->parked = false;
		break;
	case RDS_ACT_NONE:
	case RDS_ACT_STALE:
		break;
	default:
		CHECK(!"unknown action");
	}
}

/* What the state claims is what is there. */
static inline void path_check(const struct path_model *p)
{
	enum rds_state s = p->state;

	CHECK(s < RDS_NR_STATES);
	CHECK((s == RDS_UP) == p->up);
	CHECK((s == RDS_BACKOFF) == p->timer);
	CHECK(rds_state_has_link(s) == (p->link || p->stops));
	CHECK((s == RDS_DISCONNECTING || s == RDS_ERROR || s == RDS_DYING) == !!p->stops);
	CHECK(rds_state_is_dying(s) == p->destroyed);
	CHECK((s == RDS_GONE) == (p->released == 1));
	CHECK(p->released <= 1);
	/* nothing is stranded: who waits, waits for something */
	if (p->waiting || p->parked)
		CHECK(s != RDS_DOWN);
	if (p->parked)
		CHECK(p->stops);
}

/* Apply one event the way state.c does: adjust the world, ask the table, act. */
static inline void path_event(struct path_model *p, enum rds_event e)
{
	enum rds_state old = p->state;
	struct rds_transition t;

	if (e == RDS_EV_WANT && !p->destroyed && old != RDS_UP)
		p->waiting = true;
	if (e == RDS_EV_TIMER && old == RDS_BACKOFF)
		p->timer = false;
	if (e == RDS_EV_ACCEPT)
		p->parked = true;
	if (e == RDS_EV_DESTROY) {
		p->destroyed = true;
		p->waiting = false;
	}

	t = rds_state_next(old, e);
	p->state = t.next;
	path_act(p, e, t.action);

	if (t.action == RDS_ACT_STALE || t.action == RDS_ACT_REFUSE)
		CHECK(t.next == old);
	path_check(p);
}

/* The running stop is complete: the link is gone, the caller looks what to do next. */
static inline void path_stopped(struct path_model *p)
{
	CHECK(p->stops == 1);
	p->stops = 0;
	p->link = false;
	path_event(p, p->parked ? RDS_EV_STOPPED_ADOPT :
		      p->waiting ? RDS_EV_STOPPED_RETRY : RDS_EV_STOPPED_IDLE);
}

/*
 * Something happens.  Events of a transport that acts out of turn (a late timer,
 * an old LINK_UP, a second DROP) are included; a STOPPED nobody asked for is not
 * followed by action and offered only where no stop runs.
 */
static inline void path_step(struct path_model *p, u32 what)
{
	switch (what % 11) {
	case 0:
	case 1:
		path_event(p, RDS_EV_WANT);
		break;
	case 2:
		path_event(p, RDS_EV_TIMER);
		break;
	case 3:
		path_event(p, RDS_EV_ACCEPT);
		break;
	case 4:
	case 5:
		path_event(p, RDS_EV_LINK_UP);
		break;
	case 6:
		path_event(p, RDS_EV_DROP);
		break;
	case 7:
	case 8:
		if (p->stops)
			path_stopped(p);
		break;
	case 9:
		if (!p->stops)
			path_event(p, RDS_EV_STOPPED_ADOPT + what / 11 % 3);
		break;
	case 10:
		if (what >= 220)
			path_event(p, RDS_EV_DESTROY);
		break;
	}
}

/* From wherever it is, a destroyed path ends, with no event but its own STOPPED. */
static inline void path_finish(struct path_model *p)
{
	int turns = 0;

	path_event(p, RDS_EV_DESTROY);
	while (p->stops) {
		CHECK(turns++ < 1);
		path_stopped(p);
	}
	CHECK(p->state == RDS_GONE && p->released == 1);
	CHECK(!p->link && !p->timer && !p->parked);
}

#endif /* _RDS_UNIT_MODEL_STATE_H */
