/* SPDX-License-Identifier: GPL-2.0 */
/* Options and reports of rds-traffic; the last part of traffic.c. */

static const char usage_text[] =
"rds-traffic recv     -b ADDR:PORT [-n COUNT] [-s SENDERS]\n"
"rds-traffic send     -b ADDR:PORT -d ADDR:PORT [-d ...] -n COUNT [-S SIZES]\n"
"rds-traffic both     -b ADDR:PORT -d ADDR:PORT [-d ...] -n COUNT [-s SENDERS]\n"
"rds-traffic echo     -b ADDR:PORT -n COUNT [-s SENDERS]\n"
"rds-traffic pingpong -b ADDR:PORT -d ADDR:PORT -n COUNT [-S SIZES] [-q DEPTH]\n"
"  ADDR:PORT  10.0.0.1:4000 or [fe80::1%eth0]:4000\n"
"  -n COUNT   messages in each flow (a socket and a destination)\n"
"  -s N       flows that must arrive\n"
"  -S SIZES   SIZE, MIN-MAX (by chance) or A,B,C (in turn), 0 .. 1048576\n"
"  -k N       N sockets on consecutive ports;  --spread: to as many ports there\n"
"  -t SECONDS give up then;  -r RATE messages a second;  -q DEPTH on the way\n"
"  --json --progress  --ready FILE (made when bound, holds the pid)\n"
"  --go FILE  wait for this file after binding\n"
"  --from-seq any     a flow may be joined in its middle (restarted receiver)\n"
"  --peer ADDR:PORT   count what others send apart, and do not judge it\n"
"  --partial          a flow whose sender began anew need not be complete\n"
"  --tos N  --sndbuf N --rcvbuf N  --monitor (RDS_CONG_MONITOR)  --so-linger SECONDS\n"
"  --fair             gap_ms, took_ms do not count time in which this guest had no processor\n"
"  --half FILE        send the second half when there is this file\n"
"  --no-drain         close without waiting for acknowledgements\n"
"  --pause-after N --pause MS  --slow MS  --linger MS (late duplicates)\n";

static noreturn void usage(void)
{
	fputs(usage_text, stderr);
	exit(2);
}

static void parse_sizes(const char *text)
{
	char copy[MAX_SIZE_ARG], *item, *save = NULL;
	unsigned int i;

	snprintf(copy, sizeof(copy), "%s", text);
	o.sched.nsizes = 0;
	o.sched.range = !!strchr(copy, '-');
	for (item = strtok_r(copy, ",-", &save); item;
	     item = strtok_r(NULL, ",-", &save)) {
		if (o.sched.nsizes == TF_MAX_SIZES)
			usage();
		o.sched.sizes[o.sched.nsizes++] = strtoul(item, NULL, 0);
	}
	for (i = 0; i < o.sched.nsizes; i++)
		if (o.sched.sizes[i] > TF_MAX_MSG)
			usage();
	if (!o.sched.nsizes ||
	    (o.sched.range && (o.sched.nsizes != 2 ||
			       o.sched.sizes[0] > o.sched.sizes[1])))
		usage();
}

enum {
	O_JSON = 256, O_PROGRESS, O_READY, O_FROM, O_PARTIAL, O_SNDBUF,
	O_RCVBUF, O_MONITOR, O_SOLINGER, O_NODRAIN, O_PAUSE_AFTER, O_PAUSE,
	O_SLOW, O_LINGER, O_SPREAD, O_SERVER, O_GO, O_TOS,
	O_HALF, O_PEER, O_FAIR,
};

