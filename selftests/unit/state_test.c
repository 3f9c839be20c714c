// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 */
/* The state table of a path: every cell, what can be reached, random histories. */
#include "unit.h"
#include "model_state.h"
#include "state.h"

/*
 * The expected table, written from the house plan: per state the next states
 * and the actions, one letter per event in the order of enum rds_event
 *	W want  T timer  A accept  L link-up  D drop  a r i stopped-*  X destroy
 *
 * States:  D down  B backoff  C connecting  U up  d disconnecting  E error  y dying  G gone
 * Actions: - none  ! stale  x refuse  p park  s start  a adopt  u up  S stop  t timer  R release
 */
static const char *const expected[RDS_NR_STATES][2] = {
	/*			   WTALDariX	WTALDariX */
	[RDS_DOWN]		= { "CDCDDDDDG", "s-a!-!!!R" },
	[RDS_BACKOFF]		= { "BCCBBBBBG", "-sa!-!!!R" },
	[RDS_CONNECTING]	= { "CCdUdCCCy", "--SuS!!!S" },
	[RDS_UP]		= { "UUdUdUUUy", "--S!S!!!S" },
	[RDS_DISCONNECTING]	= { "ddddECBDy", "--p!-at--" },
	[RDS_ERROR]		= { "EEEEEdddy", "--p!-SSS-" },
	[RDS_DYING]		= { "yyyyyGGGy", "--x!-RRR-" },
	[RDS_GONE]		= { "GGGGGGGGG", "--x!-!!!-" },
};

static const char state_letter[] = "DBCUdEyG";
static const char action_letter[] = "-!xpsauStR";

static void next__every_cell(void)
{
	int s, e;

	for (s = 0; s < RDS_NR_STATES; s++) {
		for (e = 0; e < RDS_NR_EVENTS; e++) {
			struct rds_transition t = rds_state_next(s, e);
			char next = expected[s][0][e], action = expected[s][1][e];

			if (state_letter[t.next] == next && action_letter[t.action] == action)
				continue;
			printf("# %s + %s: got %c/%c, want %c/%c\n", rds_state_name(s),
			       rds_event_name(e), state_letter[t.next],
			       action_letter[t.action], next, action);
			EXPECT(false);
		}
	}
}

static void next__out_of_range(void)
{
	static const int wrong[] = { RDS_NR_STATES, RDS_NR_STATES + 1, 100, -1, 255 };
	static const int events[] = { RDS_NR_EVENTS, 100, -1, 1 << 30 };
	struct rds_transition t;
	size_t i;
	int k;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		for (k = 0; k < RDS_NR_EVENTS; k++) {
			t = rds_state_next(wrong[i], k);
			EXPECT_EQ(t.next, (u8)wrong[i]);
			EXPECT_EQ(t.action, RDS_ACT_STALE);
		}
	}
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		for (k = 0; k < RDS_NR_STATES; k++) {
			t = rds_state_next(k, events[i]);
			EXPECT_EQ(t.next, k);
			EXPECT_EQ(t.action, RDS_ACT_STALE);
		}
	}
}

static void names__all_different(void)
{
	int a, b;

	for (a = 0; a < RDS_NR_STATES; a++) {
		EXPECT(strcmp(rds_state_name(a), "?"));
		for (b = 0; b < a; b++)
			EXPECT(strcmp(rds_state_name(a), rds_state_name(b)));
	}
	for (a = 0; a < RDS_NR_EVENTS; a++) {
		EXPECT(strcmp(rds_event_name(a), "?"));
		for (b = 0; b < a; b++)
			EXPECT(strcmp(rds_event_name(a), rds_event_name(b)));
	}
	EXPECT(!strcmp(rds_state_name(RDS_NR_STATES), "?"));
	EXPECT(!strcmp(rds_event_name(RDS_NR_EVENTS), "?"));
	EXPECT(!strcmp(rds_state_name(-1), "?"));
	EXPECT(!strcmp(rds_event_name(-1), "?"));
	EXPECT(!strcmp(rds_state_name(RDS_UP), "up"));
	EXPECT(!strcmp(rds_event_name(RDS_EV_STOPPED_IDLE), "stopped-idle"));
}

static void derived_facts(void)
{
	int s;

	for (s = 0; s < RDS_NR_STATES; s++) {
		EXPECT_EQ(rds_state_has_link(s), !!strchr("CUdEy", state_letter[s]));
		EXPECT_EQ(rds_state_is_dying(s), !!strchr("yG", state_letter[s]));
	}
}

