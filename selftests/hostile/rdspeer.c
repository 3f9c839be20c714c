// SPDX-License-Identifier: GPL-2.0
/*
 * rdspeer - a plain TCP program that poses as an RDS peer and misbehaves; see scenario.h.
 */
#define _GNU_SOURCE
#include "scenario.h"

/* Lengths no message may have: the connection must go, at once. */
static int giant(void)
{
	static const __u32 lens[] = {
		MAX_MSG + 1, 1U << 30, 0x7fffffff, 0x80000000, 0xffffffff,
		0xffffffd0, 0xfffff000,
	};
	struct rds_hdr h;
	unsigned int i;
	int fd, rc = 0;

	for (i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		fd = open_path();
		h = header(9, me.port, lens[i], 0);
		put(fd, &h, sizeof(h));
		put(fd, zeros, 65536);
		if (!dropped(fd, 5)) {
			printf("length %#x was swallowed\n", lens[i]);
			rc = 1;
		}
		peer_reset(fd);
	}
	return rc ? rc : prove(open_path(), true);
}

/*
 * End of the connection behind the first @at bytes of a frame, which is not complete
 * if it is for a socket.
 */
static void cut_frame(struct rds_hdr h, unsigned int at, bool with_reset)
{
	int fd = open_path();

	put(fd, &h, at < sizeof(h) ? at : sizeof(h));
	if (at > sizeof(h))
		put(fd, zeros, at - sizeof(h));
	if (with_reset)
		peer_reset(fd);
	else
		close(fd);
}

/*
 * At every offset of a message, of a frame without ports, of a handshake ping; and at
 * every COUNTth of a congestion map.
 */
static int cut(bool with_reset)
{
	struct rds_hdr h = header(9, me.port, 16, 0);
	unsigned int at, n = 0;

	for (at = 0; at < sizeof(h) + 16; at++, n++)
		cut_frame(h, at, with_reset);
	h = header(0, 0, 0, 0);
	for (at = 1; at <= sizeof(h); at++, n++)
		cut_frame(h, at, with_reset);
	h = header(1, 0, 0, 0);
	peer_greeting(&h, MAX_PATHS, 0);
	for (at = 1; at <= sizeof(h); at++, n++)
		cut_frame(h, at, with_reset);
	h = header(0, 0, MAP_BYTES, F_MAP);
	for (at = 24; at < sizeof(h) + MAP_BYTES; at += me.count, n++)
		cut_frame(h, at, with_reset);
	cut_frame(h, sizeof(h) + MAP_BYTES, with_reset);
	printf("%u broken frames\n", n + 1);
	return prove(open_path(), true);
}

static int cut_fin(void)
{
	return cut(false);
}

static int cut_rst(void)
{
	return cut(true);
}

static int bytewise(void)
{
	int fd = open_path();
	bool ok = put_proof(fd, me.first, 1);

	ok = ok && swallow(fd, 100) >= 0;
	close(fd);
	return !ok;
}

/* Random headers, but honest about their length. */
static int senseless(void)
{
	int fd = open_path();
	unsigned int i, j;
	struct rds_hdr h;
	bool ok = true;

	for (i = 0; ok && i < me.count; i++) {
		for (j = 0; j < sizeof(h); j++)
			((unsigned char *)&h)[j] = chance();
		h.len = htobe32(chance() % 3 ? chance() % 200 : chance() % 9000);
		if (h.dport == htobe16(me.port))
			h.dport ^= 0xffff;
		ok = put_frame(fd, &h);
	}
	if (!ok)
		printf("the victim gave up at header %u\n", i);
	return prove(fd, ok);
}

static int map_sizes(void)
{
	static const __u32 lens[] = {
		0, 1, 8191, 8193, 16384, 65536, MAX_MSG, MAP_BYTES,
	};
	int fd = open_path();
	struct rds_hdr h;
	unsigned int i;
	bool ok = true;

	for (i = 0; ok && i < 3 * sizeof(lens) / sizeof(*lens); i++) {
		h = header(0, 0, lens[i % 8], F_MAP | (i < 16 ? 0 : F_RETRANS));
		ok = put_frame(fd, &h);
	}
	return prove(fd, ok);
}

