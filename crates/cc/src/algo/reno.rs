//! Reno's window law: RFC 5681, section 3.1.
//!
//! Congestion avoidance: cwnd += 1/cwnd per segment acknowledged; a congestion signal halves the
//! window.
//! Departure: an acknowledgement of several segments counts as several (equation 3 with appropriate
//! counting), but as one in slow start, where RFC 5681 permits min(N, SMSS).

use crate::config::Config;
use crate::window_law::{AckedSegments, WindowLaw, Signal, Window};

/// Additive increase by one segment a round trip, multiplicative decrease by half.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno;

impl WindowLaw for Reno {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: &AckedSegments<'_>) {
        window.cwnd += acked.segments / window.cwnd;
    }

    fn decrease(&mut self, _: &Config, _: f64, _: Signal) -> f64 {
        0.5
    }
}
