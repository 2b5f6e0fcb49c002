// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// PI at tc's egress hook, by the queue of the root qdisc below it.
//
// Hollot, Misra, Towsley and Gong, "On Designing Improved Controllers for AQM Routers Supporting TCP
// Flows", IEEE INFOCOM 2001, section V, as crates/aqm/src/algo/pi.rs has it in byte mode, in integers:
// crates/bpf/src/pi.rs says which, and tests/equality.rs that both are the same, bit for bit.
//
// The hook has no timer. The first packet after a time to compute p computes it, from the queue that it finds.

#include "fixed_point.h"

// p = 1; p needs a finer unit than other probabilities, because its steps are small.
#define CERTAIN (1ULL << 56)

struct law {
	__u64 integral;     // a - b, 2^-56 a byte
	__u64 proportional; // b, likewise
	__u64 reference;    // q_ref, bytes
	__u64 period;       // 1/w, ns
	__u64 size;         // of a packet that is signalled with probability p, bytes
};

struct state {
	struct bpf_spin_lock lock;
	__u32 started;
	__u64 p;     // 2^-56
	__u64 queue; // q[k], bytes
	__u64 due;   // when p is computed next, ns
};

#include "mark_or_drop.h"
#include "kernel_packet.h"

static __always_inline __u64 distance(__u64 a, __u64 b)
{
	return a > b ? a - b : b - a;
}

// p <- p + rise - fall, within [0, 1]; each is at most 4.
static __always_inline void move(struct state *q, __u64 rise, __u64 fall)
{
	__u64 p = q->p + rise;

	p = p > fall ? p - fall : 0;
	q->p = p < CERTAIN ? p : CERTAIN;
}

// p <- p + a (q[k+1] - q_ref) - b (q[k] - q_ref), that is, (a - b) (q[k+1] - q_ref) + b (q[k+1] - q[k]).
// All times of which no packet told see the queue of this one.
static __always_inline void compute(struct state *q, const struct law *law, __u64 queue, __u64 times)
{
	__u64 away = product(law->integral, distance(queue, law->reference), 2 * CERTAIN);
	__u64 grown = product(law->proportional, distance(queue, q->queue), 2 * CERTAIN);
	__u64 rise = 0, fall = 0;

	if (queue > law->reference)
		rise += away;
	else
		fall += away;
	if (queue > q->queue)
		rise += grown;
	else
		fall += grown;
	move(q, rise, fall);
	away = product(away, times - 1, 2 * CERTAIN);
	if (queue > law->reference)
		move(q, away, 0);
	else
		move(q, 0, away);
	q->queue = queue;
}

static __always_inline enum fate decide(struct state *q, const struct law *law, const struct arrival *packet)
{
	__u64 times;

	if (!law->period || !law->size)
		return FATE_PASS;
	if (!q->started) {
		q->started = 1;
		q->due = packet->now + law->period;
	}
	if (packet->now >= q->due) {
		times = (packet->now - q->due) / law->period + 1;
		compute(q, law, packet->queue, times);
		q->due += times * law->period;
	}
	return packet->random < (q->p >> 24) * packet->bytes / law->size ? FATE_SIGNAL : FATE_PASS;
}

PROGRAMS(pi, root_backlog);
