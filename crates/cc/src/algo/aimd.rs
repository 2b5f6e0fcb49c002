//! AIMD(a, b): Floyd, Handley and Padhye, "A Comparison of Equation-Based and AIMD Congestion Control", 2000.
//!
//! An acknowledgement of n segments adds a n/cwnd, at most a: a segments in a round trip. A congestion signal takes the
//! share b: cwnd <- (1 - b) cwnd. AIMD(1, 1/2) is Reno. With a = 3b/(2 - b) the throughput is Reno's.

use crate::config::Config;
use crate::window_law::{AckedSegments, Signal, Window, WindowLaw};

/// No state: a and b are settings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aimd;

impl WindowLaw for Aimd {
    fn on_ack(&mut self, window: &mut Window, acked: &AckedSegments<'_>) {
        let a = acked.config.aimd_a;
        window.cwnd += (a * acked.segments / window.cwnd).min(a);
    }

    fn decrease(&mut self, config: &Config, _: f64, _: Signal) -> f64 {
        1.0 - config.aimd_b
    }
}
