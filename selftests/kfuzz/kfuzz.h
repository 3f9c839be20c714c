/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fuzzer of the RDS system calls. A program is a list of calls for two
 * threads, one in each of two joined namespaces, that share eight slots with
 * sockets; it is a plain array of numbers, so that any change of any byte is a
 * program again. What the numbers mean is in exec.c.
 *
 *	prog.c	make, change, write and read programs
 *	exec.c	the calls		(args.c: addresses, sizes, control data)
 *	run.c	a program from set-up to close, in two threads
 *	cover.c	KCOV: which code was reached
 *	kfuzz.c	the loop, the corpus, the log
 */
#ifndef KFUZZ_H
#define KFUZZ_H

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/rds.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif
#ifndef AF_RDS
#define AF_RDS		21
#endif

#define NR_SLOTS	8
#define MAX_CALLS	16
#define REGION		(3 << 20)	/* payload memory of a thread */
#define BAD_PTR		((void *)8)

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

enum op {
	OP_SOCKET, OP_BIND, OP_CONNECT, OP_SEND, OP_SENDMMSG, OP_RECV, OP_RECVMMSG,
	OP_SET_RDS, OP_SET_SOCK, OP_GET, OP_INFO, OP_IOCTL, OP_POLL, OP_EPOLL, OP_NAME,
	OP_CLOSE, OP_DUP, OP_FILE, OP_MISC, OP_MEM, OP_FORK, OP_URING, OP_PAUSE, NR_OPS
};

struct call {
	u8 op;
	u8 thread;
	u8 slot;
	u8 fail;		/* fail-nth, 0 = no fault */
	u8 b[16];		/* arguments */
};

struct prog {
	u32 n;
	struct call c[MAX_CALLS];
};

/* prog.c */
u64 rng(void);
void rng_seed(u64 seed);
void prog_make(struct prog *p);
void prog_change(struct prog *p, const struct prog *other);
int prog_hex(const struct prog *p, char *out, size_t len);
int prog_parse(struct prog *p, const char *hex);
void prog_print(const struct prog *p);
extern bool prog_faults;
extern const char * const op_names[NR_OPS];

/* One of the two threads. */
struct thread {
	int nr;
	int ns;			/* file descriptor of its namespace */
	int fail_fd;		/* its fail-nth, -1 = none */
	pthread_mutex_t arming;
	atomic_int poked;	/* a signal is on its way */
	u32 scope;		/* index of the interface */
	char *out, *in;		/* payload */
	int ring;
	struct uring *uring;
};

/* args.c: b is where the argument starts in a call */
extern u64 cookies[8];	/* of regions, with verbs */
u64 mix(u64 x);
socklen_t arg_addr(struct thread *t, const u8 *b, struct sockaddr_storage *ss);
size_t arg_size(u8 b);
u32 arg_u32(const u8 *b);
int arg_iov(const u8 *b, char *base, size_t len, struct iovec *iov);
size_t arg_control(struct thread *t, const u8 *b, char *buf, size_t room);
size_t arg_rds_value(struct thread *t, int name, const u8 *b, char *buf);

/* exec.c */
extern atomic_int slots[NR_SLOTS];
extern atomic_int complaints;
extern atomic_int regions, operations, notes;
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void exec_call(struct thread *t, const struct call *c);
int exec_socket(void);
void exec_init(struct thread *t);
void exec_notes(struct thread *t, const struct prog *p);
void exec_poke(struct thread *t, pthread_t id);

/* uring.c */
void uring_open(struct thread *t);
void uring_call(struct thread *t, int fd, const u8 *b);

/* cover.c */
bool cover_open(int nr);
void cover_enable(int nr);
void cover_reset(int nr);
bool cover_collect(unsigned int threads);
void cover_last(u64 *bits);
u32 cover_pcs(void);
u32 cover_edges(void);
#define COVER_BITS	(1 << 15)

/* run.c */
extern bool verbs;	/* both threads in this namespace, which has an RDMA device */
int run_init(bool faults);
bool run_prog(const struct prog *p);
bool run_health(void);
bool run_unpinned(void);
extern bool have_cover;

#endif
