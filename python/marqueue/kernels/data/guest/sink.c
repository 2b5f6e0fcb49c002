// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Receivers: they accept connections, and discard what arrives without copying it.

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"

#define BACKLOG 65535
// What one call discards at most. With MSG_TRUNC the kernel writes nothing there.
#define PART (1 << 20)

struct end {
	struct watched watched;
	int fd;
};

static char discarded[PART];

static struct end *end_of(int fd, void (*ready)(struct watched *self, uint32_t events))
{
	struct end *end = malloc(sizeof(*end));

	if (!end)
		fail("no memory for a connection");
	end->watched.ready = ready;
	end->fd = fd;
	return end;
}

static void connection_ready(struct watched *self, uint32_t events)
{
	struct end *end = (struct end *)self;
	ssize_t got;

	(void)events;
	do
		got = recv(end->fd, discarded, PART, MSG_TRUNC | MSG_DONTWAIT);
	while (got == PART);
	// Less than asked for: more is an event of its own, the end of the connection too.
	if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
		if (!(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
			return;
	close(end->fd);
	free(end);
}

static void listener_ready(struct watched *self, uint32_t events)
{
	struct end *listener = (struct end *)self;
	int fd;

	(void)events;
	while ((fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
		watch(fd, EPOLLIN | EPOLLRDHUP | EPOLLET, &end_of(fd, connection_ready)->watched);
	if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
		fail("accept: %s", strerror(errno));
}

void option_set(int socket, int level, int option, int value, const char *name)
{
	if (setsockopt(socket, level, option, &value, sizeof(value)))
		fail("%s %d: %s", name, value, strerror(errno));
}

void congestion_set(int socket, const char *name)
{
	if (setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, strlen(name)))
		fail("congestion %s: %s", name, strerror(errno));
}

void sink_add(char *words[], int count)
{
	struct options options = {words + 2, count - 2};
	struct sockaddr_in local = {
		.sin_family = AF_INET,
		.sin_addr = ip_address(words[0]),
		.sin_port = htons(number(words[1], 1, 65535)),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const char *name;
	char *value;

	if (fd < 0)
		fail("socket: %s", strerror(errno));
	option_set(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	while (next_option(&options, &name, &value)) {
		if (!strcmp(name, "congestion"))
			congestion_set(fd, value);
		else if (!strcmp(name, "mss"))
			option_set(fd, IPPROTO_TCP, TCP_MAXSEG, number(value, 88, 65535), name);
		else if (!strcmp(name, "rcvbuf"))
			// The kernel doubles what it is told, for its own records.
			option_set(fd, SOL_SOCKET, SO_RCVBUFFORCE, number(value, 1, 1 << 30), name);
		else
			fail("%s: expected congestion, mss or rcvbuf", name);
	}
	if (bind(fd, (struct sockaddr *)&local, sizeof(local)) || listen(fd, BACKLOG))
		fail("listen %s %s: %s", words[0], words[1], strerror(errno));
	watch(fd, EPOLLIN | EPOLLET, &end_of(fd, listener_ready)->watched);
}
