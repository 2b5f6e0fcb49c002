//! The plan of a run: a scenario with every name resolved to an index and every value to its base unit. The Python
//! package writes it as JSON.

use crate::delay_law::DelayLaw;
pub use crate::ecn_field::EcnField;
pub use crate::flow_sizes::FlowSizes;
pub use crate::media_plan::{EncoderPlan, MediaPlan};
pub use crate::quic_plan::{QuicControl, QuicLibrary, QuicPlan, QUIC_OVERHEAD, UDP_HEADER};
pub use crate::stack_plan::{RouterPlan, StackPlan};
use marqueue_aqm::{Densities, Limit, Signal};
use marqueue_core::params::{ParamValues, PolicySpec};
use marqueue_core::{Bytes, Dur, Ecn, Hz, MicroCycles, Rate, Time};
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
}

impl Plan {
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

/// A one-way link: a queue, a transmitter and a pipe.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkPlan {
    /// Its name, unique; keys its random stream.
    pub name: String,
    /// Rate, bit/s.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Dur,
    /// Its queue; without one the link is a wire: an unlimited first-in, first-out buffer without measurements.
    pub queue: Option<QueuePlan>,
    /// Rate changes: time, increasing, and new rate.
    #[serde(default)]
    pub schedule: Vec<(Time, Rate)>,
    /// Delivery opportunities: the instants at which the link may send, nondecreasing, repeated after the last. `rate`
    /// is then the mean rate.
    #[serde(default)]
    pub delivery_opportunities: Vec<Dur>,
    /// The model of medium access and its parameters; without one the transmitter sends whenever it has a packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub medium: Option<PolicySpec>,
    /// Whether to record every arrival, mark, drop and departure.
    #[serde(default)]
    pub trace: bool,
    /// Impairments behind the transmitter.
    #[serde(default)]
    pub pipe: PipePlan,
    /// A link for each flow, with its own transmitter and propagation delay. `delay` is then the shortest one. These
    /// links have neither queue nor schedule nor pipe.
    #[serde(default)]
    pub per_flow: Option<PerFlowPlan>,
    /// The CPU that serves the queue in place of a transmitter. `rate` is then its rate at the mean density, and the
    /// link has neither delay nor pipe.
    #[serde(default)]
    pub cpu: Option<CpuPlan>,
    /// Its part in a hybrid run. The engine does not read it: it is for those who read results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelPlan>,
}

/// What of a network is a model in place of queues.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ModelPlan {
    /// No packet enters this link, because wires stand for it.
    Link {
        /// Predicted share of its rate that is used.
        utilization: f64,
        /// Mean time that packets wait, part of the delay of the wires.
        wait: Dur,
    },
    /// This wire stands for links that a route crosses one after the other.
    Wire {
        /// Indices into [`Plan::links`].
        links: Vec<usize>,
    },
}

/// A link for each flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerFlowPlan {
    /// Distribution of the propagation delay. Each flow has one draw.
    pub delay: DelayLaw,
    /// Keys the random stream of the delays. A flow has the same delay on all links with one key: on both directions.
    pub stream: String,
}

/// A CPU that processes packets.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuPlan {
    /// Clock frequency of a core.
    pub clock: Hz,
    /// Number of cores. They serve one queue.
    pub cores: u32,
    /// The processing of each class.
    pub work: Vec<WorkPlan>,
    /// Weight of a new measurement in the estimated densities; `None` for fixed densities.
    #[serde(default)]
    pub lambda: Option<f64>,
}

impl CpuPlan {
    /// The densities that the queue uses. `rate` is the rate at the mean density.
    pub fn densities(&self, rate: Rate) -> Densities {
        let speed = self.clock.0 as f64 * f64::from(self.cores);
        Densities::new(self.work.iter().map(|w| w.density).collect(), speed / rate.0 as f64, self.lambda)
    }
}

/// The processing of the packets of one class.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkPlan {
    /// Cycles a bit.
    pub per_bit: MicroCycles,
    /// Cycles a packet, independent of its size.
    pub per_packet: MicroCycles,
    /// Density that the queue uses, cycles/bit.
    pub density: f64,
}

/// The impairments of a pipe; see `impair`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipePlan {
    /// The model of loss and its parameters.
    #[serde(default)]
    pub loss: Option<PolicySpec>,
    /// Parameters of jitter.
    #[serde(default)]
    pub jitter: Option<ParamValues>,
    /// Parameters of reordering.
    #[serde(default)]
    pub reorder: Option<ParamValues>,
}

