/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * RED's average of the queue and the probability that follows from it, for the AQMs that go by them; src/red.rs has the
 * same functions. `struct law` and `struct state` are the AQM's, with the fields that are used here.
 */
#ifndef MARQUEUE_RED_AVERAGE_H
#define MARQUEUE_RED_AVERAGE_H

#include "fixed_point.h"

/* avg <- (1 - w_q)^m avg, m the packets that could have been sent since the queue was empty. */
static __always_inline void idle(struct state *q, const struct law *law, __u64 now)
{
	__u64 empty = q->last + q->behind * SECOND / law->rate, rest = 0, most = 0x7fffffffULL * law->size;

	if (now > empty)
		q->avg = scaled(q->avg, power(ONE - law->w_q, made(law->rate, now - empty, most, &rest) / law->size));
}

/* avg <- (1 - w_q) avg + w_q q */
static __always_inline void average(struct state *q, const struct law *law, __u64 queue)
{
	__u64 now = queue << FRACTION;

	if (now > q->avg)
		q->avg += scaled(now - q->avg, law->w_q);
	else
		q->avg -= scaled(q->avg - now, law->w_q);
}

/* p_b, before spreading */
static __always_inline __u64 before_spreading(const struct state *q, const struct law *law)
{
	__u64 p;

	if (q->avg < law->max_th)
		p = scaled(q->avg - law->min_th, law->slope);
	else
		p = law->max_p + scaled(q->avg - law->max_th, law->steep);
	return p < ONE ? p : ONE;
}

#endif
