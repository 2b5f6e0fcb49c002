/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Weights of packets by the cgroup of the socket that sent them (version 2). A packet that was received, and is forwarded,
 * has no socket.
 *
 * `struct law` of an AQM with these weights has a table of WEIGHED_CGROUPS elements.
 */
#ifndef MARQUEUE_CGROUP_H
#define MARQUEUE_CGROUP_H

#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel.h"

/* The most cgroups that have a weight of their own. */
#define WEIGHED_CGROUPS 16

struct weighed_cgroup {
	__u64 id; /* the inode number of its folder; 0 behind the last one */
	__u64 weight; /* 2^-20 */
};

/* The weight of this very cgroup; 0 if it has none of its own. */
static __always_inline __u64 weight_of_cgroup(const struct weighed_cgroup *table, __u64 id)
{
	int each;

	for (each = 0; each < WEIGHED_CGROUPS && table[each].id; each++)
		if (table[each].id == id)
			return table[each].weight;
	return 0;
}

#ifndef TEST_RUN

/* The socket's cgroup and those above it that are looked at. */
#define MOST_LEVELS 16

/* States of a socket that are of a structure which is smaller than a socket (enum of the kernel's net/tcp_states.h). */
#define STATE_TIME_WAIT 6
#define STATE_NEW_SYN_RECV 12

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
} KERNEL;

struct kernfs_node {
	__u64 id;
} KERNEL;

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
} KERNEL;

struct sock_cgroup_data {
	struct cgroup *cgroup;
} KERNEL;

struct sock_common {
	unsigned char skc_state;
} KERNEL;

struct sock {
	struct sock_common __sk_common;
	struct sock_cgroup_data sk_cgrp_data;
} KERNEL;

/* The weight of the lowest cgroup of a socket that has one; 0 if none has. */
static __always_inline __u64 weight_of_socket(const struct weighed_cgroup *table, struct sock *sk)
{
	struct cgroup_subsys_state *above;
	struct cgroup *cgroup;
	__u64 weight;
	int level;

	/* Without weights nothing is looked for. A kernel may be built without cgroups of sockets. */
	if (!table[0].id || !sk || !bpf_core_field_exists(sk->sk_cgrp_data.cgroup))
		return 0;
	if (sk->__sk_common.skc_state == STATE_TIME_WAIT || sk->__sk_common.skc_state == STATE_NEW_SYN_RECV)
		return 0;
	cgroup = sk->sk_cgrp_data.cgroup;
	for (level = 0; level < MOST_LEVELS && cgroup; level++) {
		weight = weight_of_cgroup(table, cgroup->kn->id);
		if (weight)
			return weight;
		above = cgroup->self.parent;
		if (!above)
			return 0;
		cgroup = above->cgroup;
	}
	return 0;
}

#endif

#endif