impl PipePlan {
    /// Is there any impairment?
    pub fn is_any(&self) -> bool {
        self.loss.is_some() || self.jitter.is_some() || self.reorder.is_some()
    }
}

impl LinkPlan {
    /// Has the link a queue, managed or not? A link whose capacity changes or whose packets are traced has one without
    /// measurements.
    pub fn has_queue(&self) -> bool {
        let has_varying_capacity =
            !self.schedule.is_empty() || !self.delivery_opportunities.is_empty() || self.medium.is_some();
        self.queue.is_some() || has_varying_capacity || self.trace
    }

    /// The kernel that manages its queue.
    pub fn router(&self) -> Option<&RouterPlan> {
        self.queue.as_ref()?.router.as_ref()
    }

    /// May packets leave the server in another order than they entered it?
    pub fn overtakes(&self) -> bool {
        self.cpu.as_ref().is_some_and(|cpu| cpu.cores > 1)
    }
}

/// A managed, metered queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueuePlan {
    /// The AQM and its parameters.
    pub policy: PolicySpec,
    /// The buffer, without the packet in transmission.
    pub limit: Limit,
    /// How marks reach senders.
    pub signal: Signal,
    /// Mean size of a data packet.
    pub mean_packet: Bytes,
    /// The kernel that manages the queue in place of `policy`, which then only names it.
    #[serde(default)]
    pub router: Option<RouterPlan>,
}

impl QueuePlan {
    /// About how many data packets the buffer has room for.
    pub fn most_packets(&self) -> u32 {
        match self.limit {
            Limit::Packets(packets) => packets,
            Limit::Bytes(bytes) => u32::try_from(bytes / self.mean_packet.0.max(1)).unwrap_or(u32::MAX),
        }
    }

    /// A queue that never drops a packet, for a link without a managed queue.
    pub fn unlimited() -> QueuePlan {
        QueuePlan {
            policy: PolicySpec { name: "droptail".into(), params: ParamValues::new() },
            limit: Limit::Packets(u32::MAX),
            signal: Signal::Drop,
            mean_packet: Bytes(1000),
            router: None,
        }
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

/// Settings of TCP: a preset, and the parameters that differ from it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransportPlan {
    /// One of `marqueue_cc::preset::PRESETS`.
    pub preset: String,
    /// See `marqueue_cc::config::Params`.
    #[serde(default)]
    pub params: ParamValues,
    /// The kernel in which the flows end; without one they are models. Preset and parameters then say how large a
    /// segment is.
    #[serde(default)]
    pub stack: Option<StackPlan>,
}

/// A group of equal flows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrafficPlan {
    /// Its name, unique; keys the random streams of its flows.
    pub name: String,
    /// Code point of its packets and of their acknowledgements.
    #[serde(default)]
    pub dscp: u8,
    /// Processing class of its packets and of their acknowledgements: index into [`CpuPlan::work`].
    #[serde(default)]
    pub class: u8,
    /// The kind of its flows.
    pub kind: TrafficKind,
}

