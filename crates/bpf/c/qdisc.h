/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A queue discipline in BPF (Linux 6.16 or later, CONFIG_NET_SCH_BPF): the packets of a queue, and the kernel's side of it.
 *
 * A file of an AQM defines `struct law` and `struct state`, which begins with `owner`; includes this file; defines
 * `arrive`, `depart` and `weight_of`; and ends with QDISC. The queue is a ring of SLOTS places with holes, where packets were dropped
 * out of the middle. The kernel calls with the lock of the qdisc held, so that nothing here needs one.
 *
 * A qdisc in BPF is the root of a device, and so has to be the shaper too. It can drop packets and cannot change them:
 * signals are losses.
 */
#ifndef MARQUEUE_QDISC_H
#define MARQUEUE_QDISC_H

#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/if_ether.h>
#include <linux/types.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "fixed_point.h"
#include "kernel.h"
#include "maps.h"

/* Places of the ring: a power of two. */
#define SLOTS 8192

/* What enqueue answers. */
#define SUCCESS 0
#define DROPPED 1

/* After a timer that was later than this, what it missed is lost. */
#define MOST_CREDIT 10000000ULL

/* A place of the queue: of a packet, or a hole. */
struct slot {
	__u32 flow;
	__u32 bytes; /* 0: a hole */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

struct packet {
	__u64 bytes; /* as the kernel counts them: with the header of Ethernet */
	__u64 weight; /* of its socket, 2^-20; 0 if it has none */
	__u32 flow;
	__u32 dscp;
	__u32 random; /* uniform */
};

enum outcome { QUEUED, OVERFLOW, MATCHED };

/* What becomes of an arrival: the place it takes, or the place of the packet that is dropped with it. */
struct decision {
	enum outcome outcome;
	__u32 place;
};

static __always_inline struct slot *slot_at(__u64 number)
{
	__u32 place = number & (SLOTS - 1);

	return bpf_map_lookup_elem(&slots, &place);
}

/* Holes are passed until the end or a place that is none: 1 ends the loop. */
struct passing {
	__u64 number;
	__u64 end;
};

static long pass_hole(__u32 round, struct passing *holes)
{
	struct slot *slot;

	if (holes->number >= holes->end)
		return 1;
	slot = slot_at(holes->number);
	if (!slot || slot->bytes)
		return 1;
	holes->number++;
	return 0;
}

/* The number of the first place at or behind `from`, before `end`, that is no hole; `end` if there is none. */
static __always_inline __u64 first_packet(__u64 from, __u64 end)
{
	struct passing holes = { .number = from, .end = end };

	bpf_loop(SLOTS, pass_hole, &holes, 0);
	return holes.number;
}

/* When the link is free after a packet that it begins to send now: rate in bytes/s. */
static __always_inline __u64 sent_at(__u64 free, __u64 now, __u64 rate, __u64 bytes)
{
	if (now > free + MOST_CREDIT)
		free = now - MOST_CREDIT;
	return free + bytes * SECOND / rate;
}

/* Decides about a packet that arrives, and gives it a place. */
static __always_inline struct decision arrive(struct state *q, const struct law *law, const struct packet *packet,
					      __u64 now);

/* Takes the next packet out of the queue, which is not empty: its place. */
static __always_inline __u32 depart(struct state *q, const struct law *law, __u64 now);

/* With TEST_RUN the file becomes a program that decides about packets which are not there, for tests. It has none of the
 * following, which kernels without qdiscs in BPF do not take. */
#ifndef TEST_RUN

struct sk_buff {
	struct sock *sk;
	__u16 network_header;
	__u16 protocol;
	char cb[48];
	unsigned char *head;
	unsigned char *data;
} KERNEL;

struct qdisc_skb_cb {
	struct {
		unsigned int pkt_len;
	};
} KERNEL;

struct qdisc_skb_head {
	__u32 qlen;
} KERNEL;

struct gnet_stats_queue {
	__u32 backlog;
	__u32 drops;
} KERNEL;

struct Qdisc {
	__u32 limit;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
} KERNEL;

struct bpf_sk_buff_ptr {
	struct sk_buff *skb;
} KERNEL;

struct nlattr;
struct netlink_ext_ack;

struct Qdisc_ops {
	char id[16];
	int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free);
	struct sk_buff *(*dequeue)(struct Qdisc *sch);
	int (*init)(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack);
	void (*reset)(struct Qdisc *sch);
	void (*destroy)(struct Qdisc *sch);
};