/* The same message again, flagged as repeated: it must not arrive again. */
static int replay(void)
{
	struct {
		struct rds_hdr h;
		unsigned int number;
	} m = { header(9, me.port, sizeof(m.number), 0), me.first };
	int fd = open_path();
	unsigned int i;
	bool ok;

	m.h.seq = htobe64(me.seq = 1000);
	ok = put(fd, &m, sizeof(m.h) + sizeof(m.number));
	m.h.flags = F_RETRANS;
	for (i = 0; ok && i < 100; i++) {
		m.h.seq = htobe64(1000 - i);
		ok = put(fd, &m, sizeof(m.h) + sizeof(m.number));
	}
	close(fd);
	/* ... nor on the next connection */
	fd = open_path();
	m.h.seq = htobe64(1000);
	ok = ok && put(fd, &m, sizeof(m.h) + sizeof(m.number));
	me.first++;
	return prove(fd, ok);
}

/* Every type of extension, with every way to overrun the sixteen bytes. */
static int extensions(void)
{
	int fd = open_path();
	unsigned int type, at, i;
	struct rds_hdr h;
	bool ok = true;

	for (type = 0; ok && type < 256; type++) {
		for (at = 0; ok && at < 16; at += 3) {
			bool probe = at % 2;

			h = header(probe ? 1 : 9, probe ? 0 : me.port + 1, 0, 0);
			for (i = 0; i < 16; i++)
				h.ext[i] = i < at ? 1 + i % 8 : chance();
			h.ext[at] = type;
			ok = put_frame(fd, &h);
		}
	}
	return prove(fd, ok);
}

/* Handshakes that contradict each other. */
static int lies(void)
{
	static const unsigned int paths[] = {
		0, 1, 2, 3, 7, 8, 9, 255, 256, 32768, 65535,
	};
	int fd = open_path();
	struct rds_hdr h;
	unsigned int i, n;
	bool ok = true;

	for (i = 0; ok && i < me.count; i++) {
		n = paths[i % 11];
		h = header(i & 1 ? 0 : 1, i & 1 ? 1 : 0, i % 7 ? 0 : 100, 0);
		h.ext[0] = 5;
		h.ext[1] = n >> 8;
		h.ext[2] = n;
		h.ext[3] = 6;
		memcpy(&h.ext[4], &i, 4);
		h.ext[8] = 8;
		h.ext[9] = i % 3;
		ok = put_frame(fd, &h);
		if (!(i % 50))
			ok = ok && swallow(fd, 0) >= 0;
	}
	/* Back to something that later scenarios can live with. */
	h = header(1, 0, 0, 0);
	memcpy(h.ext, "\x05\x00\x08", 3);
	ok = ok && put_frame(fd, &h);
	return prove(fd, ok);
}

/* Pings whose answers nobody reads. */
static int pings(void)
{
	int fd = open_path();
	struct rds_hdr h;
	unsigned int i;
	int small = 4096;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	for (i = 0; i < me.count; i++) {
		h = header(2 + i % 60000, 0, 0, 0);
		if (send(fd, &h, sizeof(h), MSG_NOSIGNAL) != sizeof(h))
			break;
	}
	printf("%u sent, no answer read\n", i);
	peer_reset(fd);
	return prove(open_path(), i > 100);
}

