//! Scalable TCP: Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM
//! CCR 33(2), 2003.
//!
//! cwnd += a per segment acknowledged; a congestion signal takes the share b: cwnd <- (1 - b) cwnd.
//! The time between two signals does not depend on the rate.
//! Departures: no legacy window - Kelly keeps to Reno below 16 segments, here the law is the same
//! at any size, as in the analyses of it; an acknowledgement of several segments counts as several,
//! so that delayed acknowledgements do not halve a.

use crate::config::Config;
use crate::window_law::{AckedSegments, WindowLaw, Signal, Window};

/// No state: a and b are settings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scalable;

impl WindowLaw for Scalable {
    fn on_ack(&mut self, window: &mut Window, acked: &AckedSegments<'_>) {
        window.cwnd += acked.config.scalable_a * acked.segments;
    }

    fn decrease(&mut self, config: &Config, _: f64, _: Signal) -> f64 {
        1.0 - config.scalable_b
    }
}
