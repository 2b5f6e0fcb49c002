//! When the first slow start ends before it has filled the buffer: HyStart++ (RFC 9406) and HyStart as Linux's CUBIC
//! has it, one file each.
//!
//! Both look at the round-trip time of every acknowledgement of new data, which takes timestamps. A signal of congestion, or the end
//! that they find, is the end of them: later slow starts know their ssthresh (RFC 9406, 4.3).

mod hystart;
mod plus_plus;
mod rtt_sample;

pub use rtt_sample::{Seen, Verdict};

use crate::config::{Config, SlowStart};
use hystart::HyStart;
use plus_plus::PlusPlus;

/// What watches the first slow start.
#[derive(Clone, Debug)]
pub enum Watch {
    /// RFC 9406.
    PlusPlus(PlusPlus),
    /// Linux's CUBIC.
    HyStart(HyStart),
}

impl Watch {
    /// What the settings ask for. Behind a pointer: most of a flow's life there is nothing to watch.
    pub fn new(config: &Config) -> Option<Box<Watch>> {
        match config.slow_start {
            SlowStart::Standard => None,
            SlowStart::HyStartPlusPlus => Some(Box::new(Watch::PlusPlus(PlusPlus::default()))),
            SlowStart::HyStart => Some(Box::new(Watch::HyStart(HyStart::default()))),
        }
    }

    /// An acknowledgement in slow start.
    pub fn on_ack(&mut self, seen: &Seen) -> Verdict {
        match self {
            Watch::PlusPlus(each) => each.on_ack(seen),
            Watch::HyStart(each) => each.on_ack(seen),
        }
    }
}