/* Connections in plenty, which say nothing. */
static int idle_flood(void)
{
	static int fds[2000];
	unsigned int i, open = 0, closed = 0;

	for (i = 0; i < me.count && i < 2000; i++) {
		fds[i] = tcp_connect();
		open += fds[i] >= 0;
	}
	sleep(1);
	for (i = 0; i < me.count && i < 2000; i++)
		closed += fds[i] >= 0 && swallow(fds[i], 0) < 0;
	printf("%u connections, the victim closed %u of them\n", open, closed);
	for (i = 0; i < me.count && i < 2000; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return prove(open_path(), open > 0);
}

/* One connection from each of COUNT addresses upwards of FROM. */
static int many_sources(void)
{
	struct sockaddr_in6 *v6 = (void *)&me.from.ss;
	unsigned int i, open = 0;
	static int fds[20000];
	__u16 last;

	for (i = 0; i < me.count && i < 20000; i++) {
		last = htons(0x1000 + i);
		memcpy(&v6->sin6_addr.s6_addr[14], &last, 2);
		fds[i] = tcp_connect();
		if (fds[i] < 0)
			continue;
		put(fds[i], zeros, 40);
		open++;
	}
	sleep(2);
	printf("%u addresses connected\n", open);
	for (i = 0; i < me.count && i < 20000; i++)
		if (fds[i] >= 0)
			peer_reset(fds[i]);
	return !open;
}

/*
 * From the larger address: a connection which may only be a kick.  It must be
 * reset, and what it carries must not be believed.
 */
static int non_canonical(void)
{
	unsigned int i, kept = 0;
	int fd;

	for (i = 0; i < 20; i++) {
		fd = tcp_connect();
		if (fd < 0)
			continue;
		put_proof(fd, 4000000000U + i, 1000);
		kept += !dropped(fd, 2);
		peer_reset(fd);
	}
	printf("%u of 20 wrong-way connections kept\n", kept);
	return kept > 0;
}

/* Frames with both ports zero, and to ports nobody has. */
static int nowhere(void)
{
	int fd = open_path();
	struct rds_hdr h;
	unsigned int i;
	bool ok = true;

	for (i = 0; ok && i < me.count; i++) {
		h = i & 1 ? header(0, 0, i % 50, 0) :
			    header(9, 20000 + i % 1000, i % 5000, 0);
		ok = put_frame(fd, &h);
	}
	return prove(fd, ok);
}

/* Half of a large message, then silence; others must not wait for it. */
static int stalled(void)
{
	struct rds_hdr h = header(9, me.port, MAX_MSG, 0);
	int fd = open_path();

	put(fd, &h, sizeof(h));
	put(fd, zeros, MAX_MSG / 2);
	sleep(me.count);
	peer_reset(fd);
	return prove(open_path(), true);
}

static __u16 fold(__u64 sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* Half-open connections from addresses that nobody has (IPv4 only). */
static int syn_flood(void)
{
	const struct sockaddr_in *from = (void *)&me.from.ss;
	const struct sockaddr_in *to = (void *)&me.to.ss;
	int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	struct {
		struct iphdr ip;
		struct tcphdr tcp;
	} p = { .ip = { .version = 4, .ihl = 5, .ttl = 64,
			.protocol = IPPROTO_TCP, .daddr = to->sin_addr.s_addr },
		.tcp = { .th_off = 5, .th_flags = TH_SYN,
			 .th_win = htons(8192), .th_dport = to->sin_port } };
	unsigned int i, j, sent = 0;
	const __u16 *w = (const void *)&p;
	__u64 sum;

	if (fd < 0)
		ts_die("raw socket");
	for (i = 0; i < me.count; i++) {
		p.ip.saddr = htonl(ntohl(from->sin_addr.s_addr) + i % 100);
		p.tcp.th_sport = htons(1024 + i);
		p.tcp.th_seq = chance();
		p.tcp.th_sum = 0;
		/* addresses, protocol, length: the pseudo header */
		sum = htons(IPPROTO_TCP) + htons(sizeof(p.tcp));
		for (j = 6; j < sizeof(p) / 2; j++)
			sum += w[j];
		p.tcp.th_sum = fold(sum);
		sent += sendto(fd, &p, sizeof(p), 0, (const void *)to,
			       sizeof(*to)) == sizeof(p);
	}
	printf("%u half-open connections\n", sent);
	return sent != me.count;
}

int main(int argc, char **argv)
{
	static const struct scenario scenarios[] = {
		{ "giant", giant }, { "cut-fin", cut_fin },
		{ "cut-rst", cut_rst }, { "bytewise", bytewise },
		{ "senseless", senseless }, { "map-sizes", map_sizes },
		{ "replay", replay }, { "extensions", extensions },
		{ "lies", lies }, { "pings", pings },
		{ "idle-flood", idle_flood }, { "many-sources", many_sources },
		{ "non-canonical", non_canonical }, { "nowhere", nowhere },
		{ "stalled", stalled }, { "syn-flood", syn_flood },
	};

	return scenario_main(argc, argv, scenarios, sizeof(scenarios) / sizeof(*scenarios));
}
