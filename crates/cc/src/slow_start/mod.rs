//! When the first slow start ends before it has filled the buffer: HyStart++ (RFC 9406) and HyStart as Linux's CUBIC
//! has it, one file each.
//!
//! Both look at the round-trip time of every acknowledgement of new data, which takes timestamps. A signal of congestion, or the end
//! that they find, is the end of them: later slow starts know their ssthresh (RFC 9406, 4.3).

mod hystart;
mod hystart_plus_plus;
mod rtt_sample;

pub use rtt_sample::{AckSample, SlowStartDecision};

use crate::config::{Config, SlowStart};
use hystart::HyStart;
use hystart_plus_plus::HyStartPlusPlus;

/// What watches the first slow start.
#[derive(Clone, Debug)]
pub enum SlowStartMonitor {
    /// RFC 9406.
    HyStartPlusPlus(HyStartPlusPlus),
    /// Linux's CUBIC.
    HyStart(HyStart),
}

impl SlowStartMonitor {
    /// What the settings ask for. Behind a pointer: most of a flow's life there is nothing to watch.
    pub fn new(config: &Config) -> Option<Box<SlowStartMonitor>> {
        match config.slow_start {
            SlowStart::Standard => None,
            SlowStart::HyStartPlusPlus => Some(Box::new(SlowStartMonitor::HyStartPlusPlus(HyStartPlusPlus::default()))),
            SlowStart::HyStart => Some(Box::new(SlowStartMonitor::HyStart(HyStart::default()))),
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
