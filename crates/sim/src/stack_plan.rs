//! The part of a plan that says in which kernel flows end.

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
