//! Why a run has one thread only.

use crate::plan::{MediaPlan, Plan, QuicPlan, TrafficKind};
use marqueue_cc::program::{program_of, PREFIX};
use std::fmt;

/// Why a run has one thread only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneThread {
    /// A queue's packets are traced.
    PacketTrace,
    /// Media flows.
    Media,
    /// QUIC flows, kernels as hosts or routers.
    Outside,
    /// Programs of the user's.
    Program,
    /// No propagation delay separates two halves of the network.
    NoDelay,
    /// What could be apart is less work than to hand packets over.
    LittleToShare,
}

impl fmt::Display for OneThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OneThread::PacketTrace => "the packets of a queue are traced",
            OneThread::Media => "there are media flows",
            OneThread::Outside => "QUIC flows or kernels take part",
            OneThread::Program => "programs take part",
            OneThread::NoDelay => "no propagation delay separates one half of the network from the other",
            OneThread::LittleToShare => {
                "what another thread could take over is less work than to hand packets over to it"
            }
        })
    }
}

/// Why no partition of this plan gives the result of one thread.
pub fn obstacle(plan: &Plan) -> Option<OneThread> {
    if plan.has_quic() || plan.has_kernels() {
        return Some(OneThread::Outside);
    }
    let has_program = plan.transports.iter().any(|t| program_of(&t.params).is_some())
        || plan.links.iter().any(|l| l.queue.as_ref().is_some_and(|q| q.policy.name.starts_with(PREFIX)));
    if has_program {
        return Some(OneThread::Program);
    }
    if plan.links.iter().any(|link| link.trace) {
        return Some(OneThread::PacketTrace);
    }
    plan.traffic.iter().find_map(|traffic| match traffic.kind {
        TrafficKind::Media(MediaPlan { .. }) => Some(OneThread::Media),
        TrafficKind::Quic(QuicPlan { .. }) => Some(OneThread::Outside),
        TrafficKind::Tcp { .. }
        | TrafficKind::Poisson { .. }
        | TrafficKind::Cbr { .. }
        | TrafficKind::Recorded { .. }
        | TrafficKind::Paced { .. }
        | TrafficKind::Packets { .. } => None,
    })
}
