//! The parts of a plan that name kernels: in which of them flows end, and whose queues they pass.

use marqueue_core::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The TCP of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackPlan {
    /// The kernel, such as linux-7.3.
    pub kernel: String,
    /// Its congestion control.
    pub congestion_control: String,
    /// Values of sysctls at both ends.
    #[serde(default)]
    pub sysctl: BTreeMap<String, String>,
}

/// A queue that is the qdisc of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouterPlan {
    /// The kernel, such as linux-7.3.
    pub kernel: String,
    /// What tc is told, a command each, without the device: `qdisc add root fq_codel limit 100`.
    pub tc: Vec<String>,
    /// Most bytes beyond the first packet that its network card takes from the qdisc; by default byte queue limits decide.
    #[serde(default)]
    pub byte_queue_limit: Option<Bytes>,
}
