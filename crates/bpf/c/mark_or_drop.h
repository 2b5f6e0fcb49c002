/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * An AQM at a hook of tc whose packets pass, are marked or are dropped: how their fate is carried out and counted.
 *
 * A file of an AQM defines `struct law` and `struct state`, includes this file, defines `decide`, and ends with PROGRAMS.
 */
#ifndef MARQUEUE_MARK_OR_DROP_H
#define MARQUEUE_MARK_OR_DROP_H

#include "tc_hook.h"

/* As `signal` in scenarios. */
enum signal { SIGNAL_DROP, SIGNAL_ECN, SIGNAL_ECN_ONLY };

/* FATE_SIGNAL: a mark, or a loss where marks are losses. FATE_LOSS: a loss in any case. */
enum fate { FATE_PASS, FATE_SIGNAL, FATE_LOSS };

/* Called with the lock held. A packet of another CPU may have been stamped later and come first. */
static __always_inline enum fate decide(struct state *q, const struct law *law, const struct arrival *packet);

static __always_inline int arrive(struct __sk_buff *skb, enum hook hook, __u64 now, __u64 queue, __u32 random)
{
	struct maps maps;
	struct arrival packet;
	int ecn = ecn_of(skb);
	enum fate fate;

	if (!find(&maps))
		return TC_ACT_UNSPEC;
	packet = count_arrival(skb, &maps, hook);
	packet.now = now;
	packet.queue = queue;
	packet.random = random;
	packet.loses = ecn != NOT_IP &&
		       (maps.setup->signal == SIGNAL_DROP || (maps.setup->signal == SIGNAL_ECN && ecn == NOT_ECT));
	bpf_spin_lock(&maps.state->lock);
	fate = decide(maps.state, &maps.setup->law, &packet);
	bpf_spin_unlock(&maps.state->lock);
	if (fate == FATE_PASS)
		return TC_ACT_UNSPEC;
	if (packet.loses || (fate == FATE_LOSS && ecn != NOT_IP)) {
		maps.counters->dropped += packet.segments;
		return TC_ACT_SHOT;
	}
	if (ecn == CE)
		maps.counters->already_ce += packet.segments;
	else if ((ecn == ECT_0 || ecn == ECT_1) && bpf_skb_ecn_set_ce(skb))
		maps.counters->marked += packet.segments;
	else
		maps.counters->unmarked += packet.segments;
	return TC_ACT_UNSPEC;
}

/* NAME_egress is for that hook. NAME_at is for BPF_PROG_TEST_RUN: time, queue and random number are what the caller
 * says. */
#define PROGRAMS(name, queue_below)                                                                     \
	SEC("tc")                                                                                       \
	int name##_egress(struct __sk_buff *skb)                                                        \
	{                                                                                               \
		return arrive(skb, EGRESS, bpf_ktime_get_ns(), queue_below(skb), bpf_get_prandom_u32()); \
	}                                                                                               \
	SEC("tc")                                                                                       \
	int name##_at(struct __sk_buff *skb)                                                            \
	{                                                                                               \
		return arrive(skb, EGRESS, skb->tstamp, skb->cb[0], skb->cb[1]);                        \
	}                                                                                               \
	char _license[] SEC("license") = "Dual MIT/GPL"

/* For an AQM that goes by arrivals alone, and so can be at the other hook too. */
#define INGRESS_PROGRAM(name)                                                                           \
	SEC("tc")                                                                                       \
	int name##_ingress(struct __sk_buff *skb)                                                       \
	{                                                                                               \
		return arrive(skb, INGRESS, bpf_ktime_get_ns(), 0, bpf_get_prandom_u32());              \
	}

#define NO_QUEUE(skb) 0

#endif
