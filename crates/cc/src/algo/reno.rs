//! Reno's window law: RFC 5681, section 3.1.
//!
//! Congestion avoidance: an acknowledgement of n segments adds n/cwnd, at most one segment. A congestion signal halves
//! the window.
//!
//! Departure: section 3.1 recommends adding one segment each time a window of segments has been acknowledged, and permits
//! equation (3), which adds 1/cwnd an acknowledgement whatever it acknowledges. Here the growth of the former is spread
//! over the acknowledgements as by the latter, so that delayed acknowledgements do not halve it. More than one segment in
//! a round trip is possible, as with equation (3), if more than a window is acknowledged in it: after a timeout. With
//! `whole_segments` it adds n/floor(cwnd), so that the window has grown by a segment once as many have been acknowledged as
//! it has whole ones (Linux, tcp_cong_avoid_ai).

use crate::config::Config;
use crate::window_law::{AckedSegments, Signal, Window, WindowLaw};

/// Additive increase by one segment a round trip, multiplicative decrease by half.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno;

impl WindowLaw for Reno {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: &AckedSegments<'_>) {
        let whole = acked.config.counted(window.cwnd);
        window.cwnd += (acked.segments / whole).min(1.0);
        // n times 1/n may be a little less than one, or more.
        let nearest = window.cwnd.round();
        if acked.config.whole_segments && (window.cwnd - nearest).abs() < 1e-9 {
            window.cwnd = nearest;
        }
    }

    fn decrease(&mut self, _: &Config, _: f64, _: Signal) -> f64 {
        0.5
    }
}
