/* SPDX-License-Identifier: GPL-2.0 */
/* Request and response: a part of traffic.c. */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void pp_wait(short events, bool *stall)
{
	struct pollfd p = { .fd = socks[0].fd, .events = events };

	*stall = !poll(&p, 1, STALL_MS);
}

static void pp_put(const struct ts_addr *to, const void *buf, __u32 len)
{
	bool stall = false;

	while (time_left()) {
		if (sendto(socks[0].fd, buf, len, MSG_DONTWAIT,
			   (const void *)&to->ss, to->len) >= 0) {
			st.stalls += stall;
			st.sent++;
			return;
		}
		if (errno == ENOBUFS)
			pp_wait(POLLIN, &stall);
		else if (errno == EAGAIN)
			pp_wait(POLLOUT, &stall);
		else if (errno != EINTR)
			ts_die("send to %s", ts_show(to));
	}
}

/* Give every message back to where it came from. */
static bool run_echo(void)
{
	__u64 want = o.count * o.senders;
	struct ts_addr from;
	bool stall;
	ssize_t len;

	while (time_left() && st.received < want) {
		len = get_message(&socks[0], &from);
		if (len < 0 && errno != EAGAIN && errno != EINTR)
			ts_die("recvmsg");
		if (len < 0) {
			pp_wait(POLLIN, &stall);
			continue;
		}
		st.received++;
		pp_put(&from, inbuf, len);
	}
	while (time_left() && !ts_drained(socks[0].fd, ts_port(&o.bind)))
		usleep(5000);
	return st.received >= want;
}

static bool pp_is(const struct tf_sched *s, __u64 seq, ssize_t len)
{
	struct tf_hdr h;
	__u32 want = tf_header(&h, s, seq, pool);
	__u32 head = want < TF_HDR ? want : TF_HDR;

	return len == (ssize_t)want && !memcmp(inbuf, &h, head) &&
	       !memcmp(inbuf + head, pool + tf_payload_off(s, seq),
		       want - head);
}

static void pp_report(double *lat, __u64 n, __u64 corrupt)
{
	double sec = ts_now() - o.start, sum = 0;
	__u64 i;

	qsort(lat, n, sizeof(*lat), by_value);
	for (i = 0; i < n; i++)
		sum += lat[i];
	printf("{\"mode\":\"pingpong\",\"sent\":%llu,\"received\":%llu",
	       st.sent, n);
	printf(",\"dup\":0,\"reordered\":0,\"lost\":%llu,\"corrupt\":%llu",
	       o.count - n, corrupt);
	printf(",\"stalls\":%llu,\"seconds\":%.3f,\"per_second\":%.1f",
	       st.stalls, sec, n / sec);
	printf(",\"gap_ms\":%lld", (long long)st.gap_ms);
	if (n)
		printf(",\"lat_us\":{\"min\":%.1f,\"avg\":%.1f,\"p50\":%.1f",
		       lat[0] * 1e6, sum / n * 1e6, lat[n / 2] * 1e6);
	if (n)
		printf(",\"p99\":%.1f,\"max\":%.1f}", lat[n * 99 / 100] * 1e6,
		       lat[n - 1] * 1e6);
	printf(",\"result\":\"%s\"}\n",
	       n == o.count && !corrupt ? "ok" : "FAIL");
}

static bool run_pingpong(void)
{
	struct tf_sched *s = &socks[0].tx[0].sched;
	__u64 out = 0, in = 0, corrupt = 0;
	double *at = calloc(o.count + 1, sizeof(*at));
	unsigned char *buf = malloc(TF_MAX_MSG);
	struct ts_addr from;
	bool stall;
	ssize_t len;
	__u32 n;

	if (!at || !buf)
		ts_die("no memory");
	st.last_ms = o.start_ms;
	while (in < o.count && time_left()) {
		while (out < o.count && out < in + o.depth) {
			n = tf_header((void *)buf, s, ++out, pool);
			if (n > TF_HDR)
				memcpy(buf + TF_HDR, pool +
				       tf_payload_off(s, out), n - TF_HDR);
			at[out - 1] = ts_now();
			pp_put(&socks[0].tx[0].to, buf, n);
		}
		len = get_message(&socks[0], &from);
		if (len < 0) {
			if (errno != EAGAIN && errno != EINTR)
				ts_die("recvmsg");
			pp_wait(POLLIN, &stall);
			continue;
		}
		in++;
		note_gap();
		at[in - 1] = ts_now() - at[in - 1];
		corrupt += !pp_is(s, in, len) ||
			   !ts_same(&from, &socks[0].tx[0].to);
	}
	pp_report(at, in, corrupt);
	free(buf);
	free(at);
	return in == o.count && !corrupt;
}
