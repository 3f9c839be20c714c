/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The delivery protocol, one direction of it: what is sent arrives once and in order, and nothing
 * ever waits for good.  Documentation/model.rst says what is modelled and what is not.
 *
 * Two ends share P paths.  End 0 dials (the smaller address), end 1 accepts.  SND sends M messages
 * of two sockets, the other end receives.  Everything that the real world decides is a choice here:
 * when a packet arrives, or an acknowledgment, when a link ends and who learns of it first, what a
 * middlebox makes of a source port, when a node starts anew, forgets a connection, or a socket takes
 * back what it has sent.
 *
 * The state table of a path and the sequence rule are not modelled: the verifier calls those of the
 * module (glue.c).
 *
 * A message is received whole or not at all: of one received in part nothing is delivered, and TCP
 * has not acknowledged its last byte, so a link that ends inside it has ended in front of it.
 */

#ifndef P
#define P	2	/* paths */
#endif
#ifndef M
#define M	3	/* messages: 3 or 4 */
#endif
#ifndef SND
#define SND	0	/* the end that sends them */
#endif
#ifndef ENDS
#define ENDS	1	/* links that are made to end */
#endif
#ifndef NL
#define NL	3	/* links that exist at a time: 3 or 4 */
#endif
#ifndef RESTART_SND
#define RESTART_SND	0	/* times that the sender starts anew */
#endif
#ifndef RESTART_RCV
#define RESTART_RCV	0
#endif
#ifndef EXPIRE
#define EXPIRE	0	/* connections that are given up, at either end */
#endif
#ifndef CLOSES
#define CLOSES	0	/* sockets that take back what they have sent */
#endif

/*
 * Faults that the module had, or a link of it could have.  NO_x takes the mending away, and the
 * verifier has to find that something is lost, doubled or overtaken:
 *   NO_INDEX	a link's path is told by its source port, not by its first frame (with NAT)
 *   NO_ANSWER	the dialler sends before the other end has said that the link is taken
 *   NO_FENCE	TCP's word counts for what is on path 0 when the others begin
 *   NO_DRAIN	a link that is taken down is not read to its end
 *   NO_FLOOR	a connection that is made anew counts from 1
 *   NO_GRAVE	what was expected next from a peer goes with its connection
 *   NO_GEN	a peer that was started anew is not recognised
 *   NO_TURN	links of an older peer are read in any order (with OLD)
 *
 * OLD: the sender is a peer that says neither which path a link belongs to nor its generation, and
 * keeps each socket on one path.  Of a link that it has left nothing is under way when it dials the
 * next one; without that nobody could tell an old message from a new one.
 */
#ifdef NO_TURN
#define HAS_TURN(e, l)	true
#else
#define HAS_TURN(e, l)	!ANY_LINK(GOES_FIRST, l)
#endif
#ifdef NO_ANSWER
#define MAY_SPEAK(l)	true
#else
#define MAY_SPEAK(l)	(SND == TAKER || answered[l])
#endif
#ifdef NO_DRAIN
#define DRAINED(l)	true
#else
#define DRAINED(l)	(len(rbuf[l]) == 0)
#endif

#define RCV	(1 - SND)
#define DIALER	0
#define TAKER	1
#define FLOW(m)	((m) == 0)	/* the socket: one sends the first, the other the rest */

/* f(m, x) for any message, f(l, x) for any link */
#define ANY(f, x)	(f(0, x) || f(1, x) || f(2, x) || f(M - 1, x))
#define ANY_LINK(f, x)	(f(0, x) || f(1, x) || f(2, x) || f(NL - 1, x))

/* State, events and actions of a path: enum rds_state, rds_event, rds_action (glue.c checks it) */
#define DOWN		0
#define BACKOFF		1
#define CONNECTING	2
#define UP		3
#define DISCONNECTING	4
#define ERROR		5
#define EV_WANT		0
#define EV_TIMER	1
#define EV_ACCEPT	2
#define EV_LINK_UP	3
#define EV_DROP		4
#define EV_STOPPED_ADOPT 5
#define EV_STOPPED_RETRY 6
#define EV_STOPPED_IDLE	7
#define ACT_NONE	0
#define ACT_START	4
#define ACT_ADOPT	5
#define ACT_STOP	7

