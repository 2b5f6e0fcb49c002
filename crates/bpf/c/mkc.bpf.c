// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// MKC's router at a hook of tc, egress or ingress: the price of the link in the headers of packets.
//
// Zhang, Kang and Loguinov, "Delayed stability and performance of distributed congestion control", SIGCOMM 2004,
// section 6.2, as crates/aqm/src/algo/mkc.rs has it, in integers: crates/bpf/src/mkc.rs says which, and
// tests/equality.rs that both are the same, bit for bit. Packets with the header are those of
// crates/live/src/paced_packet.rs.

#include "fixed_point.h"

struct law {
	__u64 capacity;   // C delta, 2^-20 bytes
	__u64 least;      // bytes that an interval has at least
	__u64 delta;      // ns
	__u64 delta_bits; // as it is written: IEEE 754, single precision
};

struct state {
	struct bpf_spin_lock lock;
	__u32 started;
	__u64 bytes; // S
	__u64 end;   // of the interval, ns
	__u64 seq;   // of the price; 0 if there is none yet
	__u64 p;     // IEEE 754, single precision
};

#include "tc_hook.h"
#include "kernel_packet.h"

#include <linux/in.h>

#define UDP 8
#define UDP_CHECKSUM 6
// Bytes of the payload before the header for routers.
#define BEFORE 8
// Of a header to which each router adds its price.
#define ALL_ROUTERS 0xfffffffe

// The beginning of the header for routers, in network byte order.
struct price {
	__u32 router;
	__u32 seq;
	__u32 p;
	__u32 delta;
};

static __always_inline __u32 highest_bit(__u64 value)
{
	__u32 bit = 0;

	if (value >> 32) {
		value >>= 32;
		bit += 32;
	}
	if (value >> 16) {
		value >>= 16;
		bit += 16;
	}
	if (value >> 8) {
		value >>= 8;
		bit += 8;
	}
	if (value >> 4) {
		value >>= 4;
		bit += 4;
	}
	if (value >> 2) {
		value >>= 2;
		bit += 2;
	}
	return bit + (value >> 1);
}

// a / b > 0 in single precision, rounded down.
static __always_inline __u32 quotient(__u64 a, __u64 b)
{
	__u32 a_bit = highest_bit(a), b_bit = highest_bit(b), bit;
	__u64 q;

	// a of 64 digits by b of 32.
	a <<= 63 - a_bit;
	q = a / (b_bit > 31 ? b >> (b_bit - 31) : b << (31 - b_bit));
	bit = highest_bit(q);
	return ((bit + a_bit - b_bit + 127 - 32) << 23) | ((q >> (bit - 23)) & 0x7fffff);
}

// (S - C delta) / S, (58)
static __always_inline __u32 price_of(const struct law *law, __u64 bytes)
{
	__u64 sum = (bytes > law->least ? bytes : law->least) << FRACTION;

	if (sum == law->capacity)
		return 0;
	return sum > law->capacity ? quotient(sum - law->capacity, sum)
				   : quotient(law->capacity - sum, sum) | 0x80000000;
}

static __always_inline void count(struct state *q, const struct law *law, const struct arrival *packet)
{
	__u64 ended;

	if (!law->delta || !law->least)
		return;
	if (!q->started) {
		q->started = 1;
		q->end = packet->now + law->delta;
	}
	if (packet->now >= q->end) {
		ended = (packet->now - q->end) / law->delta + 1;
		q->p = price_of(law, ended > 1 ? 0 : q->bytes);
		q->seq += ended;
		q->end += ended * law->delta;
		q->bytes = 0;
	}
	q->bytes += packet->bytes;
}

// Numbers in the order of prices.
static __always_inline __u32 rank(__u32 p)
{
	return p & 0x80000000 ? ~p : p | 0x80000000;
}

// Where UDP begins behind the header of IP; 0 if the packet is not UDP, or a fragment.
static __always_inline __u32 udp_at(struct __sk_buff *skb)
{
	__u8 head[10];

	if (bpf_skb_load_bytes_relative(skb, 0, head, sizeof(head), BPF_HDR_START_NET))
		return 0;
	if (skb->protocol == bpf_htons(ETH_P_IPV6))
		return head[6] == IPPROTO_UDP ? 40 : 0;
	if (skb->protocol != bpf_htons(ETH_P_IP) || head[9] != IPPROTO_UDP || (head[6] & 0x3f) || head[7])
		return 0;
	return (head[0] & 0xf) * 4;
}

// Writes a price where the packet has a lower one. Was it written?
static __always_inline int write_price(struct __sk_buff *skb, const struct price *ours)
{
	__u32 udp = udp_at(skb), at;
	__u8 kind[4];
	struct price theirs;
	__s64 difference;

	if (udp < 20)
		return 0;
	udp += network_at(skb);
	at = udp + UDP + BEFORE;
	// The whole header has 20 bytes.
	if (skb->len < at + 20 || bpf_skb_load_bytes(skb, udp + UDP, kind, sizeof(kind)))
		return 0;
	if (kind[0] != 'M' || kind[1] != 'Q' || kind[2] != 'D' || kind[3] != 1)
		return 0;
	if (bpf_skb_load_bytes(skb, at, &theirs, sizeof(theirs)) || bpf_ntohl(theirs.router) == ALL_ROUTERS)
		return 0;
	// NaN is not lower than anything.
	if ((bpf_ntohl(theirs.p) & 0x7fffffff) > 0x7f800000 || rank(bpf_ntohl(ours->p)) <= rank(bpf_ntohl(theirs.p)))
		return 0;
	difference = bpf_csum_diff((__be32 *)&theirs, sizeof(theirs), (__be32 *)ours, sizeof(*ours), 0);
	if (bpf_l4_csum_replace(skb, udp + UDP_CHECKSUM, 0, difference, BPF_F_MARK_MANGLED_0))
		return 0;
	return !bpf_skb_store_bytes(skb, at, ours, sizeof(*ours), 0);
}

static __always_inline int arrive_with_price(struct __sk_buff *skb, enum hook hook, __u64 now)
{
	struct maps maps;
	struct arrival packet;
	struct price ours;
	__u64 seq, p;

	if (!find(&maps))
		return TC_ACT_UNSPEC;
	packet = count_arrival(skb, &maps, hook);
	packet.now = now;
	bpf_spin_lock(&maps.state->lock);
	count(maps.state, &maps.setup->law, &packet);
	seq = maps.state->seq;
	p = maps.state->p;
	bpf_spin_unlock(&maps.state->lock);
	// A segmented packet has one header in its first segment only.
	if (!seq || packet.segments > 1)
		return TC_ACT_UNSPEC;
	ours.router = bpf_htonl(skb->ifindex);
	ours.seq = bpf_htonl((__u32)seq);
	ours.p = bpf_htonl((__u32)p);
	ours.delta = bpf_htonl((__u32)maps.setup->law.delta_bits);
	maps.counters->marked += write_price(skb, &ours);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int mkc_egress(struct __sk_buff *skb)
{
	return arrive_with_price(skb, EGRESS, bpf_ktime_get_ns());
}

SEC("tc")
int mkc_ingress(struct __sk_buff *skb)
{
	return arrive_with_price(skb, INGRESS, bpf_ktime_get_ns());
}

SEC("tc")
int mkc_at(struct __sk_buff *skb)
{
	return arrive_with_price(skb, EGRESS, skb->tstamp);
}

char _license[] SEC("license") = "Dual MIT/GPL";
