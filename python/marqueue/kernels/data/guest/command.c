// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Programs of the guest, such as tc, and reports: what a program prints, or what is in a file of the kernel, at a
// given time.

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define PROGRAMS "/sbin/"

struct report {
	uint32_t number;
	instant at;
	int count;
	char *words[];
};

static struct output read_to_end(int file)
{
	struct output output = {0};
	size_t capacity = 0;

	for (;;) {
		ssize_t part;

		if (output.length == capacity) {
			capacity = capacity ? 2 * capacity : 4096;
			output.text = realloc(output.text, capacity);
			if (!output.text)
				fail("no memory for %zu bytes of output", capacity);
		}
		part = read(file, output.text + output.length, capacity - output.length);
		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0)
			break;
		output.length += part;
	}
	return output;
}

struct output run_command(char *words[], int count)
{
	char path[256], *arguments[MOST_WORDS + 1], *environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	struct output output;
	int ends[2], error, status = 0;
	pid_t child;

	snprintf(path, sizeof(path), "%s%s", *words[0] == '/' ? "" : PROGRAMS, words[0]);
	memcpy(arguments, words, count * sizeof(*words));
	arguments[count] = NULL;
	if (pipe2(ends, O_CLOEXEC))
		fail("pipe: %s", strerror(errno));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
	error = posix_spawn(&child, path, &actions, NULL, arguments, environment);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (error)
		fail("%s: %s", path, strerror(error));
	output = read_to_end(ends[0]);
	close(ends[0]);
	waitpid(child, &status, 0);
	output.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return output;
}

static struct output read_file(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	struct output output = {0};

	if (file < 0) {
		output.length = asprintf(&output.text, "%s: %s", path, strerror(errno));
		output.status = 1;
		return output;
	}
	output = read_to_end(file);
	close(file);
	return output;
}

void say(enum kind kind, uint32_t number, struct output output)
{
	if (telemetry_is_open()) {
		instant time = now();
		int32_t status = output.status;

		telemetry_text(kind, time, number, output.text, output.length);
		telemetry_record(KIND_TEXT_END, time, number, &status, sizeof(status));
	} else {
		printf("guest: text %u, status %d\n", number, output.status);
		fwrite(output.text, 1, output.length, stdout);
		printf("\nguest: end of text %u\n", number);
		fflush(stdout);
	}
}

static void report(void *about)
{
	struct report *report = about;
	struct output output;

	if (!strcmp(report->words[0], "file"))
		output = read_file(report->words[1]);
	else
		output = run_command(report->words, report->count);
	say(KIND_TEXT, report->number, output);
	free(output.text);
}

// Reports and tries are numbered together, from 0, in the order of the plan.
static uint32_t numbered;

void report_add(char *words[], int count)
{
	struct report *added = malloc(sizeof(*added) + count * sizeof(*words));

	if (!added)
		fail("no memory for a report");
	added->number = numbered++;
	added->at = number(words[0], 0, INT64_MAX / 4);
	added->count = count - 1;
	memcpy(added->words, words + 1, (count - 1) * sizeof(*words));
	if (!strcmp(words[1], "file") && count != 3)
		fail("expected report-at NANOSECONDS file PATH");
	call_at(added->at, report, added);
}

void try_command(char *words[], int count)
{
	struct output output = run_command(words, count);

	say(KIND_TEXT, numbered++, output);
	free(output.text);
}

void command_or_fail(char *words[], int count)
{
	struct output output = run_command(words, count);

	if (output.status)
		fail("%s: %.*s", words[0], (int)output.length, output.text);
	free(output.text);
}

// A frame that arrives at one device leaves by the other as it came. It passes no IP stack, and the qdisc of the
// second device is the queue. Receive offload would merge packets before they are counted there.
void forward(const char *from, const char *to)
{
	char *hook[] = {"tc", "qdisc", "add", "dev", (char *)from, "clsact"};
	char *redirect[] = {"tc",       "filter", "add",    "dev",    (char *)from, "ingress", "protocol", "all",
			    "matchall", "action", "mirred", "egress", "redirect",   "dev",     (char *)to};

	offload_set(from, "gro", "off");
	command_or_fail(hook, sizeof(hook) / sizeof(*hook));
	command_or_fail(redirect, sizeof(redirect) / sizeof(*redirect));
	device_up(from, (struct options){NULL, 0});
	device_up(to, (struct options){NULL, 0});
}