/* What SND puts on a link. */
#define PING		0
#define DATA(m, r)	(2 + 2 * (m) + (r))
#define MSG(f)		(((f) - 2) / 2)
#define IS_DATA(f)	((f) >= 2)

/* Where a message is at the sender. */
#define UNSENT	0
#define QUEUED	1
#define SENT	2
#define ACKED	3
#define TAKEN	4	/* its socket took it back: it may arrive */
#define LOST	5	/* its sender was started anew: it may arrive */
#define WAITS(m, x)	(loc[m] == QUEUED || loc[m] == SENT)

/* index of an end of a path, and of a link */
#define X(e, p)		((e) * P + (p))
#define Y(e, l)		((e) * NL + (l))
#define NONE		255

c_decl {
	extern int model_next(int state, int event);
	extern int model_action(int state, int event);
	extern int model_dup(unsigned char *next, int seq, int repeat);
	extern int model_dup_flow(unsigned char *next, unsigned char *last, int path, int seq, int repeat);
}

/* paths */
byte st[2 * P];			/* state */
byte act[2 * P];		/* what its control work has to do */
byte lk[2 * P];			/* its link, NONE */
chan parked[P] = [2] of { byte };	/* links that wait at the accepting end */

/* links */
bool used[NL];
bool told[NL];			/* the dialler's first frame has arrived */
bool placed[NL];		/* the accepting end has given it to a path */
byte index[NL];			/* the dialler's path */
byte port[NL];			/* which one its port tells at the other end */
byte age[NL];			/* order in which they were dialled, of an older peer */
bool answered[NL];		/* the dialler knows that it was taken */
bool cut[NL];			/* no packet passes any more */
bool closed[2 * NL];		/* this end is closed */
byte gen_of[NL];		/* generation of the sender's instance */
byte pong[NL];			/* answers under way to the sender */
chan wire[NL] = [M + 2] of { byte };	/* sent and not received */
chan rbuf[NL] = [M + 2] of { byte };	/* TCP has acknowledged it, nobody has read it */

/* the sender */
byte loc[M], path_of[M], seq[M], link_of[M];
bool repeat[M], got[M];		/* @got: the receiver's TCP has it */
byte sent;			/* messages sent so far */
byte next_tx[P];
byte way[2];			/* path of a socket once there are several */
bool spread;			/* messages are spread */
bool gate;			/* paths above 0 may send */
bool early[M];			/* sent before they were spread */
byte pings, pongs, fence;	/* handshake pings on path 0's link, answers, those wanted */
byte ping_at;			/* the last one goes behind the messages below */
bool ping_due;

/* both */
byte gen;			/* generation of the sender's instance */
bool greeted[2];		/* an answer came by path 0's present link */

/* the receiver */
byte next_rx[P], rx_gen[P];
bool delivered[M];
byte newest[2];			/* of each socket: the last message + 1 */
#ifdef OLD
byte flow[2];			/* of each socket: the last number, as struct rds_flow_seq */
#endif
bool excused[M];		/* the receiver's old instance had it */

byte ended, restarts_snd, restarts_rcv, expired, closes;
byte ax, ae;			/* arguments of C code, and what loops need; 0 between */
bool ok;

inline purge(c)
{
	do
	:: len(c) > 0 -> c ? _
	:: else -> break
	od
}

#define FOR(i, n, what)	i = 0; do :: i < n -> what; i++ :: else -> break od; i = 0

