//! DCTCP's window law: RFC 8257, sections 3.3 to 3.5; Alizadeh et al., "Data Center TCP (DCTCP)",
//! SIGCOMM 2010.
//!
//! Once a window of data, from the share M of the segments acknowledged whose acknowledgements
//! carried ECE: alpha <- (1 - g) alpha + g M. An ECN echo takes alpha/2 of the window, once a window
//! of data; a loss takes half. Growth is Reno's.
//! Sees: every acknowledgement of a connection that speaks ECN, duplicates and those of a loss
//! recovery included. Its receiver echoes segment by segment (section 3.2, see `receiver.rs`).
//! Departure: shares are counted in segments, not bytes; all are of one size.

use super::reno::Reno;
use crate::config::Config;
use crate::window_law::{AckedSegments, WindowLaw, EcnFeedback, Signal, Window};

/// State of DCTCP: the estimate of the share of marked segments.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    /// DCTCP.Alpha.
    alpha: f64,
    /// DCTCP.BytesAcked, in segments.
    acked: u32,
    /// DCTCP.BytesMarked, in segments.
    marked: u32,
    /// DCTCP.WindowEnd: acknowledgements up to here belong to the window that is being counted.
    window_end: u32,
}

impl Default for Dctcp {
    /// Section 3.3: alpha begins at one, so that the first mark is answered like a loss. The first
    /// window ends with the first acknowledgement of data (segment 1).
    fn default() -> Dctcp {
        Dctcp { alpha: 1.0, acked: 0, marked: 0, window_end: 1 }
    }
}

impl WindowLaw for Dctcp {
    fn on_ack(&mut self, window: &mut Window, acked: &AckedSegments<'_>) {
        Reno.on_ack(window, acked);
    }

    fn decrease(&mut self, config: &Config, cwnd: f64, signal: Signal) -> f64 {
        match signal {
            Signal::Loss => Reno.decrease(config, cwnd, signal),
            Signal::Ecn => 1.0 - self.alpha / 2.0,
        }
    }

    /// Section 3.3, steps 1 to 8.
    fn on_echo(&mut self, config: &Config, echoed: EcnFeedback) {
        self.acked += echoed.marks.arrived;
        self.marked += echoed.marks.marked;
        if echoed.ack <= self.window_end {
            return;
        }
        let m = f64::from(self.marked) / f64::from(self.acked.max(1));
        self.alpha = (1.0 - config.dctcp_g) * self.alpha + config.dctcp_g * m;
        *self = Dctcp { alpha: self.alpha, acked: 0, marked: 0, window_end: echoed.max };
    }
}
