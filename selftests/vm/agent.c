// SPDX-License-Identifier: GPL-2.0
/*
 * Runs commands in a guest for the host: process 1 of the guest's user space.
 *
 * Talks frames over a serial line or a virtio port:
 *	'R' type u16:id u32:length payload	(little endian)
 * host to guest: 'x' run payload with /bin/sh (id is chosen by the host),
 *	'p' the same on a pseudo terminal, 'i' input, 'e' end of input,
 *	'k' signal (one byte) to the command's process group, 'q' power off.
 * guest to host: 'h' hello, 'o' output, 'f' error output, 'd' done (int status).
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define MAX_CMDS	64
#define MAX_PAYLOAD	(1024 * 1024)

struct frame {
	uint8_t magic, type;
	uint16_t id;
	uint32_t len;
} __attribute__((packed));

struct command {
	int used;
	uint16_t id;
	pid_t pid;
	int in, out, err;
	int exited, status;
	int64_t exited_at;
};

static struct command cmds[MAX_CMDS];
static int port = -1;

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void fail(const char *what)
{
	fprintf(stderr, "rds-agent: %s: %s\n", what, strerror(errno));
	sleep(1);
	reboot(RB_POWER_OFF);
	exit(1);
}

static void port_write(const void *buf, size_t len)
{
	const char *p = buf;

	while (len) {
		ssize_t n = write(port, p, len);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd pfd = { .fd = port, .events = POLLOUT };

			poll(&pfd, 1, 100);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		/* tests inject such faults, also into what the agent asks for */
		if (n < 0 && errno == ENOMEM) {
			usleep(10000);
			continue;
		}
		if (n <= 0)
			fail("write to the host");
		p += n;
		len -= n;
	}
}

static void tell(char type, uint16_t id, const void *buf, size_t len)
{
	char out[sizeof(struct frame) + 16384];
	struct frame f = { .magic = 'R', .type = type, .id = id, .len = len };

	memcpy(out, &f, sizeof(f));
	memcpy(out + sizeof(f), buf, len);
	port_write(out, sizeof(f) + len);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static struct command *find(uint16_t id)
{
	for (int i = 0; i < MAX_CMDS; i++)
		if (cmds[i].used && cmds[i].id == id)
			return &cmds[i];
	return NULL;
}

static void child_exec(const char *shell)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	execl("/bin/sh", "sh", "-c", shell, NULL);
	_exit(127);
}

static void spawn(struct command *c, const char *shell)
{
	int in[2], out[2], err[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		fail("pipe");
	c->pid = fork();
	if (c->pid < 0)
		fail("fork");
	if (!c->pid) {
		setsid();
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		child_exec(shell);
	}
	close(in[0]);
	close(out[1]);
	close(err[1]);
	c->in = in[1];
	c->out = out[0];
	c->err = err[0];
}

/* The payload starts with rows and columns, a byte each. */
static void spawn_pty(struct command *c, const char *arg)
{
	struct winsize ws = {
		.ws_row = (uint8_t)arg[0],
		.ws_col = (uint8_t)arg[1],
	};
	int master;

	c->pid = forkpty(&master, NULL, NULL, &ws);
	if (c->pid < 0)
		fail("forkpty");
	if (!c->pid)
		child_exec(arg + 2);
	fcntl(master, F_SETFD, FD_CLOEXEC);
	c->out = master;
	c->in = dup(master);
	fcntl(c->in, F_SETFD, FD_CLOEXEC);
	c->err = -1;
}

static void run(char type, uint16_t id, const char *arg)
{
	struct command *c = NULL;
	int status = 126 << 8;

	for (int i = 0; i < MAX_CMDS && !c; i++)
		if (!cmds[i].used)
			c = &cmds[i];
	if (!c) {
		tell('d', id, &status, sizeof(status));
		return;
	}
	memset(c, 0, sizeof(*c));
	c->used = 1;
	c->id = id;
	if (type == 'p')
		spawn_pty(c, arg);
	else
		spawn(c, arg);
}

static void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	_exit(0);
}

static void handle(const struct frame *f, char *payload)
{
	struct command *c = find(f->id);

	switch (f->type) {
	case 'x':
	case 'p':
		run(f->type, f->id, payload);
		break;
	case 'i':
		/* Commands get little input; a reader that is slow may block us. */
		if (c && c->in >= 0 && write(c->in, payload, f->len) < 0)
			close_fd(&c->in);
		break;
	case 'e':
		if (c)
			close_fd(&c->in);
		break;
	case 'k':
		if (c && c->pid > 0)
			kill(-c->pid, payload[0]);
		break;
	case 'q':
		power_off();
	}
}