static const struct option longopts[] = {
	{ "json", 0, 0, O_JSON },
	{ "progress", 0, 0, O_PROGRESS },
	{ "ready", 1, 0, O_READY },
	{ "from-seq", 1, 0, O_FROM },
	{ "partial", 0, 0, O_PARTIAL },
	{ "fair", 0, 0, O_FAIR },
	{ "sndbuf", 1, 0, O_SNDBUF },
	{ "rcvbuf", 1, 0, O_RCVBUF },
	{ "monitor", 0, 0, O_MONITOR },
	{ "so-linger", 1, 0, O_SOLINGER },
	{ "no-drain", 0, 0, O_NODRAIN },
	{ "pause-after", 1, 0, O_PAUSE_AFTER },
	{ "pause", 1, 0, O_PAUSE },
	{ "slow", 1, 0, O_SLOW },
	{ "linger", 1, 0, O_LINGER },
	{ "spread", 0, 0, O_SPREAD },
	{ "server", 0, 0, O_SERVER },
	{ "half", 1, 0, O_HALF },
	{ "go", 1, 0, O_GO },
	{ "tos", 1, 0, O_TOS },
	{ "peer", 1, 0, O_PEER },
	{ "help", 0, 0, 'h' },
	{ }
};

static void short_option(int c)
{
	switch (c) {
	case 'b':
		o.bind = ts_parse(optarg);
		break;
	case 'd':
		if (o.ndest == MAX_DESTS)
			usage();
		o.dest[o.ndest++] = ts_parse(optarg);
		break;
	case 'n':
		o.count = strtoull(optarg, NULL, 0);
		break;
	case 's':
		o.senders = atoi(optarg);
		break;
	case 'S':
		parse_sizes(optarg);
		break;
	case 'k':
		o.nsocks = atoi(optarg);
		break;
	case 't':
		o.timeout = atof(optarg);
		break;
	case 'r':
		o.rate = atof(optarg);
		break;
	case 'q':
		o.depth = atoi(optarg);
		break;
	default:
		usage();
	}
}

static void long_option(int c)
{
	switch (c) {
	case O_JSON:
		o.json = true;
		break;
	case O_PROGRESS:
		o.progress = true;
		break;
	case O_READY:
		o.ready = optarg;
		break;
	case O_FROM:
		o.any = !strcmp(optarg, "any");
		break;
	case O_PARTIAL:
		o.partial = true;
		break;
	case O_FAIR:
		o.fair = true;
		break;
	case O_SNDBUF:
		o.sndbuf = atoi(optarg);
		break;
	case O_RCVBUF:
		o.rcvbuf = atoi(optarg);
		break;
	case O_MONITOR:
		o.monitor = true;
		break;
	case O_SOLINGER:
		o.so_linger = atoi(optarg);
		break;
	case O_HALF:
		o.half = optarg;
		break;
	case O_NODRAIN:
		o.nodrain = true;
		break;
	case O_PAUSE_AFTER:
		o.pause_after = strtoull(optarg, NULL, 0);
		break;
	case O_PAUSE:
		o.pause_s = atof(optarg) / 1000;
		break;
	case O_SLOW:
		o.slow_s = atof(optarg) / 1000;
		break;
	case O_LINGER:
		o.linger = atof(optarg) / 1000;
		break;
	case O_SPREAD:
		o.spread = true;
		break;
	case O_SERVER:
		o.mode = ECHO;
		break;
	case O_TOS:
		o.tos = atoi(optarg);
		break;
	case O_PEER:
		o.peer = ts_parse(optarg);
		break;
	case O_GO:
		o.go = optarg;
		break;
	}
}

static enum mode parse_mode(const char *name)
{
	static const char * const names[] = {
		[RECV] = "recv", [SEND] = "send", [BOTH] = "both",
		[PINGPONG] = "pingpong", [ECHO] = "echo",
	};
	int i;

	for (i = RECV; i <= ECHO; i++)
		if (!strcmp(name, names[i]))
			return i;
	usage();
}

static void parse_options(int argc, char **argv)
{
	int c;

	if (argc < 2)
		usage();
	o.mode = parse_mode(argv[1]);
	optind = 2;
	while ((c = getopt_long(argc, argv, "b:d:n:s:S:k:t:r:q:h", longopts,
				NULL)) != -1) {
		if (c < 256)
			short_option(c);
		else
			long_option(c);
	}
	if (!o.bind.len || optind != argc || o.nsocks < 1 ||
	    o.nsocks > MAX_SOCKS || o.depth < 1)
		usage();
	if (o.mode == PINGPONG ? o.ndest != 1 :
	    !!(o.mode == SEND || o.mode == BOTH) != !!o.ndest)
		usage();
}

