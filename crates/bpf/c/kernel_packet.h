/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What a program of tc can read in the kernel's own structures of a packet (Linux 6.2 or later). */
#ifndef MARQUEUE_KERNEL_PACKET_H
#define MARQUEUE_KERNEL_PACKET_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "kernel.h"

struct gnet_stats_queue {
	__u32 backlog;
} KERNEL;

struct Qdisc {
	struct gnet_stats_queue qstats;
} KERNEL;

struct net_device {
	struct Qdisc *qdisc;
} KERNEL;

struct sk_buff {
	struct net_device *dev;
	unsigned char *head;
	unsigned char *data;
	__u16 network_header;
} KERNEL;

extern void *bpf_cast_to_kern_ctx(void *obj) __ksym;

/* Bytes in the queue of the root qdisc, as it counts them (`backlog` of tc -s qdisc). It is read without the qdisc's
 * lock: it may be a packet old. */
static __always_inline __u64 root_backlog(struct __sk_buff *skb)
{
	struct sk_buff *packet = bpf_cast_to_kern_ctx(skb);
	struct net_device *device = packet->dev;
	struct Qdisc *root;

	if (!device)
		return 0;
	root = device->qdisc;
	return root ? root->qstats.backlog : 0;
}

/* Where the header of IP begins. */
static __always_inline __u32 network_at(struct __sk_buff *skb)
{
	struct sk_buff *packet = bpf_cast_to_kern_ctx(skb);

	return packet->network_header - (__u32)(packet->data - packet->head);
}

#endif
