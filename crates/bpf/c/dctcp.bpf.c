// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// DCTCP (RFC 8257) as a congestion control that is registered from outside the kernel, for kernels that
// are built without TCP_CONG_DCTCP. Sender: section 3.3. Receiver: section 3.2. alpha has ten binary digits and
// g is 1/16, as in the kernel's own; alpha starts at 1 (section 3.3).

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel.h"

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

struct sock_common {
	unsigned char skc_state;
} KERNEL;

struct sock {
	struct sock_common __sk_common;
} KERNEL;

struct inet_sock {
	struct sock sk;
} KERNEL;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	struct {
		__u8 pending; // which timers of acknowledgements run
	} KERNEL icsk_ack;
	__u64 icsk_ca_priv[13]; // as long as the kernel's: loads at its beginning are checked against it
} KERNEL;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 rcv_nxt;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 delivered;
	__u32 delivered_ce;
	__u32 snd_ssthresh;
	__u32 snd_cwnd;
	__u8 ecn_flags;
} KERNEL;

struct tcp_congestion_ops {
	char name[16];
	__u32 flags;
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*in_ack_event)(struct sock *sk, __u32 flags);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
};

#define TCP_CONG_NEEDS_ECN 2
#define TCP_ECN_DEMAND_CWR 4
#define ICSK_ACK_TIMER 2
#define TCP_CA_RECOVERY 3
#define TCP_CA_LOSS 4

#define ONE 1024 // alpha = 1
#define G_SHIFT 4

// In the 104 bytes that a connection has for its congestion control (ICSK_CA_PRIV_SIZE).
struct dctcp {
	__u32 delivered;    // when the observation window began
	__u32 delivered_ce; // the same
	__u32 window_end;   // sequence number with which it ends
	__u32 alpha;
	__u32 receiver_next; // RCV.NXT when a packet last came in the other CE state
	__u32 loss_cwnd;
	__u8 ce; // DCTCP.CE
};

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;

static __always_inline struct dctcp *state_of(struct sock *sk)
{
	return (struct dctcp *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline void new_window(const struct tcp_sock *tp, struct dctcp *d)
{
	d->window_end = tp->snd_nxt;
	d->delivered = tp->delivered;
	d->delivered_ce = tp->delivered_ce;
}

SEC("struct_ops")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *d = state_of(sk);

	d->alpha = ONE;
	d->receiver_next = tp->rcv_nxt;
	d->loss_cwnd = 0;
	d->ce = 0;
	new_window(tp, d);
}

// alpha <- (1 - g) alpha + g M, once a window of data.
SEC("struct_ops")
void BPF_PROG(dctcp_in_ack_event, struct sock *sk, __u32 flags)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *d = state_of(sk);
	__u32 delivered, marked, alpha;

	if ((__s32)(tp->snd_una - d->window_end) < 0)
		return;
	delivered = tp->delivered - d->delivered;
	marked = tp->delivered_ce - d->delivered_ce;
	alpha = d->alpha - (d->alpha >> G_SHIFT ? d->alpha >> G_SHIFT : d->alpha);
	if (marked && delivered)
		alpha += ((__u64)marked << (10 - G_SHIFT)) / delivered;
	d->alpha = alpha < ONE ? alpha : ONE;
	new_window(tp, d);
}

// cwnd <- cwnd (1 - alpha / 2)
SEC("struct_ops")
__u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *d = state_of(sk);
	__u32 cwnd = tp->snd_cwnd;
	__u32 left = cwnd - (__u32)(((__u64)cwnd * d->alpha) >> 11);

	d->loss_cwnd = cwnd;
	return left > 2 ? left : 2;
}

// A loss, found by duplicates or by the timer, is answered as by Reno (section 3.5).
SEC("struct_ops")
void BPF_PROG(dctcp_set_state, struct sock *sk, __u8 state)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u32 half = tp->snd_cwnd >> 1;

	if (state == TCP_CA_RECOVERY || state == TCP_CA_LOSS) {
		state_of(sk)->loss_cwnd = tp->snd_cwnd;
		tp->snd_ssthresh = half > 2 ? half : 2;
	}
}

// The receiver: where the CE state of packets changes, what came in the old one is acknowledged at once.
static __always_inline void ce_state(struct sock *sk, __u8 ce)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *d = state_of(sk);

	if (d->ce != ce) {
		if (((struct inet_connection_sock *)sk)->icsk_ack.pending & ICSK_ACK_TIMER) {
			if (d->ce)
				tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
			else
				tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
			bpf_tcp_send_ack(tp, d->receiver_next);
		}
		d->ce = ce;
	}
	d->receiver_next = tp->rcv_nxt;
	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

SEC("struct_ops")
void BPF_PROG(dctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
		ce_state(sk, event == CA_EVENT_ECN_IS_CE);
}

SEC("struct_ops")
__u32 BPF_PROG(dctcp_undo_cwnd, struct sock *sk)
{
	__u32 cwnd = ((struct tcp_sock *)sk)->snd_cwnd;
	__u32 before = state_of(sk)->loss_cwnd;

	return cwnd > before ? cwnd : before;
}

SEC("struct_ops")
void BPF_PROG(dctcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

// With a link: it is registered as long as whoever registered it lives.
SEC(".struct_ops.link")
struct tcp_congestion_ops dctcp = {
	.name = "", // whoever registers it gives it one
	.flags = TCP_CONG_NEEDS_ECN,
	.init = (void *)dctcp_init,
	.in_ack_event = (void *)dctcp_in_ack_event,
	.ssthresh = (void *)dctcp_ssthresh,
	.set_state = (void *)dctcp_set_state,
	.cwnd_event = (void *)dctcp_cwnd_event,
	.undo_cwnd = (void *)dctcp_undo_cwnd,
	.cong_avoid = (void *)dctcp_cong_avoid,
};

char _license[] SEC("license") = "Dual MIT/GPL";
