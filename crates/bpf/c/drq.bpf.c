// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// DRQ's marking at a hook of tc: at egress by the queue of the root qdisc, at ingress the edge of a network.
//
// Shin, Chong and Rhee, "Dual-resource TCP/AQM for Processing-constrained Networks", section III-B, figure 3, as
// crates/aqm/src/algo/drq.rs has it for a link, in integers: crates/bpf/src/drq.rs says which, and tests/drq.rs
// that both are the same, bit for bit.
//
// The ECN field of a packet is 00 (initial), 10 (signalled) or 11 (congested). Senders of RFC 3168 write 10 or 01. So
// the edge writes 00 in their place, and a network with DRQ is one whose senders all answer to marks.

#include "fixed_point.h"

// sqrt(2), 2^-32
#define ROOT_OF_TWO 6074001000ULL

struct law {
	__u64 min_th;  // 2^-20 bytes
	__u64 max_th;  // likewise
	__u64 slope;   // of phi up to max_th: 2^-32 in 2^-20 bytes, 2^-32
	__u64 steep;   // of phi from max_th on
	__u64 max_p;   // 2^-32, as is w_q
	__u64 w_q;
	__u64 rate;    // of the shaper, bytes/s; 0 at ingress, which goes by none of these
	__u64 size;    // of a packet, bytes
	__u64 inter;   // with signals from one resource to the next
	__u64 weights[64]; // by code point, 2^-20
};

struct state {
	struct bpf_spin_lock lock;
	__u32 started;
	__u64 avg;       // 2^-20 bytes
	__u64 last;      // when the last packet came, ns
	__u64 behind;    // bytes in the queue after it
	__u64 signalled; // packets whose field became 10
};

#include "tc_hook.h"
#include "kernel_packet.h"
#include "red_average.h"

// What becomes of the field.
enum step { STAYS, BECOMES_SIGNALLED, BECOMES_CONGESTED };

static __always_inline __u64 at_most_one(__u64 p)
{
	return p < ONE ? p : ONE;
}

// (22), (23), figure 3: a segmented packet has the chances of its segments together.
static __always_inline enum step chance(const struct law *law, __u64 phi, const struct arrival *packet, int field,
					__u32 dscp)
{
	__u64 weight = law->weights[dscp & 63], u = weight ? at_most_one((phi << 20) / weight) : 0;

	if (field == NOT_IP || field == CE)
		return STAYS;
	if (packet->random < at_most_one(scaled(u, u) * packet->segments))
		return BECOMES_CONGESTED;
	if (!law->inter || mixed(packet->random, 1) >= at_most_one(scaled(u, ROOT_OF_TWO) * packet->segments))
		return STAYS;
	return field == NOT_ECT ? BECOMES_SIGNALLED : BECOMES_CONGESTED;
}

static __always_inline enum step mark(struct state *q, const struct law *law, const struct arrival *packet, int field,
				      __u32 dscp)
{
	enum step step;

	if (!law->rate || !law->size)
		return STAYS;
	if (!packet->queue)
		idle(q, law, packet->now);
	average(q, law, packet->queue);
	step = chance(law, q->avg < law->min_th ? 0 : before_spreading(q, law), packet, field, dscp);
	if (step == BECOMES_SIGNALLED)
		q->signalled += packet->segments;
	q->started = 1;
	if (packet->now > q->last)
		q->last = packet->now;
	q->behind = packet->queue + packet->bytes;
	return step;
}

// The code point of a packet with IP.
static __always_inline __u32 dscp_of(struct __sk_buff *skb)
{
	__u8 head[2];

	if (bpf_skb_load_bytes_relative(skb, 0, head, sizeof(head), BPF_HDR_START_NET))
		return 0;
	return skb->protocol == bpf_htons(ETH_P_IP) ? head[1] >> 2 : (head[0] & 0xf) << 2 | head[1] >> 6;
}

// Writes the ECN field, and of IPv4 the checksum. Was it written?
static __always_inline int write_field(struct __sk_buff *skb, __u8 field)
{
	__u32 at = network_at(skb);
	__u16 before, after;
	__u8 head[2];

	if (bpf_skb_load_bytes(skb, at, head, sizeof(head)))
		return 0;
	before = bpf_htons(head[0] << 8 | head[1]);
	if (skb->protocol == bpf_htons(ETH_P_IP))
		head[1] = (head[1] & ~3) | field;
	else
		head[1] = (head[1] & ~0x30) | field << 4;
	after = bpf_htons(head[0] << 8 | head[1]);
	// The checksum of IPv4 is 10 bytes behind.
	if (skb->protocol == bpf_htons(ETH_P_IP) && bpf_l3_csum_replace(skb, at + 10, before, after, 2))
		return 0;
	return !bpf_skb_store_bytes(skb, at, head, sizeof(head), 0);
}

static __always_inline int arrive_at_link(struct __sk_buff *skb, __u64 now, __u64 queue, __u32 random)
{
	struct maps maps;
	struct arrival packet;
	int field = ecn_of(skb);
	__u32 dscp = field == NOT_IP ? 0 : dscp_of(skb);
	enum step step;

	if (!find(&maps))
		return TC_ACT_UNSPEC;
	packet = count_arrival(skb, &maps, EGRESS);
	packet.now = now;
	packet.queue = queue;
	packet.random = random;
	bpf_spin_lock(&maps.state->lock);
	step = mark(maps.state, &maps.setup->law, &packet, field, dscp);
	bpf_spin_unlock(&maps.state->lock);
	if (step == STAYS)
		return TC_ACT_UNSPEC;
	if (!write_field(skb, step == BECOMES_CONGESTED ? CE : ECT_0))
		maps.counters->unmarked += packet.segments;
	else if (step == BECOMES_CONGESTED)
		maps.counters->marked += packet.segments;
	return TC_ACT_UNSPEC;
}

SEC("tc")
int drq_egress(struct __sk_buff *skb)
{
	return arrive_at_link(skb, bpf_ktime_get_ns(), root_backlog(skb), bpf_get_prandom_u32());
}

SEC("tc")
int drq_at(struct __sk_buff *skb)
{
	return arrive_at_link(skb, skb->tstamp, skb->cb[0], skb->cb[1]);
}

// The edge: 10 and 01 become 00. `marked` counts these packets.
SEC("tc")
int drq_ingress(struct __sk_buff *skb)
{
	struct maps maps;
	struct arrival packet;
	int field = ecn_of(skb);

	if (!find(&maps))
		return TC_ACT_UNSPEC;
	packet = count_arrival(skb, &maps, INGRESS);
	if ((field == ECT_0 || field == ECT_1) && write_field(skb, NOT_ECT))
		maps.counters->marked += packet.segments;
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "Dual MIT/GPL";
