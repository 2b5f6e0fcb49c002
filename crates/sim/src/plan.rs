//! The plan of a run: a scenario with every name resolved to an index and every value to its base unit. The Python
//! package writes it as JSON.

pub use crate::ecn_field::EcnField;
pub use crate::flow_sizes::FlowSizes;
pub use crate::link_plan::{CpuPlan, LinkPlan, ModelPlan, PerFlowPlan, PipePlan, QueuePlan, WorkPlan};
pub use crate::media_plan::{EncoderPlan, MediaPlan};
pub use crate::quic_plan::{QuicControl, QuicLibrary, QuicPlan, QUIC_OVERHEAD, UDP_HEADER};
pub use crate::stack_plan::{RouterPlan, StackPlan};
pub use crate::traffic_plan::{FirstWrite, Gaps, SizeLaw, TrafficKind, TrafficPlan, TransportPlan, WritePlan};
use marqueue_core::{Dur, Time};
use serde::{Deserialize, Serialize};

/// One run, without its seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// When the run ends.
    pub duration: Time,
    /// Times that separate measuring windows, such as the end of the warm-up: increasing, inside the run. `k`
    /// boundaries make `k + 1` windows.
    pub boundaries: Vec<Time>,
    /// Sampling interval of the time series; zero for none.
    pub sample: Dur,
    /// The links, in the order of the results.
    pub links: Vec<LinkPlan>,
    /// The routes through the network.
    pub routes: Vec<RoutePlan>,
    /// The transport settings in use.
    pub transports: Vec<TransportPlan>,
    /// The traffic groups.
    pub traffic: Vec<TrafficPlan>,
    /// If more flows than this are expected to arrive, a flow that arrives gets the slot of one that has ended
    /// ([`crate::slots`]), which bounds the memory. Otherwise a flow's slot is its row in the flow table, so that flow
    /// queueing hashes each flow anew, as it does where flows have ports.
    #[serde(default = "Plan::reuse_slots_above")]
    pub reuse_slots_above: u32,
}

impl Plan {
    /// What `reuse_slots_above` is unless a plan says otherwise: 100,000 flows take 32 MB.
    pub const fn reuse_slots_above() -> u32 {
        100_000
    }

    /// Does any flow end in a kernel, or any queue lie in one?
    pub fn has_kernels(&self) -> bool {
        self.transports.iter().any(|transport| transport.stack.is_some())
            || self.links.iter().any(|link| link.router().is_some())
    }

    /// Is any flow QUIC?
    pub fn has_quic(&self) -> bool {
        self.traffic.iter().any(|traffic| matches!(traffic.kind, TrafficKind::Quic(_)))
    }

    /// Number of processing classes; 0 without a CPU.
    pub fn class_count(&self) -> usize {
        if self.links.iter().all(|link| link.cpu.is_none()) {
            return 0;
        }
        self.traffic.iter().map(|t| usize::from(t.class) + 1).max().unwrap_or(0)
    }

    /// Number of flows that exist from the start.
    pub fn initial_flows(&self) -> u64 {
        let flows = |t: &TrafficPlan| match t.kind {
            TrafficKind::Tcp { count, .. }
            | TrafficKind::Cbr { count, .. }
            | TrafficKind::Recorded { count, .. }
            | TrafficKind::Paced { count, .. } => u64::from(count),
            TrafficKind::Quic(QuicPlan { count, .. }) | TrafficKind::Media(MediaPlan { count, .. }) => u64::from(count),
            TrafficKind::Packets { .. } => 1,
            TrafficKind::Poisson { .. } => 0,
        };
        self.traffic.iter().map(flows).sum()
    }
}

/// A route forward and back, as indices into [`Plan::links`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoutePlan {
    /// From the source to the destination.
    pub forward: Vec<usize>,
    /// From the destination to the source.
    pub reverse: Vec<usize>,
}
