// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp timeout=120 ref=0 */
/*
 * Sockets opened, bound and used all the while the modules are loaded and unloaded (G8,
 * F18, F19, H14). RDS_SOAK in the environment is the number of minutes for it.
 */
#include "rds_util.h"

#include <sys/syscall.h>

#define OPENERS 4
#define SECONDS 8
#define PATIENCE 50	/* seconds more, for a slow machine */
#define ENOUGH 3	/* times rds must have been gone */

struct shared {
	int stop;
	int opened[OPENERS], refused[OPENERS], strange[OPENERS];
};

static struct shared *sh;

/* One socket, from socket() to close(): 0, or the errno of what may not happen. */
static int one_socket(int id, unsigned int r)
{
	const char *addr = r & 1 ? "127.0.0.1" : "10.9.0.1";
	int fd = rds_socket();
	unsigned int port;
	char c;

	if (fd < 0) {
		sh->refused[id]++;
		return errno == EAFNOSUPPORT ? 0 : errno;
	}
	sh->opened[id]++;
	if (r & 2)
		set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP);
	/* rds_tcp may be away: no transport has the address then */
	if (!rds_bind(fd, addr, 0)) {
		port = port_of(fd);
		if (send_to(fd, addr, port, "x", 1, MSG_DONTWAIT) == 1 && r & 4)
			recv(fd, &c, 1, MSG_DONTWAIT);
	}
	close(fd);
	return 0;
}

static int opener(void *arg)
{
	unsigned int r = (unsigned long)arg + 77;
	int id = (long)arg;

	while (!*(volatile int *)&sh->stop) {
		__s64 began = now_ms();
		int err;

		r = r * 1103515245 + 12345;
		err = one_socket(id, r >> 8);
		if (err)
			sh->strange[id] = err;
		/* On a slow machine too there are moments without any socket. */
		usleep((r >> 16 & 8191) + (now_ms() - began) * (r >> 8 & 7) * 1000);
	}
	return 0;
}

static bool unloaded(const char *name)
{
	return !syscall(SYS_delete_module, name, O_NONBLOCK);
}

FIXTURE(module_load)
{
	int dummy;
};

FIXTURE_SETUP(module_load)
{
	ASSERT_EQ(0, ns_local());
}

FIXTURE_TEARDOWN(module_load)
{
}

/* The modules go whenever nobody holds them, and come back, and nobody notices. */
TEST_F_TIMEOUT(module_load, module_load__sockets_all_the_while, 100)
{
	const char *soak = getenv("RDS_SOAK");
	__s64 end = now_ms() + (soak ? atoi(soak) * 60 : 0) * 1000LL + SECONDS * 1000;
	int gone = 0, i, fd;
	pid_t pid[OPENERS];
	char c;

	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, sh);
	for (i = 0; i < OPENERS; i++)
		pid[i] = spawn(opener, (void *)(long)i);
	while (now_ms() < end || (gone < ENOUGH && now_ms() < end + PATIENCE * 1000)) {
		unloaded("rds_tcp");
		gone += unloaded("rds");
		ASSERT_EQ(0, system("modprobe rds_tcp"));
	}
	sh->stop = 1;
	for (i = 0; i < OPENERS; i++) {
		EXPECT_EQ(0, reap(pid[i]));
		EXPECT_EQ(0, sh->strange[i]);
		EXPECT_LT(0, sh->opened[i]);
	}
	TH_LOG("rds was gone %d times; opened %d, refused %d by the first", gone,
	       sh->opened[0], sh->refused[0]);
	EXPECT_LE(ENOUGH, gone);
	fd = rds_bound("10.9.0.1", 5000);
	ASSERT_FD(fd);
	EXPECT_EQ(1, send_to(fd, "10.9.0.1", 5000, "x", 1, 0));
	EXPECT_EQ(1, recv_wait(fd, &c, 1));
}

TEST_HARNESS_MAIN
