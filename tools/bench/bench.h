/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of rds-bench share. */
#ifndef RDS_BENCH_H
#define RDS_BENCH_H

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#include "check.h"
#include "histogram.h"

#define MAX_CELLS	64
#define MAX_PROTOS	8
#define MAX_ROUNDS	60
#define MAX_IN_FLIGHT	64	/* RDMA operations */

enum work { STREAM, PINGPONG, FANOUT, FANIN, SOCKETS, BESIDE, READ, WRITE, NR_WORKS };

/* One measurement: a kind of work, a message size, how many peers. */
struct cell {
	enum work work;
	unsigned int size;
	unsigned int n;
};

enum spoil { SPOIL_NOT, SPOIL_FLIP, SPOIL_HEAD, SPOIL_CUT, SPOIL_RUN, SPOIL_DROP, SPOIL_DUP,
	     SPOIL_SWAP, NR_SPOILS };

#define SPOIL_AT	3	/* this message of each flow is spoilt */

struct options {
	double seconds;
	unsigned int repeat;
	const char *tx_ns, *rx_ns;
	struct in_addr tx, rx;
	bool tx_named, rx_named;
	const char *server;		/* its address, if the receivers are there */
	unsigned int port;		/* of the server */
	bool serve;
	enum spoil spoil;
	bool wakeups, mark, json, quiet;
	const char *plot;
};

extern struct options opt;

/* A transport under test. */
struct proto {
	const char *name;
	const char *title;
	unsigned int max_size;
	bool reliable;			/* a gap is an error, not a figure */
	bool stream;			/* needs framing, connections and epoll */
	bool nagle;
	bool eor;			/* messages come in parts, the last with MSG_EOR */
	bool rdma;			/* can read and write the peer's memory */
	/* Return: a bound socket, or -1 with errno. */
	int (*open)(const struct proto *p, const struct sockaddr_in *local, int buf, bool rx);
	/* How many messages may be on the way to one receiver; NULL: no limit. */
	unsigned int (*window)(unsigned int size);
};

extern const struct proto protos[];
extern const unsigned int nr_protos;

struct flow_count {
	volatile uint64_t received;
	volatile uint64_t lost;
	uint64_t pad[6];		/* a cache line for each writer */
};

/* Between the processes of one run. */
struct shared {
	volatile int ready, go, stop, measuring, finish;
	volatile int failed;		/* and the reason is complete */
	int telling;			/* the first that gives up writes the reason */
	char why[200];
	uint64_t run;
	struct sockaddr_storage addr[MAX_FLOWS];	/* of the receiving sockets */
	socklen_t addr_len[MAX_FLOWS];
	int via;			/* transport of the receivers' RDS sockets, or -1 */
	uint64_t key[MAX_IN_FLIGHT];	/* to the receiver's memory */
	struct flow_count flow[MAX_FLOWS];
	struct histogram times;				/* of round trips, ns */
};

/* A run as its processes see it. */
struct job {
	const struct proto *proto;
	struct cell cell;
	struct shared *sh;
	unsigned int base;		/* first port */
	int buf;			/* bytes for the socket buffers */
	unsigned int nflows, nsenders, nsocks, nreceivers;
};

struct result {
	const struct proto *proto;
	struct cell cell;
	unsigned int round;		/* from 1 */
	bool failed;
	char why[200];
	int via;			/* transport of RDS, or -1 */
	uint64_t messages, lost;
	double seconds, rate, ns;
	double ctxsw, wakeups;		/* per message; below 0: not known */
	double fairness;		/* least and most served flow */
	double median, p99;		/* microseconds of a round trip; below 0: there is none */
};

/* Over the rounds; without any value @n is 0. */
struct spread {
	unsigned int n;
	double median, least, most;
};

/* A transport in a cell, over the rounds. */
struct summary {
	const struct proto *proto;
	struct cell cell;
	unsigned int rounds, failed;
	struct spread rate, median, p99, x_tcp;
};

struct peer {
	struct sockaddr_storage addr;
	socklen_t len;			/* 0: the socket is connected */
};

/* The sockets that one process reads, and what it makes of the messages. */
struct rx {
	const struct job *job;
	struct checker check;
	unsigned int nfds;
	int fd[MAX_FLOWS];
	struct frames *frames[MAX_FLOWS];
	char *buf;
	uint64_t room;			/* bytes in @buf */
	char *memory;			/* that the peer reads or writes */
	void (*taken)(struct rx *rx, const struct msg_head *h, unsigned int i,
		      const struct peer *from);
	unsigned int ended, flows;	/* that have, and that there are */
	uint64_t credit[MAX_FLOWS];	/* messages that the peer has taken, or answered */
};