static bool verdict(bool ok, const struct sum *sum)
{
	if (!(o.mode & RECV))
		return ok;
	return ok && !sum->n.dup && !sum->n.reordered && !sum->lost &&
	       !sum->n.corrupt && !st.foreign && (o.any || !st.unplaced);
}

static void tell_trouble(void)
{
	unsigned int i, d;
	struct sock *s;
	struct rx *r;

	for (i = 0; i < o.nsocks; i++) {
		s = &socks[i];
		for (r = s->rx; r; r = r->older) {
			if (tf_rx_complete(&r->f))
				continue;
			fprintf(stderr, "# flow %s: next %llu of %llu, %llu missing%s\n",
				ts_show(&r->from), r->f.next,
				r->f.sched.total,
				r->f.missing,
				r->replaced ? ", replaced" : "");
		}
		for (d = 0; d < o.ndest; d++)
			if (!tx_done(&s->tx[d]))
				fprintf(stderr, "# to %s: sent %llu of %llu%s%s\n",
					ts_show(&s->tx[d].to),
					s->tx[d].next,
					o.count,
					s->full ? ", buffer full" : "",
					s->tx[d].congested ? ", congested" : "");
		if (o.mode & SEND && !o.nodrain && !s->drained)
			fprintf(stderr, "# %s: %u messages not acknowledged\n",
				ts_show(&s->addr),
				ts_listed(s->fd, ts_port(&s->addr)));
	}
}

static void report(bool ok, const struct sum *sum)
{
	static const char * const modes[] = { "", "recv", "send", "both" };
	const struct { const char *name; __u64 value; } f[] = {
		{ "sent", st.sent },
		{ "received", sum->n.received },
		{ "dup", sum->n.dup },
		{ "reordered", sum->n.reordered },
		{ "lost", sum->lost },
		{ "corrupt", sum->n.corrupt },
		{ "unplaced", st.unplaced },
		{ "foreign", st.foreign },
		{ "strange", st.strange },
		{ "flows", sum->flows },
		{ "complete", sum->complete },
		{ "bytes", st.bytes + sum->n.bytes },
		{ "enobufs", st.enobufs },
		{ "eagain", st.eagain },
		{ "stalls", st.stalls },
		{ "last_flow", st.last_flow },
		{ "gap_ms", st.gap_ms },
		{ "took_ms", fair_ms() - o.start_ms },
	};
	bool timed = o.mode == RECV && st.received;
	double sec = timed ? st.last - st.first : ts_now() - o.start;
	const char *word = ok ? "ok" : "FAIL";
	unsigned int i;

	printf(o.json ? "{\"mode\":\"%s\"" : "%s:", modes[o.mode]);
	for (i = 0; i < sizeof(f) / sizeof(*f); i++)
		printf(o.json ? ",\"%s\":%llu" : " %s %llu,", f[i].name,
		       f[i].value);
	printf(o.json ? ",\"seconds\":%.3f,\"result\":\"%s\"}\n" :
			" %.2f s: %s\n", sec, word);
}

static void wait_for_go(void)
{
	double end = ts_now() + o.timeout;

	while (o.go && access(o.go, F_OK)) {
		if (ts_now() > end)
			ts_die("waited for %s in vain", o.go);
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct sum sum = { };
	bool ok;

	parse_options(argc, argv);
	if (o.fair)
		fair_begin();
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	fill_pool();
	open_sockets();
	say_ready();
	wait_for_go();
	o.start = ts_now();
	o.start_ms = fair_ms();
	if (o.mode == ECHO)
		return !run_echo();
	if (o.mode == PINGPONG)
		return !run_pingpong();
	ok = run();
	close_sockets();
	if (o.mode & RECV)
		add_up(&sum);
	ok = verdict(ok, &sum);
	report(ok, &sum);
	if (!ok)
		tell_trouble();
	return !ok;
}