/* An event of path end @x: the module's table says what follows. */
inline apply(x, ev)
{
	ax = x; ae = ev;
	c_code {
		int s = now.st[now.ax], a = model_action(s, now.ae);

		now.st[now.ax] = model_next(s, now.ae);
		if (a == 4 || a == 5 || a == 7)
			now.act[now.ax] = a;
		now.ax = now.ae = 0;
	};
}

inline close_end(e, l)
{
	closed[Y(e, l)] = true;
	if
	:: e == RCV -> purge(rbuf[l])
	:: else -> pong[l] = 0;
#ifdef OLD
		purge(wire[l])
#endif
	fi;
	if
	:: closed[Y(1 - e, l)] ->
		purge(wire[l]);
		purge(rbuf[l]);
		used[l] = false; placed[l] = false; answered[l] = false; cut[l] = false;
		told[l] = false; index[l] = 0; port[l] = 0; age[l] = 0; gen_of[l] = 0;
		pong[l] = 0; closed[Y(0, l)] = false; closed[Y(1, l)] = false
	:: else
	fi
}

/* ---- the order when messages begin to be spread ----------------------------------------- */

inline open_gate()
{
	if
	:: spread && !gate && fence <= pongs ->
		ok = true;
		FOR(ax, M, ok = ok && !(early[ax] && WAITS(ax, 0)));
		if
		:: ok -> gate = true; fence = 0; FOR(ax, M, early[ax] = false)
		:: else
		fi;
		ok = false
	:: else
	fi
}

inline ask()
{
	ping_due = true;
	ping_at = next_tx[0];
	pings++
}

/* Path 0 has a new link: what was asked on the old one is answered no more. */
inline forget_pings()
{
	pings = 0; pongs = 0;
	fence = (fence -> 1 : 0);
	ask()
}

/* The first answer: from now on messages are spread over the paths. */
inline publish()
{
	if :: way[0] = 0 :: way[0] = P - 1 fi;
	if :: way[1] = 0 :: way[1] = P - 1 fi;
	spread = true;
	/* What was sent behind the ping, or before an unanswered one, may be unread. */
	FOR(ax, sent, ok = ok || (loc[ax] != LOST && path_of[ax] == 0 &&
				  (seq[ax] >= ping_at || pongs < pings)); early[ax] = WAITS(ax, 0));
#ifndef NO_FENCE
	if
	:: ok -> fence = pings + 1; ask()
	:: else
	fi;
#endif
	ok = false;
	open_gate()
}

inline pong_came()
{
	greeted[SND] = true;
	if
	:: pongs < pings -> pongs++
	:: else
	fi;
	if
	:: !spread -> publish()
	:: else -> open_gate()
	fi
}

/* The link is up. */
inline begin(e, p, l)
{
	if
	:: e == SND -> gen_of[l] = gen
	:: else
	fi;
	if
	:: p == 0 ->
		greeted[e] = false;
#ifndef OLD
		if
		:: e == SND -> forget_pings()
		:: else
		fi
#endif
	:: else
	fi
}

/* ---- a link: packets, acknowledgments, and the accepting end --------------------------------- */

#define ACKABLE(m, l)	(loc[m] == SENT && got[m] && link_of[m] == l)
#define PASSES(l)	(used[l] && !cut[l] && !closed[Y(RCV, l)])
#define UNPLACED(l)	(used[l] && !placed[l] && !closed[Y(TAKER, l)])

/* An older peer's links get their paths in the order in which they came. */
#define IS_BEFORE(i, l)	(UNPLACED(i) && age[i] < age[l])

/* Of an older peer: is @i left, and not read to its end?  Then @l waits. */
#define GOES_FIRST(i, l)	(used[i] && age[i] < age[l] && (cut[i] || closed[Y(SND, i)]) && len(rbuf[i]) > 0)

/* An older peer's link: the lowest path that has none, else that whose link is the oldest. */
#define IS_VACANT(q)	(st[X(TAKER, q)] != UP && act[X(TAKER, q)] != ACT_ADOPT && len(parked[q]) == 0)
#define HAS_NEXT(q)	(act[X(TAKER, q)] == ACT_ADOPT || len(parked[q]) > 0)
#define IS_YOUNGER(q, r)	(lk[X(TAKER, q)] != NONE && lk[X(TAKER, r)] != NONE &&	\
				 age[lk[X(TAKER, q)]] > age[lk[X(TAKER, r)]])
