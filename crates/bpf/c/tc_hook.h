/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * An AQM at a hook of tc: what a packet is, and how it counts.
 *
 * A file of an AQM defines `struct law`, its parameters, and `struct state`, which begins with a lock, and includes this
 * file, or mark_or_drop.h if its packets pass, are marked or are dropped.
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

enum ecn { NOT_IP = -1, NOT_ECT = 0, ECT_1 = 1, ECT_0 = 2, CE = 3 };

struct arrival {
	__u64 now;    /* ns */
	__u64 bytes;  /* on the wire, with the headers of all segments */
	__u64 queue;  /* bytes in the queue below; 0 for an AQM that does not ask */
	__u32 random; /* uniform */
	__u32 segments;
	int loses; /* a mark would be a loss */
};

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

#endif
