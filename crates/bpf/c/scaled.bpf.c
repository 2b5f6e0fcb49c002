// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// Scaled marking at tc's egress hook, by the queue of the root qdisc below it.
//
// Eun and Wang, "Achieving 100% Throughput in TCP/AQM Under Aggressive Packet Marking With Small Buffer",
// IEEE/ACM ToN 16(4), 2008, sections II-B and V-A, as crates/aqm/src/algo/scaled.rs has it:
// crates/bpf/src/scaled.rs says how, and tests/equality.rs that both are the same, bit for bit.

#include "fixed_point.h"

// The largest buffer, packets.
#define LEVELS 1024

struct law {
	__u64 size;      // of a packet, bytes
	__u64 buffer;    // q N^b, packets
	__u64 p[LEVELS]; // p_N(x) of a packet that finds x packets, 2^-32
};

struct state {
	struct bpf_spin_lock lock;
	__u32 started;
	__u64 queue; // packets that the last packet found
};

#include "mark_or_drop.h"
#include "kernel_packet.h"

static __always_inline enum fate decide(struct state *q, const struct law *law, const struct arrival *packet)
{
	__u64 found, p, left;
	__u32 n;

	if (!law->size)
		return FATE_PASS;
	found = (packet->queue + law->size / 2) / law->size;
	q->started = 1;
	q->queue = found;
	if (found >= law->buffer || found >= LEVELS)
		return FATE_LOSS;
	p = law->p[found];
	// One of several segments is signalled with probability 1 - (1 - p)^n.
	n = packet->segments;
	left = n > 1 ? power(ONE - p, n) : ONE - p;
	return packet->random < ONE - left ? FATE_SIGNAL : FATE_PASS;
}

PROGRAMS(scaled, root_backlog);