#define LOWEST		(IS_VACANT(0) -> 0 : (IS_VACANT(P - 1) -> P - 1 : OLDEST))
#define OLDEST		(HAS_NEXT(0) != HAS_NEXT(P - 1) -> (HAS_NEXT(0) -> P - 1 : 0) :	\
			 (IS_YOUNGER(0, P - 1) -> P - 1 : 0))

#if defined(OLD)
#define PLACE(l)	LOWEST
#elif defined(NO_INDEX)
#define PLACE(l)	port[l]
#else
#define PLACE(l)	index[l]
#endif

proctype Link(byte l)
{
	byte i, f;
end:	do
	:: atomic { PASSES(l) && !closed[Y(TAKER, l)] && !told[l] -> told[l] = true }
	:: atomic { PASSES(l) && told[l] && len(wire[l]) > 0 ->
		wire[l] ? f;
		rbuf[l] ! f;
		if
		:: IS_DATA(f) && link_of[MSG(f)] == l -> got[MSG(f)] = true
		:: else
		fi;
		f = 0 }
	:: atomic { PASSES(l) && !closed[Y(SND, l)] && ANY(ACKABLE, l) ->
		FOR(i, M, if :: ACKABLE(i, l) -> loc[i] = ACKED; printf("message %d is acknowledged on link %d\n", i, l)
			     :: else fi);
		open_gate() }
	/* It is given to its path. */
	:: atomic { UNPLACED(l) && told[l] && len(parked[PLACE(l)]) < 2 && !ANY_LINK(IS_BEFORE, l) ->
		i = PLACE(l);
		printf("link %d waits for path %d\n", l, i);
		placed[l] = true;
		parked[i] ! l;
		apply(X(TAKER, i), EV_ACCEPT);
		i = 0 }
	/* The dialler learns that it was taken. */
	:: atomic { PASSES(l) && !answered[l] && (lk[X(TAKER, 0)] == l || lk[X(TAKER, P - 1)] == l) ->
		answered[l] = true }
	:: atomic { UNPLACED(l) && !told[l] && (cut[l] || closed[Y(DIALER, l)]) -> close_end(TAKER, l) }
	od
}

/* ---- one end of a path ------------------------------------------------------------------------ */

#define HAS(e, p)	(lk[X(e, p)] != NONE)
#define LINK(e, p)	lk[X(e, p)]
#define IS_STOPPING(x)	(st[x] == DISCONNECTING || st[x] == ERROR)
#define IS_QUEUED_ON(m, p)	(loc[m] == QUEUED && path_of[m] == p)

/* Path 0 only, until an answer has shown that the peer knows the others. */
#ifdef OLD
#define MAY_DIAL(p)	true
#define MAY_READ(e, l)	HAS_TURN(e, l)
#else
#define MAY_DIAL(p)	((p) == 0 || (greeted[DIALER] && st[X(DIALER, 0)] == UP))
#define MAY_READ(e, l)	true
#endif

inline take_data(p, l, f)
{
	ax = p; ae = f;
#if !defined(NO_GEN) && !defined(OLD)
	if
	:: rx_gen[p] != gen_of[l] -> next_rx[p] = 0; rx_gen[p] = gen_of[l]
	:: else
	fi;
#endif
#ifdef OLD
	c_code {
		int f = now.ae, m = (f - 2) / 2;

		now.ax = model_dup_flow(&now.next_rx[now.ax], &now.flow[m == 0], now.ax, now.seq[m], f & 1);
		now.ae = 0;
	};
#else
	c_code {
		int f = now.ae, m = (f - 2) / 2;

		now.ax = model_dup(&now.next_rx[now.ax], now.seq[m], f & 1);
		now.ae = 0;
	};
#endif
	printf("message %d is read from link %d of path %d, repeated before: %d\n", MSG(f), l, p, ax);
	if
	:: !ax ->
		assert(!delivered[MSG(f)]);	/* once */
		assert(loc[MSG(f)] == LOST || newest[FLOW(MSG(f))] <= MSG(f));	/* in order */
		delivered[MSG(f)] = true;
		if
		:: newest[FLOW(MSG(f))] <= MSG(f) -> newest[FLOW(MSG(f))] = MSG(f) + 1
		:: else
		fi
	:: else
	fi;
	ax = 0
}