extern __u32 bpf_skb_get_hash(struct sk_buff *skb) __ksym;
extern void bpf_kfree_skb(struct sk_buff *skb) __ksym;
extern void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) __ksym;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, __u64 expire, __u64 delta_ns) __ksym;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;
extern int bpf_dynptr_from_skb(struct sk_buff *skb, __u64 flags, struct bpf_dynptr *ptr) __ksym;
extern void *bpf_dynptr_slice(const struct bpf_dynptr *ptr, __u32 offset, void *buffer, __u32 size) __ksym;

/* The packets in the places of `slots`. */
struct buffer {
	struct sk_buff __kptr *skb;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct buffer);
} buffers SEC(".maps");

/* The packet of a place, which is empty from now on. */
static __always_inline struct sk_buff *taken(__u32 place)
{
	struct buffer *buffer = bpf_map_lookup_elem(&buffers, &place);

	return buffer ? bpf_kptr_xchg(&buffer->skb, NULL) : NULL;
}

static __always_inline __u32 length_of(struct sk_buff *skb)
{
	return ((struct qdisc_skb_cb *)skb->cb)->pkt_len;
}

/* The code point; 0 without IP. */
static __always_inline __u32 dscp_of(struct sk_buff *skb)
{
	__u32 at = skb->network_header - (__u32)(skb->data - skb->head);
	struct bpf_dynptr packet;
	__u8 place[2], *head;

	if (skb->protocol != bpf_htons(ETH_P_IP) && skb->protocol != bpf_htons(ETH_P_IPV6))
		return 0;
	if (bpf_dynptr_from_skb(skb, 0, &packet))
		return 0;
	head = bpf_dynptr_slice(&packet, at, place, sizeof(place));
	if (!head)
		return 0;
	return skb->protocol == bpf_htons(ETH_P_IP) ? head[1] >> 2 : (head[0] & 0xf) << 2 | head[1] >> 6;
}

/* The weight that a packet has because of its socket, 2^-20; 0 if it has none. */
static __always_inline __u64 weight_of(const struct law *law, struct sk_buff *skb);

static __always_inline int enqueue(struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)
{
	struct packet packet = { .bytes = length_of(skb), .flow = bpf_skb_get_hash(skb), .dscp = dscp_of(skb),
				 .random = bpf_get_prandom_u32() };
	struct decision decision;
	struct buffer *buffer;
	struct sk_buff *old;
	struct maps maps;

	if (!find(&maps)) {
		bpf_qdisc_skb_drop(skb, to_free);
		return DROPPED;
	}
	packet.weight = weight_of(&maps.setup->law, skb);
	maps.counters->packets++;
	maps.counters->bytes += packet.bytes;
	decision = arrive(maps.state, &maps.setup->law, &packet, bpf_ktime_get_ns());
	if (decision.outcome == MATCHED) {
		old = taken(decision.place);
		if (old) {
			sch->q.qlen--;
			sch->qstats.backlog -= length_of(old);
			sch->qstats.drops++;
			maps.counters->dropped++;
			bpf_qdisc_skb_drop(old, to_free);
		}
	}
	buffer = bpf_map_lookup_elem(&buffers, &decision.place);
	if (decision.outcome != QUEUED || !buffer) {
		sch->qstats.drops++;
		maps.counters->dropped++;
		bpf_qdisc_skb_drop(skb, to_free);
		return DROPPED;
	}
	old = bpf_kptr_xchg(&buffer->skb, skb);
	if (old)
		bpf_qdisc_skb_drop(old, to_free);
	sch->q.qlen++;
	sch->qstats.backlog += packet.bytes;
	return SUCCESS;
}

