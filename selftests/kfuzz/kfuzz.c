// SPDX-License-Identifier: GPL-2.0
/*
 * The loop: first the saved programs, then new and changed ones; with KCOV those
 * that reach new code are kept and changed further.
 *
 * usage: kfuzz [--seed N] [--seconds N] [--corpus FILE] [--log FILE] [--faults]
 *		[--save FILE] [--run HEX] [--repeat N] [--verbs]
 */
#include "kfuzz.h"

#include <fcntl.h>
#include <getopt.h>
#include <time.h>

#define MAX_CORPUS	8192
#define LOG_SLOTS	64
#define LOG_LINE	1024
#define HEALTH_EVERY	500
#define LOOK_EVERY	64

static struct prog *corpus[MAX_CORPUS];
static u32 nr_corpus, nr_saved, nr_run;
static int log_fd = -1;
static int kmsg_fd = -1;
static struct prog recent[8];

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void keep(const struct prog *p)
{
	struct prog *copy;

	if (nr_corpus == MAX_CORPUS)
		return;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return;
	*copy = *p;
	corpus[nr_corpus++] = copy;
}

static int load(const char *path)
{
	char line[2 * sizeof(struct prog) + 16];
	struct prog p;
	FILE *f = fopen(path, "r");

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		if (line[0] != '#' && !prog_parse(&p, line))
			keep(&p);
	fclose(f);
	nr_saved = nr_corpus;
	return 0;
}

