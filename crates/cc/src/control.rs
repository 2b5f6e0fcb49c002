//! The window law: how much the window grows on an acknowledgement and what is left of it after a
//! congestion signal.

/// Congestion window and slow-start threshold, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// cwnd.
    pub cwnd: f64,
    /// ssthresh.
    pub ssthresh: f64,
}

impl Window {
    /// Is it in slow start?
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// A window law.
pub trait Control {
    /// `acked` segments were acknowledged while no loss is being repaired.
    fn on_ack(&mut self, window: &mut Window, acked: f64);

    /// The share of the window that is left after a congestion signal.
    fn decrease(&self) -> f64;
}
