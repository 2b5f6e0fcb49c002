// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// AVQ at tc's egress hook, in front of whatever shapes the device.
//
// Kunniyur and Srikant, "An Adaptive Virtual Queue (AVQ) Algorithm for Active Queue Management",
// IEEE/ACM ToN 12(2), 2004, section II, as crates/aqm/src/algo/avq.rs has it, in integers:
// crates/bpf/src/fixed_point.rs says which, and tests/equality.rs that both are the same, bit for bit.
//
// The hook sees arrivals and nothing of the queue below it. So a packet that the shaper loses counts in
// the arrival rate (crates/aqm counts it only where marks are no losses).

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

// A unit of C~, B and the virtual queue is 2^-20 bytes/s and 2^-20 bytes.
#define FRACTION 20
#define SECOND 1000000000ULL

// As `signal` in scenarios.
enum signal { SIGNAL_DROP, SIGNAL_ECN, SIGNAL_ECN_ONLY };

enum ecn { NOT_IP = -1, NOT_ECT = 0, ECT_1 = 1, ECT_0 = 2, CE = 3 };

// What the loader writes: `Setup` of src/load.rs, word by word.
struct setup {
	__u64 capacity; // C
	__u64 growth;   // alpha gamma C, a second
	__u64 cost;     // alpha: what a byte takes from C~
	__u64 initial;  // C~ before the first packet
	__u64 buffer;   // B
	__u64 signal;
	__u64 build;  // of which the program is; the loader's
	__u64 clsact; // the loader made the hook
};

struct state {
	struct bpf_spin_lock lock;
	__u32 started;          // has a packet counted?
	__u64 level;            // VQ
	__u64 level_rest;       // what of a unit has drained, 2^-20 bytes / 10^9
	__u64 virtual_capacity; // C~
	__u64 capacity_rest;    // what of a unit has been earned
	__u64 drained;          // up to when VQ has drained, ns
	__u64 last;             // s: when the last packet that counted arrived, ns
};

// In packets on the wire: a segmented packet counts as its segments.
struct counters {
	__u64 packets;
	__u64 bytes;
	__u64 marked;
	__u64 dropped;
	__u64 already_ce; // signalled, and CE when it came
	__u64 unmarked;   // signalled and passed as it was: no IP, or not ECN-capable under ecn-only
	__u64 segmented;  // socket buffers of several segments
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

// What `rate` a second makes in `dt` ns, and of a unit what `rest` says; `enough` if it is more than that.
static __always_inline __u64 made(__u64 rate, __u64 dt, __u64 enough, __u64 *rest)
{
	__u64 whole = 0, high, carry;

	if (dt >= SECOND) {
		__u64 seconds = dt / SECOND;

		if (rate > enough / seconds) {
			*rest = 0;
			return enough;
		}
		whole = rate * seconds;
		dt %= SECOND;
	}
	// In two halves, or the product would not fit into 64 bits.
	high = (rate >> 32) * dt;
	carry = ((high % SECOND) << 32) + (rate & 0xffffffff) * dt + *rest;
	*rest = carry % SECOND;
	return whole + ((high / SECOND) << 32) + carry / SECOND;
}

// VQ <- max(VQ - C~ (t - s), 0)
static __always_inline void drain(struct state *q, __u64 now)
{
	__u64 gone;

	if (now <= q->drained)
		return;
	gone = made(q->virtual_capacity, now - q->drained, q->level, &q->level_rest);
	q->drained = now;
	if (gone < q->level) {
		q->level -= gone;
	} else {
		q->level = 0;
		q->level_rest = 0;
	}
}

// Segments enter the virtual queue as long as they fit. A packet that will be lost enters whole or not at all.
static __always_inline int offer(struct state *q, const struct setup *law, __u64 bytes, __u32 segments, int loses)
{
	__u64 size = bytes << FRACTION, room = 0, each;

	if (q->level < law->buffer)
		room = law->buffer - q->level;
	if (size <= room) {
		q->level += size;
		return 1;
	}
	if (segments > 1 && !loses) {
		each = ((bytes + segments - 1) / segments) << FRACTION;
		q->level += room / each * each;
	}
	return 0;
}

// C~ <- max(min(C~ + alpha gamma C (t - s), C) - alpha b, 0)
static __always_inline void admit(struct state *q, const struct setup *law, __u64 now, __u64 bytes)
{
	__u64 price = law->cost * bytes;

	if (q->started && now > q->last) {
		q->virtual_capacity += made(law->growth, now - q->last, law->capacity, &q->capacity_rest);
		if (q->virtual_capacity >= law->capacity) {
			q->virtual_capacity = law->capacity;
			q->capacity_rest = 0;
		}
	}
	if (!q->started || now > q->last)
		q->last = now;
	q->started = 1;
	q->virtual_capacity = q->virtual_capacity > price ? q->virtual_capacity - price : 0;
}

// A packet of another CPU may have been stamped later and come first: then no time has passed.
static __always_inline int signals(struct state *q, const struct setup *law, __u64 now, __u64 bytes, __u32 segments,
				   int loses)
{
	int fits;

	bpf_spin_lock(&q->lock);
	if (!q->started)
		q->virtual_capacity = law->initial;
	if (q->virtual_capacity > law->capacity)
		q->virtual_capacity = law->capacity;
	drain(q, now);
	fits = offer(q, law, bytes, segments, loses);
	if (fits || !loses)
		admit(q, law, now, bytes);
	bpf_spin_unlock(&q->lock);
	return !fits;
}

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
	// A guest's or a tun's packet: its segments have not been counted yet.
	return skb->gso_size ? (skb->len + skb->gso_size - 1) / skb->gso_size : 1;
}

static __always_inline int arrival(struct __sk_buff *skb, __u64 now)
{
	__u32 zero = 0, segments = segments_of(skb);
	struct setup *law = bpf_map_lookup_elem(&setup, &zero);
	struct state *q = bpf_map_lookup_elem(&state, &zero);
	struct counters *count = bpf_map_lookup_elem(&counters, &zero);
	// What the shaper will count: the headers of all segments are in it.
	__u64 bytes = skb->wire_len;
	int ecn = ecn_of(skb), loses;

	if (!law || !q || !count)
		return TC_ACT_UNSPEC;
	loses = ecn != NOT_IP && (law->signal == SIGNAL_DROP || (law->signal == SIGNAL_ECN && ecn == NOT_ECT));
	count->packets += segments;
	count->bytes += bytes;
	count->segmented += segments > 1;
	if (!signals(q, law, now, bytes, segments, loses))
		return TC_ACT_UNSPEC;
	if (loses) {
		count->dropped += segments;
		return TC_ACT_SHOT;
	}
	if (ecn == CE)
		count->already_ce += segments;
	else if ((ecn == ECT_0 || ecn == ECT_1) && bpf_skb_ecn_set_ce(skb))
		count->marked += segments;
	else
		count->unmarked += segments;
	return TC_ACT_UNSPEC;
}

SEC("tc")
int avq_egress(struct __sk_buff *skb)
{
	return arrival(skb, bpf_ktime_get_ns());
}

// For BPF_PROG_TEST_RUN: time is what the caller says.
SEC("tc")
int avq_at(struct __sk_buff *skb)
{
	return arrival(skb, skb->tstamp);
}

char _license[] SEC("license") = "Dual MIT/GPL";
