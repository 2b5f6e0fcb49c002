//! The interface of a rate law. Rates are in packets a second.

use marqueue_core::params::ParamSet;
use marqueue_core::{Signals, Time};

/// The events of one control interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// How long it was, s.
    pub seconds: f64,
    /// Reports that arrived.
    pub reports: u32,
    /// Was the rate reduced for congestion in it?
    pub cut: bool,
}

/// A header for routers that has been returned to the sender.
#[derive(Clone, Copy, Debug)]
pub struct ReturnedSignals {
    /// The time.
    pub now: Time,
    /// The smoothed round-trip time, s.
    pub srtt: f64,
    /// Its contents.
    pub signals: Signals,
}

/// A rate law.
pub trait RateLaw: Sized {
    /// Its name in scenarios.
    const NAME: &'static str;
    /// One line on what it does.
    const SUMMARY: &'static str;
    /// The paper that defines it.
    const SOURCE: &'static str;
    /// Its parameters.
    type Params: ParamSet;

    /// The law at the start of a flow that sends packets of `bits`.
    fn new(params: &Self::Params, bits: f64) -> Self;

    /// Length of the next control interval, s, at a smoothed round-trip time of `srtt` s.
    fn interval(&self, srtt: f64) -> f64;

    /// A control interval has ended: the new rate.
    fn on_interval(&mut self, rate: f64, interval: &Interval) -> f64;

    /// A packet sent since the last reduction was lost or marked: the new rate. Laws that react to intervals or to
    /// routers only do not change it.
    fn on_congestion(&mut self, rate: f64) -> f64 {
        rate
    }

    /// No report has arrived for long: the new rate.
    fn on_feedback_timeout(&mut self, rate: f64) -> f64 {
        self.on_congestion(rate)
    }

    /// The header for routers of packet `seq`, which is sent at `rate`, if the law uses their feedback.
    fn header(&self, _seq: u32, _rate: f64) -> Option<Signals> {
        None
    }

    /// A header has been returned: the new rate.
    fn on_signals(&mut self, rate: f64, _signals: &ReturnedSignals) -> f64 {
        rate
    }

    /// The latest price that it has received.
    fn price(&self) -> Option<f64> {
        None
    }
}
