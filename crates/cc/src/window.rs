//! The window of a sender.

/// Congestion window and slow-start threshold, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// cwnd.
    pub cwnd: f64,
    /// ssthresh.
    pub ssthresh: f64,
}

impl Window {
    /// Is the sender in slow start?
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}
