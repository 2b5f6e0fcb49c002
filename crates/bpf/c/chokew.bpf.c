// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// CHOKeW as a queue discipline: matched drops with priority weights.
//
// Wen, Fang and Sun, "Differentiated Bandwidth Allocation with TCP Protection in Core Routers", IEEE TPDS 20(1), 2009,
// figures 1 and 2, as crates/aqm/src/algo/chokew.rs has it in packets, in integers: crates/bpf/src/chokew.rs says
// which, and tests/qdiscs.rs that both are the same, bit for bit.
//
// A flow is the kernel's hash of a packet. A place that holds no packet is drawn again.

#include <linux/types.h>

#include "cgroup.h"

// The most packets that an arrival is compared with, and the most places that are looked at for it.
#define MOST_DRAWS 64
#define MOST_PLACES 256
// p0 has no more than this, 2^-32.
#define MOST_P0 (1ULL << 43)

struct law {
	__u64 rate;    // of the link, bytes/s
	__u64 limit;   // packets
	__u64 l_th;    // packets, with the arrival, up to which none is drawn
	__u64 l_minus; // below which p0 falls
	__u64 l_plus;  // above which it rises
	__u64 p_plus;  // 2^-32
	__u64 p_minus; // likewise
	__u64 weights[64]; // by code point, 2^-20
	struct weighed_cgroup cgroups[WEIGHED_CGROUPS]; // their weights are in the place of those
};

struct state {
	__u64 owner; // the qdisc that has this state
	__u64 p0;    // 2^-32
	__u64 head;  // number of the first place, if there are packets
	__u64 tail;  // number of the place behind the last one
	__u64 packets;
	__u64 bytes;
	__u64 free; // when the link has sent all that left the queue, ns
	__u64 matched;
	__u64 overflow;
};

#include "qdisc.h"

// Figure 2
static __always_inline void adapt(struct state *q, const struct law *law, __u64 l)
{
	if (l < law->l_minus)
		q->p0 = q->p0 > law->p_minus ? q->p0 - law->p_minus : 0;
	else if (l > law->l_plus && q->p0 < MOST_P0)
		q->p0 += law->p_plus;
}

// Figure 1, steps 3 and 4: how many packets the arrival is compared with.
static __always_inline __u32 draws(const struct state *q, const struct law *law, const struct packet *packet, __u64 l)
{
	__u64 weight = packet->weight ? packet->weight : law->weights[packet->dscp & 63], p, m;

	if (l <= law->l_th || !weight)
		return 0;
	p = (q->p0 << 20) / weight;
	m = (p >> 32) + (packet->random < (p & 0xffffffff));
	return m < MOST_DRAWS ? m : MOST_DRAWS;
}

// The state of a loop of draws.
struct drawing {
	__u64 head;
	__u64 span; // places from the first to the last one of the queue
	__u64 match;
	__u32 flow;
	__u32 random;
	__u32 left; // packets still to be compared with
};

static long draw(__u32 round, struct drawing *all)
{
	__u64 number = all->head + ((mixed(all->random, round + 1) * all->span) >> 32);
	struct slot *slot = slot_at(number);

	if (!slot || !slot->bytes)
		return 0;
	if (slot->flow == all->flow) {
		all->match = number;
		return 1;
	}
	return !--all->left;
}

// Figure 1, step 5: the number of the first place drawn with a packet of the flow; `tail` if none is.
static __always_inline __u64 draw_match(const struct state *q, const struct packet *packet, __u32 m)
{
	struct drawing all = { .head = q->head, .span = q->tail - q->head, .match = q->tail, .flow = packet->flow,
			       .random = packet->random, .left = m };

	if (m)
		bpf_loop(MOST_PLACES, draw, &all, 0);
	return all.match;
}

static __always_inline void leave(struct state *q, __u64 number)
{
	struct slot *slot = slot_at(number);

	if (!slot)
		return;
	q->packets--;
	q->bytes -= slot->bytes;
	slot->bytes = 0;
	if (number == q->head)
		q->head = first_packet(q->head, q->tail);
}

static __always_inline struct decision arrive(struct state *q, const struct law *law, const struct packet *packet,
					      __u64 now)
{
	struct decision decision = { .outcome = MATCHED };
	__u64 l = q->packets + 1, match;
	struct slot *slot;

	adapt(q, law, l);
	match = draw_match(q, packet, q->packets ? draws(q, law, packet, l) : 0);
	if (match != q->tail) {
		q->matched += 2;
		decision.place = match & (SLOTS - 1);
		leave(q, match);
		return decision;
	}
	slot = slot_at(q->tail);
	decision.place = q->tail & (SLOTS - 1);
	if (q->packets >= law->limit || q->tail - q->head >= SLOTS || !slot) {
		q->overflow++;
		decision.outcome = OVERFLOW;
		return decision;
	}
	slot->flow = packet->flow;
	slot->bytes = packet->bytes;
	if (!q->packets && now > q->free)
		q->free = now;
	q->tail++;
	q->packets++;
	q->bytes += packet->bytes;
	decision.outcome = QUEUED;
	return decision;
}

static __always_inline __u32 depart(struct state *q, const struct law *law, __u64 now)
{
	__u64 number = q->head;
	struct slot *slot = slot_at(number);

	if (slot && law->rate)
		q->free = sent_at(q->free, now, law->rate, slot->bytes);
	leave(q, number);
	return number & (SLOTS - 1);
}

#ifdef TEST_RUN

// For BPF_PROG_TEST_RUN: time, in `cb` whether a packet leaves, flow, code point and random number of one that arrives,
// in `mark` its cgroup, in `priority` the one above. The answer is the outcome, and the place in `cb`.
SEC("tc")
int chokew_at(struct __sk_buff *skb)
{
	struct packet packet = { .bytes = skb->wire_len, .flow = skb->cb[1], .dscp = skb->cb[2], .random = skb->cb[3] };
	struct decision decision = { .outcome = QUEUED };
	struct maps maps;

	if (!find(&maps))
		return -1;
	packet.weight = weight_of_cgroup(maps.setup->law.cgroups, skb->mark);
	if (!packet.weight)
		packet.weight = weight_of_cgroup(maps.setup->law.cgroups, skb->priority);
	if (skb->cb[0])
		decision.place = depart(maps.state, &maps.setup->law, skb->tstamp);
	else
		decision = arrive(maps.state, &maps.setup->law, &packet, skb->tstamp);
	skb->cb[4] = decision.place;
	return decision.outcome;
}

#else

static __always_inline __u64 weight_of(const struct law *law, struct sk_buff *skb)
{
	return weight_of_socket(law->cgroups, skb->sk);
}

#endif

QDISC(chokew);