static __always_inline struct sk_buff *dequeue(struct Qdisc *sch)
{
	__u64 now = bpf_ktime_get_ns();
	struct sk_buff *skb;
	struct maps maps;

	if (!find(&maps) || !sch->q.qlen)
		return NULL;
	if (now < maps.state->free) {
		bpf_qdisc_watchdog_schedule(sch, maps.state->free, 0);
		return NULL;
	}
	skb = taken(depart(maps.state, &maps.setup->law, now));
	if (!skb)
		return NULL;
	sch->q.qlen--;
	sch->qstats.backlog -= length_of(skb);
	bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

/* The maps are of one qdisc: another one that is made of these programs is refused. */
static __always_inline int init(struct Qdisc *sch)
{
	struct maps maps;

	if (!find(&maps))
		return -EINVAL;
	if (maps.state->owner)
		return -EBUSY;
	maps.state->owner = (__u64)sch;
	return 0;
}

static long clear(__u32 place, void *unused)
{
	struct sk_buff *skb = taken(place);
	struct slot *slot = slot_at(place);

	if (skb)
		bpf_kfree_skb(skb);
	if (slot)
		slot->bytes = 0;
	return 0;
}

static __always_inline void reset(struct Qdisc *sch)
{
	struct maps maps;

	/* After a refused init the kernel resets, too. */
	if (!find(&maps) || maps.state->owner != (__u64)sch)
		return;
	bpf_loop(SLOTS, clear, NULL, 0);
	maps.state->head = maps.state->tail;
	maps.state->packets = 0;
	maps.state->bytes = 0;
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
}

static __always_inline void destroy(struct Qdisc *sch)
{
	struct maps maps;

	if (find(&maps) && maps.state->owner == (__u64)sch)
		maps.state->owner = 0;
}

#define QDISC(name)                                                                                        \
	SEC("struct_ops")                                                                                  \
	int BPF_PROG(name##_enqueue, struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *drop) \
	{                                                                                                  \
		return enqueue(skb, sch, drop);                                                            \
	}                                                                                                  \
	SEC("struct_ops")                                                                                  \
	struct sk_buff *BPF_PROG(name##_dequeue, struct Qdisc *sch)                                        \
	{                                                                                                  \
		return dequeue(sch);                                                                       \
	}                                                                                                  \
	SEC("struct_ops")                                                                                  \
	int BPF_PROG(name##_init, struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *ack)  \
	{                                                                                                  \
		return init(sch);                                                                          \
	}                                                                                                  \
	SEC("struct_ops")                                                                                  \
	void BPF_PROG(name##_reset, struct Qdisc *sch)                                                     \
	{                                                                                                  \
		reset(sch);                                                                                \
	}                                                                                                  \
	SEC("struct_ops")                                                                                  \
	void BPF_PROG(name##_destroy, struct Qdisc *sch)                                                   \
	{                                                                                                  \
		destroy(sch);                                                                              \
	}                                                                                                  \
	/* The loader names it. */                                                                         \
	SEC(".struct_ops.link")                                                                            \
	struct Qdisc_ops qdisc = {                                                                         \
		.enqueue = (void *)name##_enqueue,                                                         \
		.dequeue = (void *)name##_dequeue,                                                         \
		.init = (void *)name##_init,                                                               \
		.reset = (void *)name##_reset,                                                             \
		.destroy = (void *)name##_destroy,                                                         \
	};                                                                                                 \
	char _license[] SEC("license") = "Dual MIT/GPL"

#else
#define QDISC(name) char _license[] SEC("license") = "Dual MIT/GPL"
#endif

#endif
