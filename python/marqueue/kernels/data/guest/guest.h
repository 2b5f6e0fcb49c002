// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the files of the guest's program share. README.md has the format of the plan and of telemetry.

#ifndef GUEST_H
#define GUEST_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>

#define MOST_WORDS 512

// Scenario time: ns since the clock origin of the plan. Negative before it.
typedef int64_t instant;

// init.c

// Something that epoll watches. It is the first member of what is watched.
struct watched {
	void (*ready)(struct watched *self, uint32_t events);
};

void watch(int fd, uint32_t events, struct watched *self);
// A mistake in the plan or a set-up that failed: reports the line, then powers off.
noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
noreturn void power_off(void);

// clock.c

extern instant clock_origin; // of CLOCK_MONOTONIC
instant now(void);
// Calls `run(about)` at `at`; calls at equal times are made in the order in which they were asked for.
void call_at(instant at, void (*run)(void *about), void *about);
void clock_start(void);

// plan.c

extern int plan_line; // that is being carried out; 0 afterwards

// Splits a line into words, in place. A word that begins with # starts a comment.
int split(char *line, char *words[MOST_WORDS]);
// A whole number of at least `least` and at most `most`.
int64_t number(const char *word, int64_t least, int64_t most);
void carry_out(char *plan);
// What follows the fixed words of a directive: pairs of a name and a value, taken one by one.
struct options {
	char **words;
	int count;
};
bool next_option(struct options *left, const char **name, char **value);

// device.c

void device_up(const char *device, struct options options);
void neighbour_add(const char *device, const char *address, const char *link_address);
void route_add(const char *network, const char *device, struct options options);
void offload_set(const char *device, const char *feature, const char *value);
int device_index(const char *device);
void link_address_of(const char *device, uint8_t address[6]);
void queue_length_set(const char *device, int packets);
void byte_queue_limit_set(const char *device, const char *bytes);
struct in_addr ip_address(const char *word);

// flow.c, sink.c

extern int notsent_lowat;
void flow_add(char *words[], int count);
void flows_arrange(void);
void sample_every(instant period);
void sink_add(char *words[], int count);
void congestion_set(int socket, const char *name);
void option_set(int socket, int level, int option, int value, const char *name);

// telemetry.c

enum kind {
	KIND_SAMPLE = 1,
	KIND_CONNECTED = 2,
	KIND_COMPLETED = 3,
	KIND_FAILED = 4,
	KIND_READY = 5,
	KIND_TEXT = 6,
	KIND_TEXT_END = 7,
	KIND_REASON = 8,
	KIND_DROPPED = 9,
};

#define NO_FLOW 0xffffffffu

void telemetry_open(const char *device);
bool telemetry_is_open(void);
void telemetry_record(enum kind kind, instant time, uint32_t flow, const void *payload, size_t length);
void telemetry_text(enum kind kind, instant time, uint32_t flow, const char *text, size_t length);
void telemetry_flush(void);

// drops.c

void drops_report(void);

// command.c

struct output {
	char *text;
	size_t length;
	int status;
};

// Runs a program of the guest to its end; its output and errors, which the caller frees.
struct output run_command(char *words[], int count);
void report_add(char *words[], int count);
// Sends a text that is not of a flow, or shows it on the console where there is no control device.
void say(enum kind kind, uint32_t number, struct output output);
void try_command(char *words[], int count);
void command_or_fail(char *words[], int count);
void forward(const char *from, const char *to);

#endif
