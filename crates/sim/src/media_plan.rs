//! The part of a plan that names media flows: an encoder, and the control of its rate.

use crate::ecn_field::EcnField;
use marqueue_core::params::PolicySpec;
use marqueue_core::{Bytes, Dur, Rate, Time};
use serde::{Deserialize, Serialize};

/// A group of equal media flows, each starting uniformly in [start, start + jitter).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaPlan {
    /// The control and its parameters.
    pub control: PolicySpec,
    /// Index into [`crate::plan::Plan::routes`].
    pub route: usize,
    /// Number of flows.
    pub count: u32,
    /// Size of a full packet on the wire.
    pub packet: Bytes,
    /// ECN field of its packets.
    pub ecn: EcnField,
    /// The encoder.
    pub encoder: EncoderPlan,
    /// When the first may start.
    pub start: Time,
    /// Time over which starts are spread.
    pub jitter: Dur,
    /// When their encoders stop.
    pub stop: Option<Time>,
    /// Whether to record every change of rate and window.
    #[serde(default)]
    pub trace: bool,
}

/// An encoder. Rates are those of RTP packets with their headers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderPlan {
    /// Time between frames.
    pub period: Dur,
    /// The lowest rate, bit/s.
    pub min_rate: Rate,
    /// The highest rate, bit/s.
    pub max_rate: Rate,
    /// The only rates that it has, increasing; empty if it has all.
    #[serde(default)]
    pub ladder: Vec<Rate>,
    /// Scale of the Laplace distribution of frame sizes, as a share of the mean.
    pub deviation: f64,
    /// Time between key frames; without one they are made only when asked for.
    #[serde(default)]
    pub key_frames: Option<Dur>,
    /// Size of a key frame, as a multiple of that of others.
    pub key_size: f64,
}