/* shared.c */
/* NULL without memory */
struct shared *shared_new(void);
void shared_free(struct shared *sh);
/* Says why this run is void. Return: whether that is heard: the first to say it is. */
bool give_up(struct shared *sh, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for a process of the run, which ends with it. */
void fail(struct shared *sh, const char *fmt, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* send.c */
void send_process(const struct job *job, unsigned int index) __attribute__((noreturn));

/* receive.c */
void receive_process(const struct job *job, unsigned int index) __attribute__((noreturn));
void rx_init(struct rx *rx, const struct job *job);
void rx_add(struct rx *rx, int fd);
int rx_receive(struct rx *rx, unsigned int i, int flags);
void rx_message(struct rx *rx, unsigned int i, const void *buf, size_t len,
		const struct peer *from);

/* socket.c */
void send_message(const struct job *job, int fd, const struct peer *to,
		  const struct msg_head *h, const void *payload, size_t payload_len);
unsigned int job_window(const struct job *job);
unsigned int job_size(const struct job *job, unsigned int flow);
bool job_is_pinged(const struct job *job, unsigned int flow);
bool job_sender_counts(const struct job *job, unsigned int flow);
const struct proto *find_proto(const char *name);
bool proto_there(const struct proto *p);
bool proto_can(const struct proto *p, const struct cell *c);
int socket_via(int fd);
const char *via_name(int via);

/* tcp.c */
struct frames *frames_new(unsigned int size);
int frames_read(struct rx *rx, unsigned int i, int flags);

/* rdma.c */
unsigned int job_keys(const struct job *job);
void rdma_offer(struct rx *rx, int fd);
void rdma_written(struct rx *rx, const struct msg_head *h);
uint64_t rdma_run(const struct job *job, int fd, const struct peer *to, struct rx *in);

/* crew.c */

/* The processes of a run: those that are there, so that what is killed is one of them. */
struct crew {
	bool hang;
	unsigned int n;
	pid_t pid[MAX_FLOWS + 2];
};

uint64_t now_ns(void);
void pause_s(double seconds);
void job_shape(struct job *job, const struct proto *p, const struct cell *c, struct shared *sh);
bool crew_receivers(const struct job *job, struct crew *crew);
bool crew_senders(const struct job *job, struct crew *crew);
bool crew_end(const struct job *job, struct crew *crew, unsigned int first, unsigned int last);
void crew_kill(struct crew *crew);

/* run.c */
void run_cell(const struct proto *p, const struct cell *c, struct result *r);

/* remote.c, server.c */
struct about;
struct counts;
struct greeting;

int remote_connect(const struct greeting *mine);
const struct about *remote_about(void);
bool remote_start(const struct job *job);
bool remote_look(const struct job *job, struct counts *c);
bool remote_stop(const struct job *job);
int serve(const struct greeting *mine);

/* cost.c */
struct cost {
	uint64_t ctxsw, wakeups;
	bool wakeups_known;
};

void cost_read(struct cost *c);
int cost_try_wakeups(void);
bool cost_count_wakeups(bool on);
void cost_mark(unsigned int which);

/* summary.c */
bool is_time(const struct cell *c);
bool has_flows(const struct cell *c);
bool same_cell(const struct cell *a, const struct cell *b);
double ratio_to_tcp(const struct result *all, unsigned int n, const struct result *r);
void summarize(const struct result *all, unsigned int n, const struct proto *p,
	       const struct cell *c, struct summary *s);
unsigned int next_summary(const struct result *all, unsigned int n, unsigned int i,
			  struct summary *s);

/* cells.c */
extern const char * const work_names[NR_WORKS];
void cell_words(const struct cell *c, char *text, size_t room);
int cell_parse(const char *text, struct cell *c, char *why, size_t room);
int parse_count(const char *text, char **end, unsigned int *value);
bool is_rdma(const struct cell *c);

/* report.c, json.c, plot.c */

/* What a document tells beside the results. */
struct document {
	time_t date;
	const struct about *here, *there;	/* @there: NULL with one host */
};

void report_progress(unsigned int done, unsigned int total, const struct result *r);
void report_table(const struct result *r, unsigned int n);
void report_json(const struct document *d, const struct result *r, unsigned int n);
FILE *plot_open(const char *path);
int plot_svg(FILE *f, const struct result *r, unsigned int n);

#endif
