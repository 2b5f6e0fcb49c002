//! The plan of a run: a scenario with every name resolved to an index and every value to its base unit. The Python
//! package writes it as JSON.

use marqueue_aqm::{Densities, Limit, Signal};
use marqueue_core::params::{ParamValues, PolicySpec};
use marqueue_core::{Bytes, Dur, Hz, MicroCycles, Rate, Time};
use serde::{Deserialize, Serialize};

/// One run, without its seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// When the run ends.
    pub duration: Time,
    /// Where one measuring window ends and the next begins, increasing, inside the run: the end of
    /// the warm-up and any other cut. `k` boundaries make `k + 1` windows.
    pub boundaries: Vec<Time>,
    /// Step of the time series; zero for none.
    pub sample: Dur,
    /// The links, in the order that results have.
    pub links: Vec<LinkPlan>,
    /// The routes through the network.
    pub routes: Vec<RoutePlan>,
    /// The transport settings in use.
    pub transports: Vec<TransportPlan>,
    /// The traffic groups.
    pub traffic: Vec<TrafficPlan>,
}

impl Plan {
    /// Number of processing classes; 0 without a CPU.
    pub fn classes(&self) -> usize {
        if self.links.iter().all(|link| link.cpu.is_none()) {
            return 0;
        }
        self.traffic.iter().map(|t| usize::from(t.class) + 1).max().unwrap_or(0)
    }

    /// Number of flows that exist from the start.
    pub fn flows(&self) -> u64 {
        let flows = |t: &TrafficPlan| match t.kind {
            TrafficKind::Tcp { count, .. } | TrafficKind::Cbr { count, .. } | TrafficKind::Paced { count, .. } => {
                u64::from(count)
            }
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
    /// Bits a second.
    pub rate: Rate,
    /// Propagation.
    pub delay: Dur,
    /// Its queue; without one the link is a wire: an unlimited first-in, first-out buffer without measurements.
    pub queue: Option<QueuePlan>,
    /// Later rates with the times at which they begin, increasing.
    #[serde(default)]
    pub schedule: Vec<(Time, Rate)>,
    /// The instants at which it may send, from where they begin anew, not decreasing; then `rate` is their mean.
    #[serde(default)]
    pub opportunities: Vec<Dur>,
    /// Record every arrival, mark, loss and departure.
    #[serde(default)]
    pub trace: bool,
    /// Impairments behind the transmitter.
    #[serde(default)]
    pub pipe: PipePlan,
    /// The server is this CPU, not a transmitter: then `rate` is what it processes at the mean density, and
    /// nothing comes behind it, no delay and no pipe.
    #[serde(default)]
    pub cpu: Option<CpuPlan>,
}

/// A CPU that processes packets before they go on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuPlan {
    /// Clock of a core.
    pub clock: Hz,
    /// Cores, which serve one queue.
    pub cores: u32,
    /// By class of processing, what packets take.
    pub work: Vec<WorkPlan>,
    /// Weight of a new measurement in the estimated densities; without it they are fixed.
    #[serde(default)]
    pub lambda: Option<f64>,
}

impl CpuPlan {
    /// The densities for its queue, where `rate` is its rate at the mean density.
    pub fn densities(&self, rate: Rate) -> Densities {
        let speed = self.clock.0 as f64 * f64::from(self.cores);
        Densities::new(self.work.iter().map(|w| w.density).collect(), speed / rate.0 as f64, self.lambda)
    }
}

/// What the packets of one class take of a CPU.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkPlan {
    /// Cycles a bit.
    pub per_bit: MicroCycles,
    /// Cycles a packet, whatever its size.
    pub per_packet: MicroCycles,
    /// Cycles a bit that the queue is told.
    pub density: f64,
}

/// The impairments of a pipe; see `impair`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipePlan {
    /// The model of loss and its parameters.
    #[serde(default)]
    pub loss: Option<PolicySpec>,
    /// Parameters of delay that varies.
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
    /// Has it a queue? A link whose capacity changes or whose packets are traced has one too, though it need not be
    /// managed or measured.
    pub fn has_queue(&self) -> bool {
        self.queue.is_some() || !self.schedule.is_empty() || !self.opportunities.is_empty() || self.trace
    }

    /// May packets leave its server in another order than they entered it?
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
    /// The usual size of a data packet.
    pub mean_packet: Bytes,
}

impl QueuePlan {
    /// A queue that never drops a packet, for a link without a managed queue.
    pub fn endless() -> QueuePlan {
        QueuePlan {
            policy: PolicySpec { name: "droptail".into(), params: ParamValues::new() },
            limit: Limit::Packets(u32::MAX),
            signal: Signal::Drop,
            mean_packet: Bytes(1000),
        }
    }
}