/* One read, then every complete frame. Resynchronises on the magic byte. */
static void port_read(void)
{
	static char buf[sizeof(struct frame) + MAX_PAYLOAD + 1];
	static size_t fill;
	ssize_t n = read(port, buf + fill, sizeof(buf) - 1 - fill);
	struct frame f;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		/* virtio port without a host, or a host that went away */
		usleep(50000);
		return;
	}
	fill += n;
	while (fill >= sizeof(f)) {
		char saved;

		memcpy(&f, buf, sizeof(f));
		if (f.magic != 'R' || f.len > MAX_PAYLOAD) {
			memmove(buf, buf + 1, --fill);
			continue;
		}
		if (fill < sizeof(f) + f.len)
			break;
		saved = buf[sizeof(f) + f.len];
		buf[sizeof(f) + f.len] = '\0';
		handle(&f, buf + sizeof(f));
		buf[sizeof(f) + f.len] = saved;
		fill -= sizeof(f) + f.len;
		memmove(buf, buf + sizeof(f) + f.len, fill);
	}
}

static void pump(struct command *c, int *fd, char type)
{
	char buf[8192];
	ssize_t n = read(*fd, buf, sizeof(buf));

	if (n > 0)
		tell(type, c->id, buf, n);
	else if (n == 0 || errno != EINTR)
		close_fd(fd);	/* a terminal whose slave is gone says EIO */
}

static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (int i = 0; i < MAX_CMDS; i++) {
			if (!cmds[i].used || cmds[i].pid != pid)
				continue;
			cmds[i].exited = 1;
			cmds[i].status = status;
			cmds[i].exited_at = now_ms();
		}
	}
}

/*
 * Done when the command is gone and its output read to the end; a process it
 * left behind may hold the pipe open, so wait no longer than 300 ms for that.
 */
static void settle(struct command *c)
{
	if (!c->exited)
		return;
	if ((c->out >= 0 || c->err >= 0) && now_ms() - c->exited_at < 300)
		return;
	close_fd(&c->in);
	close_fd(&c->out);
	close_fd(&c->err);
	tell('d', c->id, &c->status, sizeof(c->status));
	c->used = 0;
}

static void on_child(int sig)
{
	(void)sig;
}

static void open_port(const char *path)
{
	struct termios tio;

	for (int i = 0; i < 100 && port < 0; i++) {
		port = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
		if (port < 0)
			usleep(100000);
	}
	if (port < 0)
		fail(path);
	if (!tcgetattr(port, &tio)) {
		cfmakeraw(&tio);
		tcsetattr(port, TCSANOW, &tio);
	}
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_child };
	struct timespec tick = { .tv_nsec = 100000000 };
	sigset_t chld, none;

	if (argc < 2)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGCHLD, &sa, NULL);
	sigemptyset(&none);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	open_port(argv[1]);
	tell('h', 0, "", 0);

	for (;;) {
		struct pollfd pfd[1 + 2 * MAX_CMDS];
		int i, n = 1, waiting = 0;

		pfd[0] = (struct pollfd){ .fd = port, .events = POLLIN };
		for (i = 0; i < MAX_CMDS; i++) {
			struct command *c = &cmds[i];

			pfd[n++] = (struct pollfd){ .fd = c->used ? c->out : -1, .events = POLLIN };
			pfd[n++] = (struct pollfd){ .fd = c->used ? c->err : -1, .events = POLLIN };
			waiting |= c->used && c->exited;
		}
		ppoll(pfd, n, waiting ? &tick : NULL, &none);
		reap();
		if (pfd[0].revents)
			port_read();
		for (i = 0; i < MAX_CMDS; i++) {
			struct command *c = &cmds[i];

			if (pfd[1 + 2 * i].revents && c->used && c->out == pfd[1 + 2 * i].fd)
				pump(c, &c->out, 'o');
			if (pfd[2 + 2 * i].revents && c->used && c->err == pfd[2 + 2 * i].fd)
				pump(c, &c->err, 'f');
			if (c->used)
				settle(c);
		}
	}
}