/* The last programs, on a file system that survives us, before each one runs. */
static void log_prog(const struct prog *p)
{
	char line[LOG_LINE];
	int n;

	recent[nr_run % ARRAY_SIZE(recent)] = *p;
	if (log_fd < 0)
		return;
	memset(line, ' ', sizeof(line));
	n = snprintf(line, sizeof(line), "%u ", nr_run);
	n += prog_hex(p, line + n, sizeof(line) - n);
	line[n] = ' ';
	line[LOG_LINE - 1] = '\n';
	if (pwrite(log_fd, line, LOG_LINE, (nr_run % LOG_SLOTS) * LOG_LINE) != LOG_LINE)
		complain("log: errno %d", errno);
	/* to the host's page cache, that is enough for a guest's death */
	sync_file_range(log_fd, (nr_run % LOG_SLOTS) * LOG_LINE, LOG_LINE,
			SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

static void show_recent(void)
{
	u32 i, n = ARRAY_SIZE(recent);

	printf("# the last programs, the latest at the end (kfuzz --run HEX repeats one):\n");
	for (i = nr_run < n ? 0 : nr_run - n + 1; i <= nr_run; i++)
		prog_print(&recent[i % n]);
}

/* Has the kernel said something bad? The runner fails the test for it; we say why. */
static bool log_is_clean(void)
{
	static const char * const bad[] = {
		"BUG:", "WARNING:", "Oops", "KASAN", "UBSAN", "KCSAN", "refcount_t",
		"possible circular", "possible recursive", "inconsistent lock", "suspicious RCU",
		"general protection", "ODEBUG", "sleeping function", "list_add corruption",
		"list_del corruption",
	};
	char line[1024];
	ssize_t n;
	u32 i;

	while (kmsg_fd >= 0 && (n = read(kmsg_fd, line, sizeof(line) - 1)) > 0) {
		line[n] = 0;
		for (i = 0; i < ARRAY_SIZE(bad); i++)
			if (strstr(line, bad[i])) {
				complain("kernel log: %s", line);
				return false;
			}
	}
	return true;
}

static bool one(const struct prog *p, bool may_keep)
{
	bool ok;

	log_prog(p);
	ok = run_prog(p);
	if (ok && have_cover && cover_collect(3) && may_keep)
		keep(p);
	if (ok && nr_run % LOOK_EVERY == 0)
		ok = log_is_clean();
	if (ok && nr_run % HEALTH_EVERY == HEALTH_EVERY - 1)
		ok = run_health();
	if (!ok)
		show_recent();
	nr_run++;
	return ok;
}

static void choose(struct prog *p)
{
	u32 from;

	if (!nr_corpus || rng() % 8 == 0) {
		prog_make(p);
		return;
	}
	/* half of the time one of the latest */
	from = rng() % 2 && nr_corpus > 32 ? nr_corpus - 1 - rng() % 32 : rng() % nr_corpus;
	*p = *corpus[from];
	prog_change(p, corpus[rng() % nr_corpus]);
}

static void progress(double start)
{
	printf("# %4.0f s: %u programs, corpus %u", now() - start, nr_run, nr_corpus);
	if (have_cover)
		printf(", %u PCs, %u pairs", cover_pcs(), cover_edges());
	printf("\n");
	fflush(stdout);
}

/* Over verbs the check for RDMA wants some programs, on a slow machine as well. */
#define LEAST_PROGS	400

static bool goes_on(double passed, double seconds)
{
	return passed < seconds || (verbs && nr_run < LEAST_PROGS && passed < 4 * seconds);
}

static bool fuzz(double seconds)
{
	double start = now(), next = 1;
	struct prog p;
	u32 i;

	for (i = 0; i < nr_saved; i++)
		if (!one(corpus[i], false))
			return false;
	printf("# saved corpus: %u programs\n", nr_saved);
	progress(start);
	while (goes_on(now() - start, seconds)) {
		choose(&p);
		if (!one(&p, true))
			return false;
		if (now() - start >= next) {
			progress(start);
			while (next <= now() - start)
				next *= next < 64 ? 2 : 1.2;
		}
	}
	progress(start);
	return log_is_clean();
}

#define WORDS	(COVER_BITS / 64)

static u32 gain(const u64 *bits, const u64 *have)
{
	u32 i, n = 0;

	for (i = 0; i < WORDS; i++)
		n += __builtin_popcountll(bits[i] & ~have[i]);
	return n;
}

/* A small set of programs that reaches what all of them reach. */
static int save(const char *path)
{
	u64 (*bits)[WORDS] = calloc(nr_corpus, sizeof(*bits));
	u64 have[WORDS] = {};
	char hex[2 * sizeof(struct prog)];
	u32 i, k, best, most, saved = 0;
	FILE *f = fopen(path, "w");

	if (!f || !bits)
		return -1;
	for (i = 0; i < nr_corpus; i++) {
		if (!run_prog(corpus[i]))
			return -1;
		cover_last(bits[i]);
	}
	fprintf(f, "# Programs of kfuzz, 20 bytes a call; written by kfuzz --%s.\n", "save");
	do {
		for (i = 0, most = 0, best = 0; i < nr_corpus; i++) {
			u32 n = gain(bits[i], have);

			if (n > most) {
				most = n;
				best = i;
			}
		}
		for (k = 0; k < WORDS; k++)
			have[k] |= bits[best][k];
		if (most) {
			prog_hex(corpus[best], hex, sizeof(hex));
			fprintf(f, "%s\n", hex);
			saved++;
		}
	} while (most);
	printf("# %u programs of %u saved\n", saved, nr_corpus);
	return fclose(f);
}

static bool run_one(const char *hex, int repeat)
{
	struct prog p;

	if (prog_parse(&p, hex)) {
		fprintf(stderr, "kfuzz: that is not a program\n");
		return false;
	}
	prog_print(&p);
	while (repeat--)
		if (!one(&p, false))
			return false;
	return log_is_clean();
}

static const struct option options[] = {
	{ "seed", required_argument, NULL, 's' },
	{ "seconds", required_argument, NULL, 't' },
	{ "corpus", required_argument, NULL, 'c' },
	{ "log", required_argument, NULL, 'l' },
	{ "faults", no_argument, NULL, 'f' },
	{ "save", required_argument, NULL, 'w' },
	{ "run", required_argument, NULL, 'r' },
	{ "repeat", required_argument, NULL, 'n' },
	{ "verbs", no_argument, NULL, 'v' },
	{ }
};

static struct {
	const char *program, *target;
	double seconds;
	int repeat;
} opts = { .seconds = 60, .repeat = 100 };

static int parse_options(int argc, char **argv)
{
	int opt;

	rng_seed(1);
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 's':
			rng_seed(strtoull(optarg, NULL, 0));
			printf("# seed %s\n", optarg);
			break;
		case 't':
			opts.seconds = atof(optarg);
			break;
		case 'c':
			if (load(optarg))
				fprintf(stderr, "kfuzz: no corpus %s\n", optarg);
			break;
		case 'l':
			log_fd = open(optarg, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
			if (log_fd < 0)
				perror(optarg);
			break;
		case 'f':
			prog_faults = true;
			break;
		case 'w':
			opts.target = optarg;
			break;
		case 'r':
			opts.program = optarg;
			break;
		case 'v':
			verbs = true;
			break;
		case 'n':
			opts.repeat = atoi(optarg);
			break;
		default:
			return -1;
		}
	}
	return 0;
}

/* The saved corpus alone reaches twice as much. */
#define LEAST_PCS	1000
#define LEAST_VERBS	10

/* Was what the fuzzer is for reached at all? */
static bool reached(void)
{
	int r = atomic_load(&regions), o = atomic_load(&operations), n = atomic_load(&notes);
	bool ok = true;

	if (have_cover && cover_pcs() < LEAST_PCS) {
		complain("KCOV saw %u PCs only: are the modules instrumented?", cover_pcs());
		ok = false;
	}
	if (!verbs)
		return ok;
	printf("# %d regions, %d operations, %d notifications\n", r, o, n);
	if (r < LEAST_VERBS || o < LEAST_VERBS || !n) {
		complain("hardly any RDMA");
		ok = false;
	}
	return ok;
}

int main(int argc, char **argv)
{
	int err;
	bool ok;

	if (parse_options(argc, argv))
		return 2;
	kmsg_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg_fd >= 0)
		lseek(kmsg_fd, 0, SEEK_END);
	err = run_init(prog_faults);
	if (err) {
		fprintf(stderr, "kfuzz: set-up: %s\n", strerror(-err));
		return 1;
	}
	printf("# %s%s\n", have_cover ? "guided by KCOV" : "no KCOV: not guided",
	       prog_faults ? ", with faults" : "");
	fflush(stdout);
	ok = opts.program ? run_one(opts.program, opts.repeat) : fuzz(opts.seconds);
	if (ok && opts.target)
		ok = !save(opts.target);
	if (ok && !opts.program)
		ok = reached();
	if (ok)
		ok = run_health() && run_unpinned() && !atomic_load(&complaints);
	printf("# programs %u, PCs %u, %s\n", nr_run, have_cover ? cover_pcs() : 0,
	       ok ? "clean" : "NOT CLEAN");
	fflush(stdout);
	/* threads that are stuck must not keep us */
	_exit(!ok);
}