/// A way there and back, as indices into [`Plan::links`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoutePlan {
    /// From the source to the destination.
    pub forward: Vec<usize>,
    /// From the destination to the source.
    pub reverse: Vec<usize>,
}

/// Settings of TCP: a preset by name and what differs from it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransportPlan {
    /// One of `marqueue_cc::preset::PRESETS`.
    pub preset: String,
    /// See `marqueue_cc::config::Params`.
    #[serde(default)]
    pub params: ParamValues,
}

/// A group of like flows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrafficPlan {
    /// Its name, unique; keys the random streams of its flows.
    pub name: String,
    /// Code point of its packets and of their acknowledgements.
    #[serde(default)]
    pub dscp: u8,
    /// Class of processing of its packets and of their acknowledgements: index into [`CpuPlan::work`].
    #[serde(default)]
    pub class: u8,
    /// What its flows are.
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
        /// How many flows.
        count: u32,
        /// When the first may start.
        start: Time,
        /// Over how long the starts are spread.
        jitter: Dur,
        /// When they stop sending new data.
        stop: Option<Time>,
        /// How many packets of data each sends; endless if absent.
        size: Option<u32>,
        /// Record every change of cwnd, ssthresh, round-trip time and timeout.
        trace: bool,
        /// Their applications write in pieces; without it all data is at hand from the start.
        #[serde(default)]
        write: Option<WritePlan>,
        /// Sample the congestion windows, every [`Plan::sample`].
        #[serde(default)]
        sample_cwnd: bool,
    },
    /// TCP flows that arrive as a Poisson process, each on a route drawn uniformly.
    Poisson {
        /// Index into [`Plan::transports`].
        transport: usize,
        /// Indices into [`Plan::routes`].
        routes: Vec<usize>,
        /// Flows a second.
        rate: f64,
        /// The process runs from here ...
        start: Time,
        /// ... to here.
        stop: Time,
        /// How many packets of data a flow sends in the mean.
        size: u32,
        /// Distribution of that.
        #[serde(default)]
        law: FlowSizes,
    },
    /// `count` constant-rate UDP flows.
    Cbr {
        /// Index into [`Plan::routes`].
        route: usize,
        /// How many flows.
        count: u32,
        /// Bits a second on the wire, each.
        rate: Rate,
        /// Size on the wire.
        packet: Bytes,
        /// When the first may start.
        start: Time,
        /// Over how long the starts are spread.
        jitter: Dur,
        /// When they stop.
        stop: Option<Time>,
    },
    /// `count` rate-based flows. The name of this variant is that of the plan's JSON.
    Paced {
        /// The rate law and its parameters.
        control: PolicySpec,
        /// Index into [`Plan::routes`].
        route: usize,
        /// How many flows.
        count: u32,
        /// Bits a second on the wire with which each starts.
        rate: Rate,
        /// Size on the wire.
        packet: Bytes,
        /// Are its packets ECN-capable?
        ecn: bool,
        /// When the first may start.
        start: Time,
        /// Over how long the starts are spread.
        jitter: Dur,
        /// When they stop.
        stop: Option<Time>,
        /// Record every change of the rate and of the price that is obeyed.
        #[serde(default)]
        trace: bool,
    },
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
    },
}

/// How an application writes its data: a piece at the start of its flow, and then one after each gap.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WritePlan {
    /// Packets a piece.
    pub packets: u32,
    /// Mean gap between two pieces.
    pub every: Dur,
    /// Distribution of gaps.
    pub gaps: Gaps,
}

/// How gaps are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gaps {
    /// All alike.
    Constant,
    /// Exponential.
    Exponential,
}

/// How the sizes of flows are distributed, before they are rounded to whole packets, at least one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FlowSizes {
    /// All alike.
    #[default]
    Constant,
    /// Pareto: the chance to exceed x falls as x^-shape.
    Pareto {
        /// More than 1, so that there is a mean.
        shape: f64,
    },
}

/// How packet sizes are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum SizeLaw {
    /// All alike.
    Constant,
    /// Exponential, rounded up to whole bytes.
    Exponential,
    /// One of two exponentials, rounded up to whole bytes, of which each brings half of all bytes
    /// (balanced means; W. Whitt, "Approximating a point process by a renewal process", Oper. Res.
    /// 30(1), 1982).
    Hyperexponential {
        /// Squared coefficient of variation, at least 1, before rounding.
        scv: f64,
    },
}
