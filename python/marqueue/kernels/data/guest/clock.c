// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Virtual time, and a calendar of what happens at fixed times: a binary heap behind one timer.
//
// The clock is read as rarely as possible: in a guest a reading moves virtual time by 256 ns.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

#include "guest.h"

#define SECOND 1000000000LL

struct entry {
	instant at;
	uint64_t sequence;
	void (*run)(void *about);
	void *about;
};

instant clock_origin;

static struct entry *heap;
static size_t count, capacity;
static uint64_t asked;
static int timer = -1;
static instant armed;
static struct watched on_timer;

instant now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * SECOND + time.tv_nsec - clock_origin;
}

static bool before(const struct entry *a, const struct entry *b)
{
	return a->at < b->at || (a->at == b->at && a->sequence < b->sequence);
}

void call_at(instant at, void (*run)(void *about), void *about)
{
	struct entry entry = {at, asked++, run, about};
	size_t i;

	if (count == capacity) {
		capacity = capacity ? 2 * capacity : 1024;
		heap = realloc(heap, capacity * sizeof(*heap));
		if (!heap)
			fail("no memory for %zu entries of the calendar", capacity);
	}
	for (i = count++; i && before(&entry, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = entry;
}

static struct entry pop(void)
{
	struct entry first = heap[0], last = heap[--count];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= count)
			break;
		if (child + 1 < count && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return first;
}

static void arm(void)
{
	struct itimerspec time = {0};
	int64_t at;

	if (!count)
		return;
	armed = heap[0].at;
	at = armed + clock_origin;
	time.it_value.tv_sec = at / SECOND;
	time.it_value.tv_nsec = at % SECOND;
	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL))
		fail("timerfd: %s", strerror(errno));
}

// Setting the timer again makes it unreadable, so that it need not be read.
static void timer_ready(struct watched *self, uint32_t events)
{
	instant due = armed;

	(void)self;
	(void)events;
	while (count && heap[0].at <= due) {
		struct entry entry = pop();

		entry.run(entry.about);
	}
	arm();
}

void clock_start(void)
{
	instant ready = now();

	if (ready > 0)
		fail("set-up took until %lld ns after the clock origin %lld", (long long)ready,
		     (long long)clock_origin);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (timer < 0)
		fail("timerfd: %s", strerror(errno));
	on_timer.ready = timer_ready;
	watch(timer, EPOLLIN | EPOLLET, &on_timer);
	arm();
}
