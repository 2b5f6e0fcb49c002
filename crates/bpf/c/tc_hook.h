/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * An AQM at a hook of tc: what a packet is, how its fate is carried out and counted.
 *
 * A file of an AQM defines `struct law`, its parameters, and `struct state`, which begins with a lock; includes this
 * file; defines `decide`; and ends with PROGRAMS.
 */
#ifndef MARQUEUE_TC_HOOK_H
#define MARQUEUE_TC_HOOK_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "maps.h"

/* As `signal` in scenarios. */
enum signal { SIGNAL_DROP, SIGNAL_ECN, SIGNAL_ECN_ONLY };

enum ecn { NOT_IP = -1, NOT_ECT = 0, ECT_1 = 1, ECT_0 = 2, CE = 3 };

/* FATE_SIGNAL: a mark, or a loss where marks are losses. FATE_LOSS: a loss in any case. */
enum fate { FATE_PASS, FATE_SIGNAL, FATE_LOSS };

struct arrival {
	__u64 now;    /* ns */
	__u64 bytes;  /* on the wire, with the headers of all segments */
	__u64 queue;  /* bytes in the queue below; 0 for an AQM that does not ask */
	__u32 random; /* uniform */
	__u32 segments;
	int loses; /* a mark would be a loss */
};

/* Called with the lock held. A packet of another CPU may have been stamped later and come first. */
static __always_inline enum fate decide(struct state *q, const struct law *law, const struct arrival *packet);

static __always_inline int ecn_of(struct __sk_buff *skb)
{
	__u8 head[2];

	if (skb->protocol != bpf_htons(ETH_P_IP) && skb->protocol != bpf_htons(ETH_P_IPV6))
		return NOT_IP;
	if (bpf_skb_load_bytes_relative(skb, 0, head, sizeof(head), BPF_HDR_START_NET))
		return NOT_IP;
	return (skb->protocol == bpf_htons(ETH_P_IP) ? head[1] : head[1] >> 4) & CE;
}

static __always_inline __u32 segments_of(struct __sk_buff *skb)
{
	if (skb->gso_segs)
		return skb->gso_segs;
	/* A guest's or a tun's packet: its segments have not been counted yet. */
	return skb->gso_size ? (skb->len + skb->gso_size - 1) / skb->gso_size : 1;
}

/* Bytes of the headers that each segment has: of Ethernet, IP and TCP or UDP. */
static __always_inline __u32 headers_of(struct __sk_buff *skb)
{
	__u32 ip = 40, transport = 8;
	__u8 protocol, byte;

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		if (bpf_skb_load_bytes_relative(skb, 0, &byte, 1, BPF_HDR_START_NET))
			return 0;
		ip = (byte & 0xf) * 4;
	}
	if (bpf_skb_load_bytes_relative(skb, ip == 40 && skb->protocol != bpf_htons(ETH_P_IP) ? 6 : 9, &protocol, 1,
					BPF_HDR_START_NET))
		return 0;
	if (protocol == IPPROTO_TCP) {
		if (bpf_skb_load_bytes_relative(skb, ip + 12, &byte, 1, BPF_HDR_START_NET))
			return 0;
		transport = (byte >> 4) * 4;
	}
	return ETH_HLEN + ip + transport;
}

/*
 * At egress wire_len is what the shaper will count. At ingress it lacks the header of Ethernet, and packets that the card
 * or the kernel has put together count without the headers of all but one.
 */
enum hook { EGRESS, INGRESS };

static __always_inline __u32 wire_bytes(struct __sk_buff *skb, enum hook hook, __u32 segments)
{
	if (hook == EGRESS)
		return skb->wire_len;
	return skb->len + (segments > 1 ? (segments - 1) * headers_of(skb) : 0);
}

/* Counts a packet that arrives, and says what it is. */
static __always_inline struct arrival count_arrival(struct __sk_buff *skb, const struct maps *maps, enum hook hook)
{
	struct arrival packet = { .segments = segments_of(skb) };

	packet.bytes = wire_bytes(skb, hook, packet.segments);
	maps->counters->packets += packet.segments;
	maps->counters->bytes += packet.bytes;
	maps->counters->segmented += packet.segments > 1;
	return packet;
}

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
