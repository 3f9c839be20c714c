// SPDX-License-Identifier: GPL-2.0
/*
 * memwatch - look at the machine's memory five times a second until SIGTERM, then print
 * the least available memory, the largest unreclaimable slab and the most TCP had, in kB.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	stop = 1;
}

/* The number behind @key in @file, or 0. */
static long number(const char *file, const char *key)
{
	static char buf[8192];
	FILE *f = fopen(file, "r");
	const char *at;
	size_t n;

	if (!f)
		return 0;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = '\0';
	at = strstr(buf, key);
	return at ? atol(at + strlen(key)) : 0;
}

/* "TCP: inuse 5 orphan 0 tw 0 alloc 6 mem 2", in pages */
static long tcp_kb(void)
{
	static char line[200];
	FILE *f = fopen("/proc/net/sockstat", "r");
	long mem = 0;
	char *at;

	while (f && fgets(line, sizeof(line), f)) {
		at = strncmp(line, "TCP:", 4) ? NULL : strstr(line, "mem ");
		if (at)
			mem = atol(at + 4);
	}
	if (f)
		fclose(f);
	return mem * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(void)
{
	long low = 0, slab = 0, tcp = 0, v;
	struct sigaction sa = { .sa_handler = on_term };

	sigaction(SIGTERM, &sa, NULL);
	while (!stop) {
		v = number("/proc/meminfo", "MemAvailable:");
		if (!low || v < low)
			low = v;
		v = number("/proc/meminfo", "SUnreclaim:");
		if (v > slab)
			slab = v;
		v = tcp_kb();
		if (v > tcp)
			tcp = v;
		usleep(200000);
	}
	printf("%ld %ld %ld\n", low, slab, tcp);
	return 0;
}
