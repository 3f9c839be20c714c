// SPDX-License-Identifier: GPL-2.0
/* What the tools share. */
#include <err.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <net/if.h>

#include "common.h"

/* However it was started, all its messages begin with the same name. */
void name_program(char **argv, const char *name)
{
	program_invocation_short_name = (char *)name;
	if (argv[0])
		argv[0] = (char *)name;		/* for getopt() */
}

void print_version(void)
{
	printf("%s %s\n", program_invocation_short_name, RDS_VERSION);
}

/* The end of a message about a wrong command line. Returns the exit code. */
int wrong_usage(void)
{
	fprintf(stderr, "Try '%s -h'.\n", program_invocation_short_name);
	return EXIT_USAGE;
}

/* The last call: an exit code, but not of success if the output could not be written. */
int finish_output(int code)
{
	if (!fflush(stdout) && !ferror(stdout))
		return code;
	warn("cannot write");
	return code == EXIT_OK ? EXIT_FAILED : code;
}

/* Does the file have modprobe run a command instead of loading rds? */
static bool file_forbids(const char *path)
{
	char line[512], name[64], command[64];
	FILE *f = fopen(path, "re");
	bool found = false;

	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, " install %63s %63s", name, command) == 2 &&
			(!strcmp(name, "rds") || !strcmp(name, "rds_tcp")) &&
			(strstr(command, "/false") || strstr(command, "/true"));
	fclose(f);
	return found;
}

/* Hardened hosts forbid modules that are rarely used. Say so, and where. */
static bool complain_forbidden(void)
{
	static const char text[] =
		"no RDS sockets in this kernel; '%s' forbids to load them ('install rds ...')";
	static const char * const places[] = {
		"/etc/modprobe.d/*.conf", "/run/modprobe.d/*.conf",
		"/usr/local/lib/modprobe.d/*.conf", "/usr/lib/modprobe.d/*.conf",
		"/lib/modprobe.d/*.conf", NULL
	};
	bool found = false;
	size_t i, j;
	glob_t g;

	for (i = 0; places[i] && !found; i++) {
		if (glob(places[i], 0, NULL, &g))
			continue;
		for (j = 0; j < g.gl_pathc && !found; j++) {
			found = file_forbids(g.gl_pathv[j]);
			if (found)
				warnx(text, g.gl_pathv[j]);
		}
		globfree(&g);
	}
	return found;
}

/* Return an RDS socket, or -1 after telling the user what is missing. */
int open_rds_socket(void)
{
	int fd = socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		return fd;
	if (errno != EAFNOSUPPORT)
		warn("cannot create an RDS socket");
	else if (!complain_forbidden())
		warnx("no RDS sockets in this kernel; try 'modprobe rds_tcp'");
	return -1;
}

/* Is there a transport, for other hosts, in the kernel? */
bool transport_loaded(void)
{
	return !access("/sys/module/rds_tcp", F_OK) || !access("/sys/module/rds_rdma", F_OK);
}

/* Write an address; IPv4 ones, which the kernel keeps mapped, as IPv4. */
void format_in6(const struct in6_addr *in6, char *buf, size_t size)
{
	if (IN6_IS_ADDR_V4MAPPED(in6))
		inet_ntop(AF_INET, &in6->s6_addr[12], buf, size);
	else
		inet_ntop(AF_INET6, in6, buf, size);
}

/* Write a socket address without its port, with the link if it needs one. */
void format_address(const struct address *addr, char *buf, size_t size)
{
	char link[IF_NAMESIZE];
	size_t used;

	if (addr->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &addr->v4.sin_addr, buf, size);
		return;
	}
	format_in6(&addr->v6.sin6_addr, buf, size);
	used = strlen(buf);
	if (!addr->v6.sin6_scope_id)
		return;
	if (if_indextoname(addr->v6.sin6_scope_id, link))
		snprintf(buf + used, size - used, "%%%s", link);
	else
		snprintf(buf + used, size - used, "%%%u", addr->v6.sin6_scope_id);
}

/* True if both name the same host; ports and scopes do not matter. */
bool same_host(const struct address *a, const struct address *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (a->any.sa_family == AF_INET)
		return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
	return !memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof(struct in6_addr));
}

/* Print a JSON string; bytes outside ASCII are printed as their code. */
void print_json_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		unsigned char c = *s;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}
