//! The links of a plan: their rates and delays, queues, CPUs and impairments.

use crate::delay_law::DelayLaw;
use crate::stack_plan::RouterPlan;
use marqueue_aqm::{Densities, Limit, Signal};
use marqueue_core::params::{ParamValues, PolicySpec};
use marqueue_core::{Bytes, Dur, Hz, MicroCycles, Rate, Time};
use serde::{Deserialize, Serialize};

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
        /// Indices into [`crate::plan::Plan::links`].
        links: Vec<usize>,
    },
}

/// A link for each flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerFlowPlan {
    /// Distribution of the propagation delay. Each flow has one draw.
    pub delay: DelayLaw,
    /// Keys the random stream of the delays. A flow has the same delay on all links with one key, such as both
    /// directions, so these have the same law.
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
