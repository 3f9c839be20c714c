// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=120 ref=0 waits=1 lanes=uml */
/*
 * A close() that lingers, or the end of a program, is disturbed by what is no signal for the
 * program: stop and continue, the freezer, a debugger that attaches, work of io_uring.  The cable
 * is out meanwhile; when it is in again the message arrives.
 */
#include "rds_duo.h"

#include "../freezer.h"

#include <linux/io_uring.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

enum how {
	QUIET, IGNORED_SIGNAL, STOP_CONTINUE, FREEZE, DEBUGGER, DEBUGGER_STAYS, URING, HANDLER
};

FIXTURE(disturbed)
{
	int rx;
};

FIXTURE_VARIANT(disturbed)
{
	enum how how;
	bool by_exit;
};

FIXTURE_VARIANT_ADD(disturbed, close_quiet)
{
	.how = QUIET,
};

FIXTURE_VARIANT_ADD(disturbed, close_ignored_signal)
{
	.how = IGNORED_SIGNAL,
};

FIXTURE_VARIANT_ADD(disturbed, close_stop_continue)
{
	.how = STOP_CONTINUE,
};

FIXTURE_VARIANT_ADD(disturbed, close_freezer)
{
	.how = FREEZE,
};

FIXTURE_VARIANT_ADD(disturbed, close_debugger)
{
	.how = DEBUGGER,
};

FIXTURE_VARIANT_ADD(disturbed, close_debugger_stays)
{
	.how = DEBUGGER_STAYS,
};

FIXTURE_VARIANT_ADD(disturbed, close_io_uring)
{
	.how = URING,
};

FIXTURE_VARIANT_ADD(disturbed, close_handler)
{
	.how = HANDLER,
};

FIXTURE_VARIANT_ADD(disturbed, exit_quiet)
{
	.how = QUIET, .by_exit = true,
};

FIXTURE_VARIANT_ADD(disturbed, exit_stop_continue)
{
	.how = STOP_CONTINUE, .by_exit = true,
};

FIXTURE_VARIANT_ADD(disturbed, exit_freezer)
{
	.how = FREEZE, .by_exit = true,
};

FIXTURE_SETUP(disturbed)
{
	SETUP_PAIR();
	self->rx = rds_bound_in(1, "10.1.0.2", DUO_B);
	ASSERT_FD(self->rx);
}

FIXTURE_TEARDOWN(disturbed)
{
	close(self->rx);
	freezer_close();
}

/* A time-out of io_uring is over in this thread after 0.7 s: a work that the task has to do. */
static int uring_timer(void)
{
	static struct __kernel_timespec ts = { .tv_nsec = 700000000 };
	struct io_uring_params p = {};
	struct io_uring_sqe *sqe;
	char *sq;
	int fd;

	put_text("/proc/sys/kernel/io_uring_disabled", "0");
	fd = syscall(__NR_io_uring_setup, 4, &p);
	if (fd < 0)
		return -1;
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQ_RING);
	sqe = mmap(NULL, p.sq_entries * sizeof(*sqe), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQES);
	if (sq == MAP_FAILED || sqe == MAP_FAILED)
		return -1;
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_TIMEOUT;
	sqe->addr = (unsigned long)&ts;
	sqe->len = 1;
	*(unsigned int *)(sq + p.sq_off.array) = 0;
	__atomic_store_n((unsigned int *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	return syscall(__NR_io_uring_enter, fd, 1, 0, 0, NULL, 0) == 1 ? 0 : -1;
}

static void on_signal(int sig)
{
}

/* A message, and the end of its socket. */
static int program(enum how how, bool by_exit)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct linger l = { .l_onoff = 1, .l_linger = 30 };
	int fd = rds_bound("10.1.0.1", 6000);

	if (how == URING && uring_timer())
		return 2;
	sigaction(SIGUSR1, &sa, NULL);
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)) ||
	    send_to(fd, "10.1.0.2", DUO_B, "precious", 8, MSG_DONTWAIT) != 8)
		return 1;
	return by_exit ? 0 : close(fd);
}

static bool freeze_and_thaw(pid_t pid)
{
	bool frozen = freezer_add(pid) && freezer_freeze(true) && WAIT_UNTIL(freezer_frozen());

	usleep(300000);
	return freezer_freeze(false) && frozen;
}

static bool debug(pid_t pid, bool stays)
{
	int st;

	return !ptrace(PTRACE_SEIZE, pid, 0, 0) && !ptrace(PTRACE_INTERRUPT, pid, 0, 0) &&
	       waitpid(pid, &st, __WALL) == pid && WIFSTOPPED(st) &&
	       !ptrace(stays ? PTRACE_CONT : PTRACE_DETACH, pid, 0, 0);
}

/* False if it could not be done. */
static bool disturb(enum how how, pid_t pid)
{
	switch (how) {
	case STOP_CONTINUE:
		kill(pid, SIGSTOP);
		usleep(300000);
		return !kill(pid, SIGCONT);
	case FREEZE:
		return freeze_and_thaw(pid);
	case DEBUGGER:
	case DEBUGGER_STAYS:
		return debug(pid, how == DEBUGGER_STAYS);
	case IGNORED_SIGNAL:
		return !kill(pid, SIGCHLD);
	case HANDLER:
		return !kill(pid, SIGUSR1);
	default:
		return true;
	}
}

static int cable(int in)
{
	return nl_link_flags("eth0", in);
}

TEST_F(disturbed, arrives_all_the_same)
{
	char text[16];
	int status;
	pid_t pid;

	if (variant->how == FREEZE && !freezer_open())
		SKIP(return, "this kernel has no freezer of control groups");
	ASSERT_EQ(0, cable(0));
	pid = fork();
	if (!pid)
		_exit(program(variant->how, variant->by_exit));
	usleep(500000);
	/* a program that has ended is beyond that */
	EXPECT_TRUE(disturb(variant->how, pid) || variant->by_exit);
	usleep(600000);
	ASSERT_EQ(0, cable(1));
	EXPECT_EQ(8, recv_wait(self->rx, text, sizeof(text)));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (WEXITSTATUS(status) == 2)
		SKIP(return, "this kernel has no io_uring");
	EXPECT_EQ(0, status);
	EXPECT_EQ(-1, recv(self->rx, text, sizeof(text), MSG_DONTWAIT));
}

TEST_HARNESS_MAIN
