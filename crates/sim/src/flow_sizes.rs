//! How much the flows of an arrival process send.

use serde::{Deserialize, Serialize};

/// The distribution of flow sizes, before they are rounded to whole packets, at least one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FlowSizes {
    /// Constant.
    #[default]
    Constant,
    /// Pareto: the probability of a size above x decreases as x^-shape.
    Pareto {
        /// Above 1, so that the mean is finite.
        shape: f64,
    },
}