inline stopped(e, p)
{
	l = lk[X(e, p)];
	printf("end %d has taken down link %d of path %d\n", e, l, p);
	act[X(e, p)] = ACT_NONE;
	lk[X(e, p)] = NONE;
	if
	:: l != NONE -> close_end(e, l)
	:: else
	fi;
	l = 0;
	if
	:: e == SND ->
		FOR(i, M, if :: loc[i] == SENT && path_of[i] == p ->
				loc[i] = QUEUED; repeat[i] = true; got[i] = false; link_of[i] = 0
			     :: else fi);
		ping_due = ping_due && p != 0
	:: else
	fi;
	greeted[e] = greeted[e] && p != 0;
	if
	:: e == TAKER && len(parked[p]) > 0 -> apply(X(e, p), EV_STOPPED_ADOPT)
	:: e == TAKER && len(parked[p]) == 0 -> apply(X(e, p), EV_STOPPED_IDLE)
	:: e == DIALER -> apply(X(e, p), EV_STOPPED_RETRY)
	fi
}

proctype End(byte e; byte p)
{
	byte l, f, i;
end:	do
	/* The receiver reads. */
	:: atomic { e == RCV && HAS(e, p) && len(rbuf[LINK(e, p)]) > 0 &&
		    (st[X(e, p)] == UP || IS_STOPPING(X(e, p))) && MAY_READ(e, LINK(e, p)) ->
		l = LINK(e, p);
		rbuf[l] ? f;
		if
		:: f == PING && st[X(e, p)] == UP && !closed[Y(SND, l)] && !cut[l] -> pong[l]++
		:: IS_DATA(f) -> take_data(p, l, f)
		:: else
		fi;
		f = 0; l = 0 }
	/* An answer arrives. */
	:: atomic { e == SND && p == 0 && st[X(e, p)] == UP && pong[LINK(e, p)] > 0 && !cut[LINK(e, p)] ->
		pong[LINK(e, p)]--;
		pong_came() }
	/* So does one to the receiver, if that is to dial. */
	:: atomic { e == RCV && e == DIALER && p == 0 && st[X(e, 0)] == UP && !greeted[e] &&
		    LINK(TAKER, 0) == LINK(DIALER, 0) && st[X(TAKER, 0)] == UP && !cut[LINK(e, 0)] ->
		greeted[e] = true }
	/* It learns that the link has ended. */
	:: atomic { HAS(e, p) && st[X(e, p)] == UP && (cut[LINK(e, p)] || closed[Y(1 - e, LINK(e, p))]) ->
		if
		:: e == RCV -> purge(wire[LINK(e, p)])
		:: else
		fi;
		apply(X(e, p), EV_DROP) }
	/* It has taken it down. */
	:: atomic { act[X(e, p)] == ACT_STOP && (e == SND || !HAS(e, p) || DRAINED(LINK(e, p))) ->
		stopped(e, p) }
	/* The sender sends. */
	:: atomic { e == SND && HAS(e, p) && st[X(e, p)] == UP && (p == 0 || gate) &&
		    MAY_SPEAK(LINK(e, p)) && ((p == 0 && ping_due) || ANY(IS_QUEUED_ON, p)) ->
		l = LINK(e, p);
		i = 0;
		do
		:: i < M && !IS_QUEUED_ON(i, p) -> i++
		:: else -> break
		od;
		if
		:: p == 0 && ping_due && (i == M || seq[i] >= ping_at) ->
			wire[l] ! PING;
			ping_due = false
		:: else ->
			printf("message %d goes by link %d of path %d\n", i, l, p);
			wire[l] ! DATA(i, repeat[i]);
			loc[i] = SENT; link_of[i] = l; got[i] = false
		fi;
		i = 0; l = 0 }
	/* The accepting end takes the oldest link that waits. */
	:: atomic { e == TAKER && act[X(e, p)] == ACT_ADOPT ->
		act[X(e, p)] = ACT_NONE;
		parked[p] ? l;
		lk[X(e, p)] = l;
		printf("link %d is taken for path %d\n", l, p);
		apply(X(e, p), EV_LINK_UP);
		begin(e, p, l);
		if
		:: len(parked[p]) > 0 -> apply(X(e, p), EV_ACCEPT)
		:: else
		fi;
		l = 0 }
	/* The other one dials. */
	:: atomic { e == DIALER && st[X(e, p)] == BACKOFF && MAY_DIAL(p) -> apply(X(e, p), EV_TIMER) }
	:: atomic { e == DIALER && st[X(e, p)] == DOWN && MAY_DIAL(p) && (p > 0 || sent) ->
		apply(X(e, p), EV_WANT) }
	:: atomic { e == DIALER && act[X(e, p)] == ACT_START &&
		    !(used[0] && used[1] && used[2] && used[NL - 1]) ->
		act[X(e, p)] = ACT_NONE;
		do
		:: used[l] -> l++
		:: else -> break
		od;
		index[l] = p;
		used[l] = true;
#ifdef OLD
		told[l] = true;
		answered[l] = true;
		FOR(i, NL, age[l] = (used[i] && i != l && age[i] >= age[l] -> age[i] + 1 : age[l]));
#endif
		if
		:: port[l] = p
#ifdef NAT
		:: port[l] = (p + 1) % P
#endif
		fi;
		lk[X(e, p)] = l;
		printf("path %d dials link %d\n", p, l);
		apply(X(e, p), EV_LINK_UP);
		begin(e, p, l);
		l = 0 }
	od
}