/// Kinds of traffic.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TrafficKind {
    /// `count` TCP flows on one route, each starting uniformly in [start, start + jitter).
    Tcp {
        /// Index into [`Plan::transports`].
        transport: usize,
        /// Index into [`Plan::routes`].
        route: usize,
        /// Number of flows.
        count: u32,
        /// When the first may start.
        start: Time,
        /// Time over which starts are spread.
        jitter: Dur,
        /// When they stop sending new data.
        stop: Option<Time>,
        /// Data packets of each flow; unlimited if absent.
        size: Option<u32>,
        /// Whether to record every change of cwnd, ssthresh, round-trip time and timeout.
        trace: bool,
        /// How applications write their data in pieces; without it all data is available from the start.
        #[serde(default)]
        write: Option<WritePlan>,
        /// Whether to sample the congestion windows every [`Plan::sample`].
        #[serde(default)]
        sample_cwnd: bool,
    },
    /// TCP flows that arrive as a Poisson process, each on a random route.
    Poisson {
        /// Index into [`Plan::transports`].
        transport: usize,
        /// Indices into [`Plan::routes`].
        routes: Vec<usize>,
        /// The probability of each route in proportion; all are equal if it is empty.
        #[serde(default)]
        weights: Vec<f64>,
        /// Flows a second.
        rate: f64,
        /// Start of the process.
        start: Time,
        /// End of the process.
        stop: Time,
        /// Mean number of data packets of a flow.
        size: u32,
        /// Distribution of that number.
        #[serde(default)]
        law: FlowSizes,
    },
    /// `count` constant-rate UDP flows.
    Cbr {
        /// Index into [`Plan::routes`].
        route: usize,
        /// Number of flows.
        count: u32,
        /// Rate of each flow on the wire, bit/s.
        rate: Rate,
        /// Size on the wire.
        packet: Bytes,
        /// When the first may start.
        start: Time,
        /// Time over which starts are spread.
        jitter: Dur,
        /// When they stop.
        stop: Option<Time>,
        /// ECN field of their packets.
        #[serde(default)]
        ecn: EcnField,
    },
    /// `count` UDP flows that each send the packets of a recording.
    Recorded {
        /// Index into [`Plan::routes`].
        route: usize,
        /// Number of flows.
        count: u32,
        /// Time after the start and size on the wire of each packet, in order of time.
        packets: Vec<(Dur, Bytes)>,
        /// When the first may start.
        start: Time,
        /// Time over which starts are spread.
        jitter: Dur,
        /// When they stop.
        stop: Option<Time>,
        /// ECN field of their packets.
        #[serde(default)]
        ecn: EcnField,
    },
    /// `count` rate-based flows. The name of this variant is that of the plan's JSON.
    Paced {
        /// The rate law and its parameters.
        control: PolicySpec,
        /// Index into [`Plan::routes`].
        route: usize,
        /// Number of flows.
        count: u32,
        /// Initial rate of each flow on the wire, bit/s.
        rate: Rate,
        /// Size on the wire.
        packet: Bytes,
        /// Are its packets ECN-capable?
        ecn: bool,
        /// When the first may start.
        start: Time,
        /// Time over which starts are spread.
        jitter: Dur,
        /// When they stop.
        stop: Option<Time>,
        /// Whether to record every change of the rate and of the price in use.
        #[serde(default)]
        trace: bool,
    },
    /// QUIC flows, whose ends are outside (see [`crate::external`]).
    Quic(QuicPlan),
    /// Flows of real-time media.
    Media(MediaPlan),
    /// Packets that arrive as a Poisson process, without any control: the arrivals of M/M/1, M/D/1
    /// and M/G/1.
    Packets {
        /// Index into [`Plan::routes`].
        route: usize,
        /// Packets a second.
        rate: f64,
        /// Mean size on the wire.
        packet: Bytes,
        /// Distribution of sizes.
        size: SizeLaw,
        /// When it starts.
        start: Time,
        /// When it stops.
        stop: Option<Time>,
        /// ECN field of the packets.
        #[serde(default)]
        ecn: EcnField,
    },
}

impl TrafficKind {
    /// The ECN field of packets whose sender has no congestion control. Other senders set it for each packet.
    pub fn ecn(&self) -> Ecn {
        match self {
            TrafficKind::Cbr { ecn, .. } | TrafficKind::Recorded { ecn, .. } | TrafficKind::Packets { ecn, .. } => {
                (*ecn).into()
            }
            TrafficKind::Tcp { .. }
            | TrafficKind::Poisson { .. }
            | TrafficKind::Paced { .. }
            | TrafficKind::Quic(_)
            | TrafficKind::Media(_) => Ecn::NotEct,
        }
    }
}

/// How an application writes its data: one piece at the start of the flow, and one after each gap.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WritePlan {
    /// Size of a piece, packets.
    pub packets: u32,
    /// Mean gap between two pieces.
    pub every: Dur,
    /// Distribution of gaps.
    pub gaps: Gaps,
    /// Another beginning.
    #[serde(default)]
    pub first: Option<FirstWrite>,
}

/// The first piece of an application that writes in pieces, and the time to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstWrite {
    /// Size of the piece, packets.
    pub packets: u32,
    /// Time to the next piece.
    pub lasts: Dur,
}

/// The distribution of gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gaps {
    /// Constant.
    Constant,
    /// Exponential.
    Exponential,
}

/// The distribution of packet sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum SizeLaw {
    /// Constant.
    Constant,
    /// Exponential, rounded up to whole bytes.
    Exponential,
    /// A mixture of two exponentials, each with half of all bytes, rounded up to whole bytes (balanced means; W. Whitt,
    /// "Approximating a point process by a renewal process", Oper. Res. 30(1), 1982).
    Hyperexponential {
        /// Squared coefficient of variation, at least 1, before rounding.
        scv: f64,
    },
}
