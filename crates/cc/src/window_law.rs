//! The interface of a window law: how the window grows in congestion avoidance, and the share of it that is left after
//! a congestion signal. Slow start is the same under every law but those that have their own.

use crate::accecn::Marks;
use crate::config::Config;
use crate::path_model::PathModel;
use crate::rto::Rto;
pub use crate::window::Window;
use marqueue_core::Time;

/// New data was acknowledged: the arguments of [`WindowLaw::on_ack`].
#[derive(Debug)]
pub struct AckedSegments<'a> {
    /// Now.
    pub now: Time,
    /// The flow's settings, the law's parameters among them.
    pub config: &'a Config,
    /// The round-trip time estimator.
    pub rto: &'a Rto,
    /// Number of segments acknowledged.
    pub segments: f64,
    /// Segments that were outstanding before.
    pub outstanding: f64,
}

/// An acknowledgement with or without ECN echo, before it is processed: the arguments of [`WindowLaw::on_echo`].
#[derive(Clone, Copy, Debug)]
pub struct EcnFeedback {
    /// Now.
    pub now: Time,
    /// The segments that it newly reports, and those of them that were marked.
    pub marks: Marks,
    /// The next segment that the receiver expects.
    pub ack: u32,
    /// One past the highest segment ever sent (SND.NXT).
    pub max: u32,
}

/// The kind of a congestion signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Duplicate acknowledgements or the retransmission timer.
    Loss,
    /// An ECN echo.
    Ecn,
}

/// A window law.
pub trait WindowLaw: Default {
    /// New data was acknowledged in congestion avoidance, outside loss recovery; also in slow start, if the law has its own
    /// ([`crate::law_list::Law::has_slow_start`]).
    fn on_ack(&mut self, window: &mut Window, acked: &AckedSegments<'_>);

    /// A congestion signal reduces the window of `cwnd` segments. Returns the share that is left.
    fn decrease(&mut self, config: &Config, cwnd: f64, signal: Signal) -> f64;

    /// Any acknowledgement on an ECN connection, before the window is reduced for it.
    fn on_echo(&mut self, _config: &Config, _echoed: EcnFeedback) {}

    /// Does the window come down for an ECN echo now? Asked once a window of data at most.
    fn answers_echo(&mut self, _config: &Config, _now: Time) -> bool {
        true
    }

    /// New data was acknowledged in congestion avoidance, but the window does not grow, because it was not used since
    /// the previous acknowledgement.
    fn on_unused_window(&mut self, _now: Time) {}

    /// The model of the path, of a law that has one in place of the others.
    fn model(&mut self) -> Option<&mut dyn PathModel> {
        None
    }

    /// The retransmission timer has expired, and the window has been reduced for it.
    fn on_timeout(&mut self) {}
}
