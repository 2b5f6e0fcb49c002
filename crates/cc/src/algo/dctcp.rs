//! DCTCP's window law: RFC 8257, sections 3.3 to 3.5; Alizadeh et al., "Data Center TCP (DCTCP)",
//! SIGCOMM 2010.
//!
//! Once a window of data, from the share M of the segments acknowledged whose acknowledgements
//! carried ECE: alpha <- (1 - g) alpha + g M. An ECN echo takes alpha/2 of the window, once a window
//! of data; a loss takes half. Growth is Reno's.
//! Sees: every acknowledgement of a connection that speaks ECN, duplicates and those of a loss
//! recovery included. Its receiver echoes segment by segment (section 3.2, see `receiver.rs`).
//! Departure: shares are counted in segments, not bytes; all are of one size. With `whole_segments` alpha counts in units of
//! 1/1024, and every term is rounded down, as in Linux (dctcp_update_alpha): below 16 units a window without marks ends it;
//! and a window ends one acknowledgement earlier.

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

/// DCTCP_MAX_ALPHA: the units of alpha.
const UNITS: f64 = 1024.0;

/// Linux's alpha after a window with the share `m` of marks.
fn in_units(alpha: f64, g: f64, m: f64) -> f64 {
    let alpha = alpha * UNITS;
    let decay = match (alpha * g).floor() {
        0.0 => alpha,
        decay => decay,
    };
    (alpha - decay + (g * UNITS * m).floor()).min(UNITS) / UNITS
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
        let (g, m) = (config.dctcp_g, (f64::from(self.marked) / f64::from(self.acked.max(1))).min(1.0));
        let alpha = if config.whole_segments { in_units(self.alpha, g, m) } else { (1.0 - g) * self.alpha + g * m };
        // In Linux an acknowledgement up to WindowEnd ends the window, in the RFC one beyond it. So the ten segments of an
        // initial window, of which the first acknowledgement ends the first window, are a second one there.
        let window_end = echoed.max - u32::from(config.whole_segments);
        *self = Dctcp { alpha, acked: 0, marked: 0, window_end };
    }
}

#[cfg(test)]
mod tests {
    use super::in_units;

    #[test]
    fn alpha_is_rounded_as_in_linux() {
        let after = |alpha: f64, m| in_units(alpha / 1024.0, 1.0 / 16.0, m) * 1024.0;
        // 1024 / 16 = 64 less; 64 m more, of which a third is 21.
        assert_eq!([after(1024.0, 0.0), after(1024.0, 1.0), after(1024.0, 1.0 / 3.0)], [960.0, 1024.0, 981.0]);
        // 17 / 16 is rounded to 1; below 16 all of it goes.
        assert_eq!([after(17.0, 0.0), after(15.0, 0.0), after(15.0, 0.5)], [16.0, 0.0, 32.0]);
    }
}
