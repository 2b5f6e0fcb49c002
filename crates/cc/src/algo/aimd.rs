//! AIMD(a, b): Floyd, Handley and Padhye, "A Comparison of Equation-Based and AIMD Congestion
//! Control", 2000.
//!
//! cwnd += a/cwnd per segment acknowledged, a segments a round trip; a congestion signal takes the
//! share b: cwnd <- (1 - b) cwnd. AIMD(1, 1/2) is Reno; a = 3b/(2 - b) has Reno's throughput.

use crate::config::Config;
use crate::window_law::{AckedSegments, WindowLaw, Signal, Window};

/// No state: a and b are settings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aimd;

impl WindowLaw for Aimd {
    fn on_ack(&mut self, window: &mut Window, acked: &AckedSegments<'_>) {
        window.cwnd += acked.config.aimd_a * acked.segments / window.cwnd;
    }

    fn decrease(&mut self, config: &Config, _: f64, _: Signal) -> f64 {
        1.0 - config.aimd_b
    }
}
