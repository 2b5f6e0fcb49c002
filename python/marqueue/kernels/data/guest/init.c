// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The first process of a guest: carries out /plan, then runs its flows until the host kills the kernel. One thread
// waits in epoll. It takes nothing from the host: no console, no wall clock, no random numbers of its own.

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"

#define PLAN "/plan"
#define MOST_EVENTS 256

static int epoll;

void watch(int fd, uint32_t events, struct watched *self)
{
	struct epoll_event event = {.events = events, .data.ptr = self};

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		fail("epoll: %s", strerror(errno));
}

noreturn void power_off(void)
{
	telemetry_flush();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

noreturn void fail(const char *format, ...)
{
	char text[1024];
	va_list arguments;
	int length = 0;

	if (plan_line)
		length = sprintf(text, "plan line %d: ", plan_line);
	va_start(arguments, format);
	length += vsnprintf(text + length, sizeof(text) - length, format, arguments);
	va_end(arguments);
	if (length >= (int)sizeof(text))
		length = sizeof(text) - 1;
	printf("guest: %s\n", text);
	if (telemetry_is_open()) {
		telemetry_text(KIND_TEXT, now(), NO_FLOW, text, length);
		telemetry_record(KIND_FAILED, now(), NO_FLOW, NULL, 0);
	}
	power_off();
}

static char *read_plan(void)
{
	int file = open(PLAN, O_RDONLY | O_CLOEXEC);
	struct stat about;
	size_t length = 0;
	char *text;

	if (file < 0 || fstat(file, &about))
		fail("%s: %s", PLAN, strerror(errno));
	text = malloc(about.st_size + 1);
	if (!text)
		fail("%s: no memory for %lld bytes", PLAN, (long long)about.st_size);
	while (length < (size_t)about.st_size) {
		ssize_t part = read(file, text + length, about.st_size - length);

		if (part <= 0)
			fail("%s: cannot be read", PLAN);
		length += part;
	}
	close(file);
	text[length] = 0;
	return text;
}

static void prepare(void)
{
	struct rlimit files = {1 << 20, 1 << 20};
	int console;

	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	// The console first, so that later failures are seen.
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	console = open("/dev/console", O_RDWR);
	if (console >= 0) {
		dup2(console, 0);
		dup2(console, 1);
		dup2(console, 2);
		if (console > 2)
			close(console);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (mount("proc", "/proc", "proc", 0, NULL) || mount("sys", "/sys", "sysfs", 0, NULL))
		fail("mount: %s", strerror(errno));
	setrlimit(RLIMIT_NOFILE, &files);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0)
		fail("epoll: %s", strerror(errno));
}

int main(void)
{
	struct epoll_event events[MOST_EVENTS];

	prepare();
	carry_out(read_plan());
	flows_arrange();
	clock_start();
	if (telemetry_is_open())
		telemetry_record(KIND_READY, now(), NO_FLOW, NULL, 0);
	else
		printf("guest: ready\n");
	for (;;) {
		int count;

		telemetry_flush();
		count = epoll_wait(epoll, events, MOST_EVENTS, -1);
		if (count < 0 && errno != EINTR)
			fail("epoll: %s", strerror(errno));
		for (int i = 0; i < count; i++) {
			struct watched *self = events[i].data.ptr;

			self->ready(self, events[i].events);
		}
	}
}
