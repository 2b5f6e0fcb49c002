//! Algorithms that end slow start before it fills the buffer: HyStart++ (RFC 9406) and HyStart of Linux's CUBIC, one file
//! each.
//!
//! Both use the round-trip time of every acknowledgement of new data, which needs timestamps. HyStart++ stops at the first
//! congestion signal: later slow starts end at ssthresh (RFC 9406, 4.3). HyStart ends one slow start, and another after a
//! timeout.

mod hystart;
mod hystart_plus_plus;
mod rtt_sample;

pub use rtt_sample::{AckSample, SlowStartDecision};

use crate::config::{Config, SlowStart};
use hystart::HyStart;
use hystart_plus_plus::HyStartPlusPlus;

/// The algorithm of a connection.
#[derive(Clone, Debug)]
pub enum SlowStartMonitor {
    /// RFC 9406.
    HyStartPlusPlus(HyStartPlusPlus),
    /// Linux's CUBIC.
    HyStart(HyStart),
}

impl SlowStartMonitor {
    /// The algorithm that the settings select. Boxed, because most of the time there is none.
    pub fn new(config: &Config) -> Option<Box<SlowStartMonitor>> {
        match config.slow_start {
            SlowStart::Standard => None,
            SlowStart::HyStartPlusPlus => Some(Box::new(SlowStartMonitor::HyStartPlusPlus(HyStartPlusPlus::default()))),
            SlowStart::HyStart => Some(Box::new(SlowStartMonitor::HyStart(HyStart::default()))),
        }
    }

    /// Most segments that an acknowledgement opens the window by.
    pub fn limit(&self, config: &Config) -> f64 {
        match self {
            SlowStartMonitor::HyStartPlusPlus(_) => config.hystart_limit,
            SlowStartMonitor::HyStart(_) => config.abc_limit,
        }
    }

    /// Is it for the first slow start alone?
    pub fn is_for_the_first(&self) -> bool {
        matches!(self, SlowStartMonitor::HyStartPlusPlus(_))
    }

    /// A timeout begins a slow start.
    pub fn on_timeout(&mut self) {
        if let SlowStartMonitor::HyStart(algorithm) = self {
            algorithm.begin();
        }
    }

    /// An acknowledgement in slow start.
    pub fn on_ack(&mut self, seen: &AckSample) -> SlowStartDecision {
        match self {
            SlowStartMonitor::HyStartPlusPlus(algorithm) => algorithm.on_ack(seen),
            SlowStartMonitor::HyStart(algorithm) => algorithm.on_ack(seen),
        }
    }
}