/* UP only through LINK_UP, nothing leaves GONE, dying goes nowhere but GONE. */
static void rules_over_all_cells(void)
{
	int s, e;

	for (s = 0; s < RDS_NR_STATES; s++) {
		for (e = 0; e < RDS_NR_EVENTS; e++) {
			struct rds_transition t = rds_state_next(s, e);
			bool moved = t.next != s;

			if (t.next == RDS_UP && moved)
				EXPECT(s == RDS_CONNECTING && e == RDS_EV_LINK_UP);
			EXPECT_EQ(t.action == RDS_ACT_UP, t.next == RDS_UP && moved);
			if (s == RDS_GONE)
				EXPECT(!moved);
			if (s == RDS_DYING && moved)
				EXPECT_EQ(t.next, RDS_GONE);
			EXPECT_EQ(t.action == RDS_ACT_RELEASE, t.next == RDS_GONE && moved);
			if (t.action == RDS_ACT_STALE || t.action == RDS_ACT_REFUSE ||
			    t.action == RDS_ACT_PARK)
				EXPECT(!moved);
			if (t.action == RDS_ACT_START || t.action == RDS_ACT_ADOPT)
				EXPECT_EQ(t.next, RDS_CONNECTING);
			EXPECT_EQ(t.action == RDS_ACT_TIMER, t.next == RDS_BACKOFF && moved);
			/* a drop of a link leads to a stop, now or already running */
			if (e == RDS_EV_DROP && rds_state_has_link(s))
				EXPECT(t.next >= RDS_DISCONNECTING && t.next <= RDS_DYING);
			/* an offered link is adopted, parked until a stop, or refused */
			if (e == RDS_EV_ACCEPT)
				EXPECT(t.action == RDS_ACT_ADOPT || t.action == RDS_ACT_PARK ||
				       t.action == RDS_ACT_STOP || t.action == RDS_ACT_REFUSE);
			/* destroy ends the path or waits for the stop */
			if (e == RDS_EV_DESTROY)
				EXPECT(rds_state_is_dying(t.next));
		}
	}
}

static void every_state_is_reached_from_down(void)
{
	bool seen[RDS_NR_STATES] = { [RDS_DOWN] = true };
	bool again = true;
	int s, e;

	while (again) {
		again = false;
		for (s = 0; s < RDS_NR_STATES; s++) {
			for (e = 0; seen[s] && e < RDS_NR_EVENTS; e++) {
				int next = rds_state_next(s, e).next;

				again |= !seen[next];
				seen[next] = true;
			}
		}
	}
	for (s = 0; s < RDS_NR_STATES; s++)
		EXPECT(seen[s]);
}

/* All histories of up to six steps of each kind, each followed by a destroy. */
#define DEPTH	6

static u64 histories;
static bool visited[RDS_NR_STATES];

static void explore(const struct path_model *from, int depth)
{
	static const u8 steps[] = { 0, 2, 3, 4, 6, 7, 9, 20, 31, 230 };
	struct path_model end = *from;
	size_t i;

	visited[from->state] = true;
	if (!end.destroyed)
		path_finish(&end);
	histories++;
	for (i = 0; depth && i < sizeof(steps); i++) {
		struct path_model p = *from;

		path_step(&p, steps[i]);
		explore(&p, depth - 1);
	}
}

static void model__all_short_histories(void)
{
	struct path_model p = { .state = RDS_DOWN };
	int s;

	explore(&p, DEPTH);
	EXPECT_EQ(histories, 1111111);
	for (s = 0; s < RDS_NR_STATES; s++)
		EXPECT(visited[s]);
}

static void model__long_random_histories(void)
{
	struct choices c = { .state = 10 };
	u64 ups = 0;
	int run, i;

	for (run = 0; run < 3000; run++) {
		struct path_model p = { .state = RDS_DOWN };

		for (i = 0; i < 200; i++) {
			bool was = p.up;
			u32 what = pick_byte(&c);

			/* keep most alive: the end is tried below */
			path_step(&p, what % 11 == 10 && pick(&c, 16) ? 0 : what);
			ups += p.up && !was;
		}
		if (!p.destroyed)
			path_finish(&p);
	}
	EXPECT(ups > 10000);
}

/* Each DROP leads to a link that is down, or up again by a new LINK_UP. */
static void model__drop_is_never_swallowed(void)
{
	struct path_model p = { .state = RDS_DOWN };
	int drops;

	for (drops = 1; drops < 5; drops++) {
		int i;

		path_event(&p, RDS_EV_WANT);
		path_event(&p, RDS_EV_LINK_UP);
		EXPECT_EQ(p.state, RDS_UP);
		for (i = 0; i < drops; i++)
			path_event(&p, RDS_EV_DROP);
		EXPECT_EQ(p.state, drops > 1 ? RDS_ERROR : RDS_DISCONNECTING);
		path_stopped(&p);
		if (drops > 1) {
			EXPECT_EQ(p.state, RDS_DISCONNECTING);
			path_stopped(&p);
		}
		EXPECT_EQ(p.state, RDS_DOWN);
	}
}

static const struct unit_test tests[] = {
	CASE(next__every_cell),
	CASE(next__out_of_range),
	CASE(names__all_different),
	CASE(derived_facts),
	CASE(rules_over_all_cells),
	CASE(every_state_is_reached_from_down),
	CASE(model__all_short_histories),
	CASE(model__long_random_histories),
	CASE(model__drop_is_never_swallowed),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
