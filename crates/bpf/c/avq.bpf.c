// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// AVQ at a hook of tc: at egress in front of whatever shapes the device, or at ingress.
//
// Kunniyur and Srikant, "An Adaptive Virtual Queue (AVQ) Algorithm for Active Queue Management",
// IEEE/ACM ToN 12(2), 2004, section II, as crates/aqm/src/algo/avq.rs has it, in integers:
// crates/bpf/src/avq.rs says which, and tests/equality.rs that both are the same, bit for bit.
//
// The hook sees arrivals and nothing of the queue below it. So a packet that the shaper loses counts in
// the arrival rate (crates/aqm counts it only where marks are no losses).

#include "fixed_point.h"

// A unit of C~, B and the virtual queue is 2^-20 bytes/s and 2^-20 bytes.
struct law {
	__u64 capacity; // C
	__u64 growth;   // alpha gamma C, a second
	__u64 cost;     // alpha: what a byte takes from C~
	__u64 initial;  // C~ before the first packet
	__u64 buffer;   // B
};

struct state {
	struct bpf_spin_lock lock;
	__u32 started;          // has a packet counted?
	__u64 level;            // VQ
	__u64 level_rest;       // what of a unit has drained, 2^-20 bytes / 10^9
	__u64 virtual_capacity; // C~
	__u64 capacity_rest;    // what of a unit has been earned
	__u64 drained;          // up to when VQ has drained, ns
	__u64 last;             // s: when the last packet that counted arrived, ns
};

#include "mark_or_drop.h"

// VQ <- max(VQ - C~ (t - s), 0)
static __always_inline void drain(struct state *q, __u64 now)
{
	__u64 gone;

	if (now <= q->drained)
		return;
	gone = made(q->virtual_capacity, now - q->drained, q->level, &q->level_rest);
	q->drained = now;
	if (gone < q->level) {
		q->level -= gone;
	} else {
		q->level = 0;
		q->level_rest = 0;
	}
}

// Segments enter the virtual queue as long as they fit. A packet that will be lost enters whole or not at all.
static __always_inline int offer(struct state *q, const struct law *law, __u64 bytes, __u32 segments, int loses)
{
	__u64 size = bytes << FRACTION, room = 0, each;

	if (q->level < law->buffer)
		room = law->buffer - q->level;
	if (size <= room) {
		q->level += size;
		return 1;
	}
	if (segments > 1 && !loses) {
		each = ((bytes + segments - 1) / segments) << FRACTION;
		q->level += room / each * each;
	}
	return 0;
}

// C~ <- max(min(C~ + alpha gamma C (t - s), C) - alpha b, 0)
static __always_inline void admit(struct state *q, const struct law *law, __u64 now, __u64 bytes)
{
	__u64 price = law->cost * bytes;

	if (q->started && now > q->last) {
		q->virtual_capacity += made(law->growth, now - q->last, law->capacity, &q->capacity_rest);
		if (q->virtual_capacity >= law->capacity) {
			q->virtual_capacity = law->capacity;
			q->capacity_rest = 0;
		}
	}
	if (!q->started || now > q->last)
		q->last = now;
	q->started = 1;
	q->virtual_capacity = q->virtual_capacity > price ? q->virtual_capacity - price : 0;
}

// Between packets whose times are not in order no time passes.
static __always_inline enum fate decide(struct state *q, const struct law *law, const struct arrival *packet)
{
	int fits;

	if (!q->started)
		q->virtual_capacity = law->initial;
	if (q->virtual_capacity > law->capacity)
		q->virtual_capacity = law->capacity;
	drain(q, packet->now);
	fits = offer(q, law, packet->bytes, packet->segments, packet->loses);
	if (fits || !packet->loses)
		admit(q, law, packet->now, packet->bytes);
	return fits ? FATE_PASS : FATE_SIGNAL;
}

INGRESS_PROGRAM(avq)
PROGRAMS(avq, NO_QUEUE);
