/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Arithmetic in integers that every AQM here shares; src/fixed_point.rs has the same functions. */
#ifndef MARQUEUE_FIXED_POINT_H
#define MARQUEUE_FIXED_POINT_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* Binary digits of the fraction of a byte. */
#define FRACTION 20
#define SECOND 1000000000ULL
/* Probability 1. */
#define ONE (1ULL << 32)

/* What `rate` a second makes in `dt` ns, and of a unit what `rest` says; `enough` if it is more than that. */
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
	/* In two halves, or the product would not fit into 64 bits. */
	high = (rate >> 32) * dt;
	carry = ((high % SECOND) << 32) + (rate & 0xffffffff) * dt + *rest;
	*rest = carry % SECOND;
	return whole + ((high / SECOND) << 32) + carry / SECOND;
}

/* a b 2^-32, rounded down; it must fit into 64 bits. */
static __always_inline __u64 scaled(__u64 a, __u64 b)
{
	__u64 ah = a >> 32, al = a & 0xffffffff, bh = b >> 32, bl = b & 0xffffffff;

	return ((ah * bh) << 32) + ah * bl + al * bh + ((al * bl) >> 32);
}

/* The smaller of a b and `most`. */
static __always_inline __u64 product(__u64 a, __u64 b, __u64 most)
{
	return b && a > most / b ? most : a * b;
}

/* base^exponent of a probability. */
static __always_inline __u64 power(__u64 base, __u32 exponent)
{
	__u64 result = ONE;
	int bit;

#pragma unroll
	for (bit = 0; bit < 32; bit++) {
		if (exponent & 1)
			result = (result * (base >> 1)) >> 31;
		base = ((base >> 1) * base) >> 31;
		exponent >>= 1;
	}
	return result;
}

/* A random number made of another: the end of MurmurHash3. */
static __always_inline __u32 mixed(__u32 random, __u32 number)
{
	__u32 x = random + number * 0x9e3779b9;

	x = (x ^ (x >> 16)) * 0x85ebca6b;
	x = (x ^ (x >> 13)) * 0xc2b2ae35;
	return x ^ (x >> 16);
}

#endif
