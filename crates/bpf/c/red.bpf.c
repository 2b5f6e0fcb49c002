// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// RED at tc's egress hook, by the queue of the root qdisc below it.
//
// Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM ToN 1(4), 1993;
// gentle: Floyd 2000; as crates/aqm/src/algo/red.rs has it in byte mode, in integers: crates/bpf/src/red.rs
// says which, and tests/equality.rs that both are the same, bit for bit.
//
// The hook sees no departures. A packet that finds no queue takes the link for idle since the time at which
// what the last packet left behind had been sent at the rate of the shaper.

#include "fixed_point.h"

struct law {
	__u64 min_th;     // 2^-20 bytes
	__u64 max_th;     // likewise
	__u64 hard_limit; // likewise: from here on every packet is lost
	__u64 slope;      // of p_b up to max_th: 2^-32 in 2^-20 bytes, 2^-32
	__u64 steep;      // of p_b from max_th on
	__u64 max_p;      // 2^-32, as are the other probabilities
	__u64 mark_p;
	__u64 w_q;
	__u64 rate; // of the shaper, bytes/s
	__u64 size; // of a packet, bytes
	__u64 wait;
};

struct state {
	struct bpf_spin_lock lock;
	__u32 above;  // was the average above min_th at the last packet?
	__u64 avg;    // 2^-20 bytes
	__u64 count;  // bytes since the last signal
	__u64 last;   // when the last packet came, ns
	__u64 behind; // bytes in the queue after it
};

#include "mark_or_drop.h"
#include "kernel_packet.h"
#include "red_average.h"

// Both sides of random < p_a are multiplied by the denominator of p_a.
static __always_inline enum fate draw(const struct state *q, const struct law *law, const struct arrival *packet)
{
	__u64 p = before_spreading(q, law), x = product(q->count / law->size, p, 2 * ONE);
	__u64 whole = law->wait ? 2 * ONE : ONE, left = whole > x ? whole - x : 0;

	if (law->wait && x < ONE)
		return FATE_PASS;
	if (left > p && scaled(packet->random, left) >= p * packet->bytes / law->size)
		return FATE_PASS;
	return p > law->mark_p ? FATE_LOSS : FATE_SIGNAL;
}

static __always_inline enum fate judge(struct state *q, const struct law *law, const struct arrival *packet)
{
	q->count += packet->bytes;
	if (q->avg < law->min_th || packet->queue <= 1) {
		q->above = 0;
		return FATE_PASS;
	}
	if (q->avg >= law->hard_limit)
		return FATE_LOSS;
	if (!q->above) {
		q->above = 1;
		q->count = packet->bytes;
		return FATE_PASS;
	}
	return draw(q, law, packet);
}

static __always_inline enum fate decide(struct state *q, const struct law *law, const struct arrival *packet)
{
	enum fate fate;

	if (!law->rate || !law->size)
		return FATE_PASS;
	if (!packet->queue)
		idle(q, law, packet->now);
	average(q, law, packet->queue);
	fate = judge(q, law, packet);
	if (fate != FATE_PASS)
		q->count = 0;
	if (packet->now > q->last)
		q->last = packet->now;
	q->behind = packet->queue;
	if (fate == FATE_PASS || (fate == FATE_SIGNAL && !packet->loses))
		q->behind += packet->bytes;
	return fate;
}

PROGRAMS(red, root_backlog);
