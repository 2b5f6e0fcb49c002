//! Reno's window law: RFC 5681, section 3.1.
//!
//! Slow start: cwnd += 1 per acknowledgement; congestion avoidance: cwnd += 1/cwnd per segment
//! acknowledged; a congestion signal halves the window.
//! Departure: an acknowledgement of several segments counts as one in slow start (RFC 5681 permits
//! min(N, SMSS)) and as several in congestion avoidance (equation 3 with appropriate counting).

use crate::control::{Control, Window};

/// Additive increase by one segment a round trip, multiplicative decrease by half.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno;

impl Control for Reno {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: f64) {
        window.cwnd += if window.in_slow_start() { 1.0 } else { acked / window.cwnd };
    }

    fn decrease(&self) -> f64 {
        0.5
    }
}
