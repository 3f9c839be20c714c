/* SPDX-License-Identifier: GPL-2.0 */
/* Files of the kernel that take a word. */
#ifndef RDS_TEXTFILE_H
#define RDS_TEXTFILE_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* False, and errno. */
static inline bool put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return false;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		err = errno;
	close(fd);
	errno = err;
	return !err;
}

#endif
