//! Scalable TCP: Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM CCR 33(2), 2003.
//!
//! Each segment acknowledged adds a. A congestion signal takes the share b: cwnd <- (1 - b) cwnd. The time between two
//! signals does not depend on the rate.
//!
//! Departures. There is no legacy window: Kelly keeps to Reno below 16 segments; here the law is the same at any size, as
//! in the analyses of it. An acknowledgement of n segments adds n a, so that delayed acknowledgements do not halve the
//! growth.

use crate::config::Config;
use crate::window_law::{AckedSegments, Signal, Window, WindowLaw};

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