/* ---- programs ------------------------------------------------------------------------------- */

proctype Program()
{
	do
	:: atomic { sent < M ->
		path_of[sent] = (spread -> way[FLOW(sent)] : 0);
		seq[sent] = next_tx[path_of[sent]];
		next_tx[path_of[sent]] = next_tx[path_of[sent]] + 1;
		loc[sent] = QUEUED;
		printf("message %d is sent, path %d number %d\n", sent, path_of[sent], seq[sent]);
		sent++ }
	:: atomic { sent == M -> break }
	od
}

/* ---- what goes wrong ---------------------------------------------------------------------- */

#define CUT(l)									\
	:: atomic { ended < ENDS && used[l] && !cut[l] && !closed[Y(0, l)] && !closed[Y(1, l)] -> \
		printf("link %d is cut\n", l);					\
		cut[l] = true; ended++; pong[l] = 0; purge(wire[l]) }
#define RESET(e, p)								\
	:: atomic { ended < ENDS && st[X(e, p)] == UP ->			\
		printf("end %d drops the link of path %d\n", e, p);		\
		ended++; apply(X(e, p), EV_DROP) }
#define IS_QUIET(e, p)	(st[X(e, p)] == DOWN || st[X(e, p)] == BACKOFF)
#define IS_UNUSED(e)	(IS_QUIET(e, 0) && IS_QUIET(e, P - 1) && len(parked[0]) == 0 && len(parked[P - 1]) == 0)

inline forget_sender()
{
	spread = false; gate = false; greeted[SND] = false;
	pings = 0; pongs = 0; fence = 0; ping_at = 0; ping_due = false;
	way[0] = 0; way[1] = 0;
	FOR(ax, M, early[ax] = false)
}

