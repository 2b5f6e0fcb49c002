//! The part of a plan that names QUIC: flows whose ends are connections of a QUIC library.

use crate::flow_sizes::FlowSizes;
use marqueue_core::{Bytes, Dur, Rate, Time};
use serde::{Deserialize, Serialize};

/// Bytes of a full packet that are not data of a stream: IPv4 (20), UDP (8), the short header with a connection ID of 8
/// bytes and a packet number of 1 (10), the tag (16), and the header of a STREAM frame with an offset of 4 bytes (6).
/// From 128 unacknowledged packets on the packet number has 2 bytes (RFC 9000, section 17.1).
pub const QUIC_OVERHEAD: u32 = 60;
/// IP and UDP.
pub const UDP_HEADER: u32 = 28;

/// A group of equal QUIC flows. `count` of them start uniformly in [start, start + jitter); or they arrive as a Poisson
/// process from start to stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuicPlan {
    /// The library that plays both ends.
    #[serde(default)]
    pub library: QuicLibrary,
    /// Congestion control of the sender of data.
    pub control: QuicControl,
    /// Do the ends send ECT(0)?
    pub ecn: bool,
    /// Size of a full packet with the headers of IP and UDP.
    pub packet: Bytes,
    /// Index into [`crate::plan::Plan::routes`]; data takes the way forward.
    pub route: usize,
    /// Number of flows; 0 with `arrivals`.
    pub count: u32,
    /// Flows that arrive in a second.
    #[serde(default)]
    pub arrivals: Option<f64>,
    /// When the first may start.
    pub start: Time,
    /// Time over which starts are spread.
    pub jitter: Dur,
    /// When they stop sending new data, or arriving.
    pub stop: Option<Time>,
    /// Bytes of each flow, or their mean; unlimited if absent.
    pub size: Option<u32>,
    /// Distribution of that.
    #[serde(default)]
    pub law: FlowSizes,
    /// Data that the sender's application has in a second, a full packet's at a time; all at once if absent.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// Whether to record every change of the sender's window and round-trip time.
    pub trace: bool,
    /// Whether to sample the congestion windows.
    #[serde(default)]
    pub sample_cwnd: bool,
}

impl QuicPlan {
    /// Stream data in a full packet, bytes.
    pub fn payload(&self) -> u32 {
        (self.packet.0 as u32).saturating_sub(QUIC_OVERHEAD).max(1)
    }
}

/// Libraries whose connections the simulator carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuicLibrary {
    /// quinn-proto.
    #[default]
    Quinn,
    /// noq-proto.
    Noq,
}

/// Congestion controls of the libraries. Their BBR is none of them: its random numbers cannot be given a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuicControl {
    /// CUBIC.
    Cubic,
    /// NewReno (RFC 9002, section 7).
    NewReno,
}
