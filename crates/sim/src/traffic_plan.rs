//! The traffic of a plan: its groups of flows, and the transports that they use.

use crate::ecn_field::EcnField;
use crate::flow_sizes::FlowSizes;
use crate::media_plan::MediaPlan;
use crate::quic_plan::QuicPlan;
use crate::stack_plan::StackPlan;
use marqueue_core::params::{ParamValues, PolicySpec};
use marqueue_core::{Bytes, Dur, Ecn, Rate, Time};
use serde::{Deserialize, Serialize};

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
    /// Processing class of its packets and of their acknowledgements: index into [`crate::link_plan::CpuPlan::work`].
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
        /// Index into [`crate::plan::Plan::transports`].
        transport: usize,
        /// Index into [`crate::plan::Plan::routes`].
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
        /// Whether to sample the congestion windows every [`crate::plan::Plan::sample`].
        #[serde(default)]
        sample_cwnd: bool,
    },
    /// TCP flows that arrive as a Poisson process, each on a random route.
    Poisson {
        /// Index into [`crate::plan::Plan::transports`].
        transport: usize,
        /// Indices into [`crate::plan::Plan::routes`].
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
        /// Index into [`crate::plan::Plan::routes`].
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
        /// Index into [`crate::plan::Plan::routes`].
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
        /// Index into [`crate::plan::Plan::routes`].
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
        /// Index into [`crate::plan::Plan::routes`].
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