/* No path has a link, and none waits for one. */
inline forget_paths(e)
{
	FOR(p, P, st[X(e, p)] = DOWN; act[X(e, p)] = ACT_NONE);
	greeted[e] = false
}

inline forget_links(e)
{
	FOR(p, P, lk[X(e, p)] = NONE; if :: e == TAKER -> purge(parked[p]) :: else fi);
	FOR(l, NL, if :: used[l] && !closed[Y(e, l)] -> close_end(e, l) :: else fi);
	forget_paths(e)
}

proctype World()
{
	byte l, i, p;
end:	do
	CUT(0) CUT(1) CUT(2) CUT(NL - 1)
	RESET(0, 0) RESET(0, P - 1) RESET(1, 0) RESET(1, P - 1)
	:: atomic { restarts_snd < RESTART_SND && sent < M ->
		printf("the sender starts anew\n");
		restarts_snd++;
		forget_links(SND);
		forget_sender();
		gen++;
		FOR(i, M, loc[i] = (WAITS(i, 0) -> LOST : loc[i]));
		FOR(i, P, next_tx[i] = 1) }
	:: atomic { restarts_rcv < RESTART_RCV ->
		printf("the receiver starts anew\n");
		restarts_rcv++;
		forget_links(RCV);
		FOR(i, M, excused[i] = excused[i] || got[i] || delivered[i] || loc[i] == ACKED; delivered[i] = false);
		newest[0] = 0; newest[1] = 0;
		FOR(i, P, next_rx[i] = 0; rx_gen[i] = 0) }
	/* Nothing waits on a connection, and it is forgotten: by the sender, */
	:: atomic { expired < EXPIRE && IS_UNUSED(SND) && !ANY(WAITS, 0) && sent > 0 ->
		printf("the sender forgets the connection\n");
		expired++;
		forget_paths(SND);
		forget_sender();
#ifdef NO_FLOOR
		next_tx[0] = 1; next_tx[P - 1] = 1
#else
		next_tx[0] = (next_tx[0] < next_tx[P - 1] -> next_tx[P - 1] : next_tx[0]);
		next_tx[P - 1] = next_tx[0]
#endif
		}
	/* or by the receiver. */
	:: atomic { expired < EXPIRE && IS_UNUSED(RCV) && sent > 0 ->
		printf("the receiver forgets the connection\n");
		expired++;
		forget_paths(RCV);
#ifdef NO_GRAVE
		next_rx[0] = 0; next_rx[P - 1] = 0; rx_gen[0] = 0; rx_gen[P - 1] = 0
#endif
		}
	:: atomic { closes < CLOSES ->
		closes++;
		if :: p = 0 :: p = 1 fi;
		printf("socket %d takes back what it has sent\n", p);
		FOR(i, M, loc[i] = (FLOW(i) == p && WAITS(i, 0) -> TAKEN : loc[i]));
		p = 0;
		open_gate() }
	od
}

/* ---- what has to come of it --------------------------------------------------------------------- */

#define IS_LEFT(m, x)	(loc[m] < ACKED)

/* The only process that may not end elsewhere: if nothing moves any more, everything has arrived. */
proctype Goal()
{
	byte i;
	atomic { sent == M && !ANY(IS_LEFT, 0) && timeout ->
		FOR(i, M, assert(loc[i] != ACKED || delivered[i] || excused[i])) }
}

init {
	byte i;
	atomic {
		gen = 1;
		FOR(i, 2 * P, lk[i] = NONE);
		FOR(i, P, next_tx[i] = 1);
#ifdef OLD
		spread = true; gate = true;
		if :: way[0] = 0 :: way[0] = P - 1 fi;
		if :: way[1] = 0 :: way[1] = P - 1 fi;
#endif
		run Program(); run World(); run Goal();
		FOR(i, P, run End(0, i); run End(1, i));
		FOR(i, NL, run Link(i))
	}
}
