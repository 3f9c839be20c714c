// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=60 ref=0 lanes=debian */
/*
 * A BPF program of the administrator's puts every connection that is made to the machine into a
 * sockmap, also those to our listener, before we accept them: they are its then and no links, and
 * what the sockmap keeps with them is not taken for ours.
 */
#include "rds_util.h"
#include "rds_netns.h"

#include <linux/bpf.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

static int sockmap(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_SOCKHASH, .key_size = 4, .value_size = 4,
		.max_entries = 10000,
	};

	return bpf(BPF_MAP_CREATE, &attr);
}

/* if (op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB) sock_hash_update(o, map, &o->remote_port, 0) */
static int program(int map)
{
	struct bpf_insn insn[] = {
		{ BPF_ALU64 | BPF_MOV | BPF_X, 6, 1 },
		{ BPF_LDX | BPF_MEM | BPF_W, 2, 1 },
		{ BPF_JMP | BPF_JNE | BPF_K, 2, 0, 9, BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB },
		{ BPF_LDX | BPF_MEM | BPF_W, 2, 1, offsetof(struct bpf_sock_ops, remote_port) },
		{ BPF_STX | BPF_MEM | BPF_W, 10, 2, -4 },
		{ BPF_ALU64 | BPF_MOV | BPF_X, 1, 6 },
		{ BPF_LD | BPF_DW | BPF_IMM, 2, BPF_PSEUDO_MAP_FD, 0, map },
		{},
		{ BPF_ALU64 | BPF_MOV | BPF_X, 3, 10 },
		{ BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, -4 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, 4 },
		{ BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_sock_hash_update },
		/* the jump comes here, too */
		{ BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1 },
		{ BPF_JMP | BPF_EXIT },
	};
	static char log[4096];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCK_OPS, .insns = (long)insn,
		.insn_cnt = ARRAY_SIZE(insn), .license = (long)"GPL",
		.log_buf = (long)log, .log_size = sizeof(log), .log_level = 1,
	};
	int fd = bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0)
		printf("# %s\n", log);
	return fd;
}

static int cgroup_root(void)
{
	mkdir("/tmp/cgroup2", 0700);
	mount("none", "/tmp/cgroup2", "cgroup2", 0, NULL);
	return open("/tmp/cgroup2", O_RDONLY | O_CLOEXEC);
}

static int attach(int cmd, int prog)
{
	union bpf_attr attr = {
		.target_fd = cgroup_root(), .attach_bpf_fd = prog,
		.attach_type = BPF_CGROUP_SOCK_OPS,
	};
	int ret = bpf(cmd, &attr);

	close(attr.target_fd);
	umount2("/tmp/cgroup2", MNT_DETACH);
	return ret;
}

/* A connection with bytes in the packet that makes it: they come before it is accepted. */
static void knock(void)
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, "10.1.0.1", 16385);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	set_int(fd, IPPROTO_TCP, TCP_QUICKACK, 0);
	if (!connect(fd, (void *)&ss, len))
		send(fd, "from nowhere", 12, MSG_NOSIGNAL);
	poll_for(fd, POLLIN, 200);
	close(fd);
}

TEST(sockmap__not_ours)
{
	int a, b, i, map = sockmap(), prog = map < 0 ? -1 : program(map);
	__s64 before;
	char m[8];

	if (map < 0)
		SKIP(return, "no sockmaps: %s", strerror(errno));
	ASSERT_FD(prog);
	SETUP_PAIR();
	a = rds_bound("10.1.0.1", 5000);
	ASSERT_EQ(0, ns_enter(rds_ns[1]));
	b = rds_bound("10.1.0.2", 5000);
	ASSERT_EQ(0, attach(BPF_PROG_ATTACH, prog));
	for (i = 0; i < 20; i++)
		knock();
	EXPECT_TRUE(WAIT_UNTIL(counter(b, "tcp_accept_refused") >= 20));
	before = counter(b, "tcp_accept_refused");
	ASSERT_EQ(0, ns_enter(rds_ns[0]));
	/* links of either direction are refused, and not lost with what they carry */
	ASSERT_EQ(1, send_to(a, "10.1.0.2", 5000, "a", 1, 0));
	ASSERT_EQ(1, send_to(b, "10.1.0.1", 5000, "b", 1, 0));
	EXPECT_TRUE(WAIT_UNTIL(counter(b, "tcp_accept_refused") > before + 2));
	EXPECT_ERR(EAGAIN, recv(a, m, sizeof(m), MSG_DONTWAIT));
	EXPECT_ERR(EAGAIN, recv(b, m, sizeof(m), MSG_DONTWAIT));
	ASSERT_EQ(0, attach(BPF_PROG_DETACH, prog));
	EXPECT_EQ(1, recv_wait(a, m, sizeof(m)));
	EXPECT_EQ('b', *m);
	EXPECT_EQ(1, recv_wait(b, m, sizeof(m)));
	EXPECT_TRUE(all_acked(a));
	EXPECT_TRUE(all_acked(b));
}

TEST_HARNESS_MAIN
