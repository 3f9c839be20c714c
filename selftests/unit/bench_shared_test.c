// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 timeout=60 */
/* The processes of a run of rds-bench: who sees that it has failed finds why, said by the first. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "unit.h"
#include "../../tools/bench/bench.h"

#define LONG	(64UL << 20)	/* bytes; to read them takes far longer than a look at the reason */

static char *long_words(void)
{
	char *s = mmap(NULL, LONG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(s != MAP_FAILED);
	memset(s, 'x', LONG - 1);
	return s;
}

/* Another process that gives up, and needs some time to say why. */
static pid_t say_slowly(struct shared *sh, const char *words)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		fail(sh, "slow %s", words);
	return pid;
}

static void end_of(pid_t pid)
{
	int status;

	EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

static void reason_comes_first(void)
{
	struct shared *sh = shared_new();
	pid_t pid;

	CHECK(sh);
	pid = say_slowly(sh, long_words());
	while (!sh->failed)
		;
	EXPECT(!strncmp(sh->why, "slow xxx", 8));
	end_of(pid);
	shared_free(sh);
}

static void second_waits_for_the_first(void)
{
	struct shared *sh = shared_new();
	pid_t pid;

	CHECK(sh);
	pid = say_slowly(sh, long_words());
	while (!sh->telling)
		usleep(100);
	EXPECT(!give_up(sh, "mine"));
	EXPECT(sh->failed && !strncmp(sh->why, "slow xxx", 8));
	end_of(pid);
	shared_free(sh);
}

static void first_has_died(void)
{
	struct shared *sh = shared_new();

	CHECK(sh);
	sh->telling = 1;
	EXPECT(!give_up(sh, "mine"));
	EXPECT(sh->failed && !sh->why[0]);
	shared_free(sh);
}

static void first_is_heard(void)
{
	struct shared *sh = shared_new();

	CHECK(sh);
	EXPECT(give_up(sh, "number %d", 1));
	EXPECT(!give_up(sh, "number %d", 2));
	EXPECT(!strcmp(sh->why, "number 1"));
	shared_free(sh);
}

static const struct unit_test tests[] = {
	CASE(reason_comes_first),
	CASE(second_waits_for_the_first),
	CASE(first_has_died),
	CASE(first_is_heard),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
