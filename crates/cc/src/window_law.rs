//! The window law: how the window grows in congestion avoidance and what is left of it after a
//! congestion signal. Slow start is the same under every law: one segment an acknowledgement.

use crate::config::Config;
use crate::rto::Rto;
use marqueue_core::{Dur, Time};

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

/// New data was acknowledged, as a window law sees it.
#[derive(Debug)]
pub struct AckedSegments<'a> {
    /// Now.
    pub now: Time,
    /// The flow's settings, the law's parameters among them.
    pub config: &'a Config,
    /// Knows the round-trip time.
    pub rto: &'a Rto,
    /// How many segments.
    pub segments: f64,
}

/// An acknowledgement with or without ECN echo, before it is taken in.
#[derive(Clone, Copy, Debug)]
pub struct EcnFeedback {
    /// It carries ECE.
    pub ece: bool,
    /// The segment that it expects next.
    pub ack: u32,
    /// The oldest segment not acknowledged (SND.UNA).
    pub una: u32,
    /// One past the highest segment ever sent (SND.NXT).
    pub max: u32,
}

/// What told of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Duplicate acknowledgements or the retransmission timer.
    Loss,
    /// An ECN echo.
    Ecn,
}

/// A window law.
pub trait WindowLaw: Default {
    /// New data was acknowledged in congestion avoidance while no loss is being repaired.
    fn on_ack(&mut self, window: &mut Window, acked: &AckedSegments<'_>);

    /// A congestion signal cuts the window of `cwnd` segments: the share that is left.
    fn decrease(&mut self, config: &Config, cwnd: f64, signal: Signal) -> f64;

    /// Any acknowledgement on a connection that speaks ECN, before the window is cut for it.
    fn on_echo(&mut self, _config: &Config, _echoed: EcnFeedback) {}

    /// New data was acknowledged, but the window stays as it is, because the application did not use it
    /// in the time since the acknowledgement before.
    fn on_application_limited(&mut self, _time: Dur) {}

    /// The retransmission timer has expired, and any cut for it is made.
    fn on_timeout(&mut self) {}
}
