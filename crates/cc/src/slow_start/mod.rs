//! When the first slow start ends before it has filled the buffer: HyStart++ (RFC 9406) and HyStart as Linux's CUBIC
//! has it, one file each.
//!
//! Both look at the round-trip time of every acknowledgement of new data, which takes timestamps. A signal of congestion, or the end
//! that they find, is the end of them: later slow starts know their ssthresh (RFC 9406, 4.3).

mod hystart;
mod plus_plus;

use crate::config::Config;
use hystart::HyStart;
use marqueue_core::{Dur, Time};
use plus_plus::PlusPlus;

marqueue_core::choice! {
    /// What ends the first slow start beside losses and echoes.
    pub enum SlowStart {
        /// Nothing (RFC 5681).
        Standard = "standard",
        /// A rise of the round-trip time, after some rounds of slower growth (RFC 9406).
        HyStartPlusPlus = "hystart++",
        /// A rise of the round-trip time or a long train of acknowledgements, at once (Ha and Rhee 2011); a part of CUBIC
        /// in Linux, and of no other law.
        HyStart = "hystart",
    }
}

/// Fewest round-trip times of a round before they count (RFC 9406, N_RTT_SAMPLE; Linux, HYSTART_MIN_SAMPLES).
const SAMPLES: u32 = 8;

/// By how much the round-trip time must rise: an eighth of what it was, 4 ms at least, 16 ms at most
/// (RFC 9406, 4.3; Linux, HYSTART_DELAY_THRESH).
fn rise(rtt: Dur) -> Dur {
    Dur(rtt.0 / 8).clamp(Dur(4_000_000), Dur(16_000_000))
}

/// New data was acknowledged in slow start, and taken in.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Now.
    pub now: Time,
    /// The latest round-trip time.
    pub rtt: Dur,
    /// Every acknowledgement measures it.
    pub timed: bool,
    /// The oldest segment not acknowledged (SND.UNA).
    pub una: u32,
    /// One past the highest segment ever sent (SND.NXT).
    pub max: u32,
    /// The window before it grows, in segments.
    pub cwnd: f64,
}

/// What becomes of slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// It goes on: the window grows by this share of what it would.
    Grow(f64),
    /// It is over: ssthresh is the window as it is.
    End,
}

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
