// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads the plan and carries it out, a directive a line.

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

int plan_line;

int split(char *line, char *words[MOST_WORDS])
{
	int count = 0;
	char *next = line;

	for (;;) {
		while (isspace((unsigned char)*next))
			*next++ = 0;
		if (!*next || *next == '#')
			break;
		if (count == MOST_WORDS)
			fail("more than %d words", MOST_WORDS);
		words[count++] = next;
		while (*next && !isspace((unsigned char)*next))
			next++;
	}
	*next = 0;
	return count;
}

int64_t number(const char *word, int64_t least, int64_t most)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(word, &end, 10);
	if (errno || end == word || *end || value < least || value > most)
		fail("got \"%s\", expected a whole number from %lld to %lld", word, (long long)least,
		    (long long)most);
	return value;
}

bool next_option(struct options *left, const char **name, char **value)
{
	if (!left->count)
		return false;
	if (left->count == 1)
		fail("%s: expected a value after it", left->words[0]);
	*name = left->words[0];
	*value = left->words[1];
	left->words += 2;
	left->count -= 2;
	return true;
}

static void sysctl_write(const char *name, const char *value)
{
	char path[256] = "/proc/sys/";
	size_t start = strlen(path), length = strlen(name);
	int file;

	if (length + start >= sizeof(path))
		fail("%s: the name is too long", name);
	for (size_t i = 0; i <= length; i++)
		path[start + i] = name[i] == '.' ? '/' : name[i];
	file = open(path, O_WRONLY | O_CLOEXEC);
	if (file < 0)
		fail("sysctl %s: %s", name, strerror(errno));
	if (write(file, value, strlen(value)) != (ssize_t)strlen(value))
		fail("sysctl %s=%s: %s", name, value, strerror(errno));
	close(file);
}

// The value may have spaces: net.ipv4.tcp_rmem=4096 131072 6291456.
static void sysctl(char *words[], int count)
{
	char value[256] = "";
	char *equals = strchr(words[0], '=');
	size_t length;

	if (!equals)
		fail("sysctl %s: expected NAME=VALUE", words[0]);
	*equals = 0;
	length = snprintf(value, sizeof(value), "%s", equals + 1);
	for (int i = 1; i < count && length < sizeof(value); i++)
		length += snprintf(value + length, sizeof(value) - length, " %s", words[i]);
	if (length >= sizeof(value))
		fail("sysctl %s: the value is too long", words[0]);
	sysctl_write(words[0], value);
}

static void device(char *words[], int count)
{
	device_up(words[0], (struct options){words + 1, count - 1});
}

static void neighbour(char *words[], int count)
{
	(void)count;
	neighbour_add(words[0], words[1], words[2]);
}

static void route(char *words[], int count)
{
	route_add(words[0], words[1], (struct options){words + 2, count - 2});
}

static void offload(char *words[], int count)
{
	(void)count;
	offload_set(words[0], words[1], words[2]);
}

static void byte_queue_limit(char *words[], int count)
{
	(void)count;
	number(words[1], 0, 1 << 30);
	byte_queue_limit_set(words[0], words[1]);
}

static void forward_frames(char *words[], int count)
{
	(void)count;
	forward(words[0], words[1]);
}

static void report_drops(char *words[], int count)
{
	(void)words;
	(void)count;
	drops_report();
}

static void origin(char *words[], int count)
{
	(void)count;
	clock_origin = number(words[0], 0, INT64_MAX / 4);
}

static void sampling(char *words[], int count)
{
	(void)count;
	sample_every(number(words[0], 1000, INT64_MAX / 4));
}

static void lowat(char *words[], int count)
{
	(void)count;
	notsent_lowat = number(words[0], 4096, 1 << 30);
}

static void power_off_then(void *about)
{
	(void)about;
	power_off();
}

static void power_off_at(char *words[], int count)
{
	(void)count;
	call_at(number(words[0], 0, INT64_MAX / 4), power_off_then, NULL);
}

// Opened before other lines are carried out, so that their mistakes can be reported.
static void control(char *words[], int count)
{
	(void)words;
	(void)count;
}

static const struct directive {
	const char *name;
	int least; // words after the name
	int most;
	void (*carry_out)(char *words[], int count);
	const char *expected;
} directives[] = {
	{"sysctl", 1, MOST_WORDS, sysctl, "NAME=VALUE"},
	{"device", 1, MOST_WORDS, device, "DEVICE [address A/PREFIX]... [mtu N] [txqueuelen N]"},
	{"neighbour", 3, 3, neighbour, "DEVICE ADDRESS LINK-ADDRESS"},
	{"route", 2, 4, route, "NETWORK/PREFIX DEVICE [via ADDRESS]"},
	{"offload", 3, 3, offload, "DEVICE gro|gso|tso|sg|rx|tx on|off"},
	{"tc", 1, MOST_WORDS, command_or_fail, "ARGUMENTS OF TC"},
	{"try", 1, MOST_WORDS, try_command, "COMMAND"},
	{"byte-queue-limit", 2, 2, byte_queue_limit, "DEVICE BYTES"},
	{"forward", 2, 2, forward_frames, "DEVICE DEVICE"},
	{"report-drops", 0, 0, report_drops, "nothing after it"},
	{"control", 1, 1, control, "DEVICE"},
	{"clock-origin", 1, 1, origin, "NANOSECONDS"},
	{"sample-every", 1, 1, sampling, "NANOSECONDS"},
	{"notsent-lowat", 1, 1, lowat, "BYTES"},
	{"listen", 2, MOST_WORDS, sink_add, "ADDRESS PORT [congestion NAME] [mss N] [rcvbuf N]"},
	{"flow", 5, MOST_WORDS, flow_add, "NUMBER from ADDRESS:PORT to ADDRESS:PORT [OPTION VALUE]..."},
	{"report-at", 2, MOST_WORDS, report_add, "NANOSECONDS COMMAND, or NANOSECONDS file PATH"},
	{"power-off", 1, 1, power_off_at, "NANOSECONDS"},
};

static void carry_out_line(char *line)
{
	char *words[MOST_WORDS];
	int count = split(line, words);

	if (!count)
		return;
	for (size_t i = 0; i < sizeof(directives) / sizeof(*directives); i++) {
		const struct directive *each = &directives[i];

		if (strcmp(words[0], each->name))
			continue;
		if (count - 1 < each->least || count - 1 > each->most)
			fail("expected %s %s", each->name, each->expected);
		// A program is given its name too.
		if (each->carry_out == command_or_fail)
			each->carry_out(words, count);
		else
			each->carry_out(words + 1, count - 1);
		return;
	}
	fail("%s: no such directive", words[0]);
}

static void open_control(const char *plan)
{
	for (const char *line = plan; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		char start[128];
		char *words[MOST_WORDS];

		snprintf(start, sizeof(start), "%.*s", (int)strcspn(line, "\n"), line);
		if (split(start, words) == 2 && !strcmp(words[0], "control"))
			telemetry_open(words[1]);
	}
}

void carry_out(char *plan)
{
	char *line = plan;

	open_control(plan);
	// Handshakes that come together must not be turned away; a plan may set other values.
	sysctl_write("net.core.somaxconn", "65535");
	sysctl_write("net.ipv4.tcp_max_syn_backlog", "65535");
	while (line) {
		char *end = strchr(line, '\n');

		plan_line++;
		if (end)
			*end = 0;
		carry_out_line(line);
		line = end ? end + 1 : NULL;
	}
	plan_line = 0;
}
