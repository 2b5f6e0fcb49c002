/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * An AQM at tc's egress hook: what a packet is, how its fate is carried out and counted.
 *
 * A file of an AQM defines `struct law`, its parameters, and `struct state`, which begins with a lock; includes this
 * file; defines `decide`; and ends with PROGRAMS.
 */
#ifndef MARQUEUE_EGRESS_H
#define MARQUEUE_EGRESS_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

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

/* What the loader writes: `Setup` of src/interface.rs, word by word. */
struct setup {
	__u64 build;  /* of which the program is; the loader's */
	__u64 clsact; /* the loader made the hook */
	__u64 signal;
	struct law law;
};

/* In packets on the wire: a segmented packet counts as its segments. */
struct counters {
	__u64 packets;
	__u64 bytes;
	__u64 marked;
	__u64 dropped;
	__u64 already_ce; /* signalled, and CE when it came */
	__u64 unmarked;   /* signalled and passed as it was: no IP, or not ECN-capable under ecn-only */
	__u64 segmented;  /* socket buffers of several segments */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct setup);
} setup SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct state);
} state SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} counters SEC(".maps");

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

/* Where the maps of a packet are. */
struct maps {
	struct setup *setup;
	struct state *state;
	struct counters *counters;
};

static __always_inline int find(struct maps *maps)
{
	__u32 zero = 0;

	maps->setup = bpf_map_lookup_elem(&setup, &zero);
	maps->state = bpf_map_lookup_elem(&state, &zero);
	maps->counters = bpf_map_lookup_elem(&counters, &zero);
	return maps->setup && maps->state && maps->counters;
}

/* Counts a packet that arrives, and says what it is. */
static __always_inline struct arrival count_arrival(struct __sk_buff *skb, const struct maps *maps)
{
	/* wire_len is what the shaper will count. */
	struct arrival packet = { .bytes = skb->wire_len, .segments = segments_of(skb) };

	maps->counters->packets += packet.segments;
	maps->counters->bytes += packet.bytes;
	maps->counters->segmented += packet.segments > 1;
	return packet;
}

static __always_inline int arrive(struct __sk_buff *skb, __u64 now, __u64 queue, __u32 random)
{
	struct maps maps;
	struct arrival packet;
	int ecn = ecn_of(skb);
	enum fate fate;

	if (!find(&maps))
		return TC_ACT_UNSPEC;
	packet = count_arrival(skb, &maps);
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

/* NAME_egress is for the hook. NAME_at is for BPF_PROG_TEST_RUN: time, queue and random number are what the caller
 * says. */
#define PROGRAMS(name, queue_below)                                                             \
	SEC("tc")                                                                               \
	int name##_egress(struct __sk_buff *skb)                                                \
	{                                                                                       \
		return arrive(skb, bpf_ktime_get_ns(), queue_below(skb), bpf_get_prandom_u32()); \
	}                                                                                       \
	SEC("tc")                                                                               \
	int name##_at(struct __sk_buff *skb)                                                    \
	{                                                                                       \
		return arrive(skb, skb->tstamp, skb->cb[0], skb->cb[1]);                        \
	}                                                                                       \
	char _license[] SEC("license") = "Dual MIT/GPL"

#define NO_QUEUE(skb) 0

#endif
