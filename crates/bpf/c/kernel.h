/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The kernel's own structures: a program declares of them what it uses, and the loader finds the places in the running
 * kernel. */
#ifndef MARQUEUE_KERNEL_H
#define MARQUEUE_KERNEL_H

#define KERNEL __attribute__((preserve_access_index))

#endif
