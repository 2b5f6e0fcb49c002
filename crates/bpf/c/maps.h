/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The maps of a program: what the loader writes and reads. `struct law` and `struct state` are the AQM's. */
#ifndef MARQUEUE_MAPS_H
#define MARQUEUE_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

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

#endif
