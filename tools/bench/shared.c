// SPDX-License-Identifier: GPL-2.0
/* What the processes of a run share, and why it is void. */
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

#define PATIENCE_MS	1000	/* who has begun to say why may have died before the end */

struct shared *shared_new(void)
{
	struct shared *sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return sh == MAP_FAILED ? NULL : sh;
}

void shared_free(struct shared *sh)
{
	munmap(sh, sizeof(*sh));
}

/* Whoever sees that the run has failed finds the reason there. */
static bool say_why(struct shared *sh, const char *fmt, va_list ap)
{
	int ms;

	if (__atomic_exchange_n(&sh->telling, 1, __ATOMIC_ACQ_REL)) {
		for (ms = 0; !sh->failed && ms < PATIENCE_MS; ms++)
			usleep(1000);
		sh->failed = 1;
		return false;
	}
	vsnprintf(sh->why, sizeof(sh->why), fmt, ap);
	__atomic_store_n(&sh->failed, 1, __ATOMIC_RELEASE);
	return true;
}

bool give_up(struct shared *sh, const char *fmt, ...)
{
	va_list ap;
	bool heard;

	va_start(ap, fmt);
	heard = say_why(sh, fmt, ap);
	va_end(ap);
	return heard;
}

void fail(struct shared *sh, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_why(sh, fmt, ap);
	va_end(ap);
	_exit(1);
}
