//! The laws of sources: how their windows or rates react to feedback.

use super::invalid::{ensure, positive, Invalid};
use super::scalar::Scalar;
use super::state::State;
use serde::{Deserialize, Serialize};

/// The feedback that a source uses now.
#[derive(Clone, Copy, Debug)]
pub struct SourceFeedback<S> {
    /// Its state: window (packets) or rate (packets/s).
    pub x: S,
    /// Its rate, packets/s.
    pub rate: S,
    /// Its state a round trip ago.
    pub x_then: S,
    /// Its rate a round trip ago.
    pub rate_then: S,
    /// The round trip now, s.
    pub rtt: S,
    /// The share of its packets marked or lost that is reported now.
    pub p: S,
    /// The sum of the prices on the route.
    pub sum: S,
    /// The greatest price on the route.
    pub greatest: S,
}

/// The laws.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Law {
    /// TCP Reno in congestion avoidance: W' = 1/R - decrease W x(t - R) p(t - R), x = W/R, R = rtt + queueing
    /// delays now, p of the queues as the packets of then found them. With 1/2 (1) of Hollot, Misra, Towsley and
    /// Gong, "A control theoretic analysis of RED", INFOCOM 2001, after Misra, Gong and Towsley, SIGCOMM 2000.
    Reno {
        /// Part of the window that a mark takes.
        decrease: f64,
        /// The greatest window, packets.
        max_window: f64,
    },
    /// x' = 1/d^2 - beta x(t) x(t - d) p(t - d), d = rtt: Kunniyur and Srikant 2004, (1), with beta = 2/3.
    ConstantRtt {
        /// What a mark takes.
        beta: f64,
    },
    /// x' = (1 - p) / (N d^2) - 2/3 x^2 p / N, d = rtt: Shin, Chong and Rhee, (9).
    Drq {
        /// N: packets that an acknowledgement acknowledges.
        per_ack: f64,
    },
    /// x' = kappa (omega - x(t - R) sum of prices) / interval: Kelly control (8), (9) of Zhang, Kang and
    /// Loguinov 2004, a step an interval.
    Kelly {
        /// The gain of a step.
        kappa: f64,
        /// Packets/s.
        omega: f64,
        /// How often prices are new, s.
        interval: f64,
        /// The least rate, packets/s.
        least: f64,
    },
    /// x' = (x(t - R) + alpha - beta x(t - R) greatest price - x) / interval: MKC, (17) of Zhang, Kang and
    /// Loguinov 2004. The paper's is a map, x(n) = x(n - D) + ...; here the rate follows the map's value within
    /// an interval of the router, which has the map's fixed point and, as it, is stable whatever R is.
    Mkc {
        /// Packets/s.
        alpha: f64,
        /// The gain of a step.
        beta: f64,
        /// How often prices are new, s.
        interval: f64,
        /// The least rate, packets/s.
        least: f64,
    },
}

impl Law {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        match *self {
            Law::Reno { decrease, max_window } => {
                ensure("decrease", decrease, decrease > 0.0 && decrease <= 1.0, "above 0, at most 1")?;
                ensure("max_window", max_window, max_window > 1.0, "above 1 packet")
            }
            Law::ConstantRtt { beta } => positive("beta", beta),
            Law::Drq { per_ack } => positive("per_ack", per_ack),
            Law::Kelly { kappa, omega, interval, least } => {
                positive("kappa", kappa)?;
                positive("omega", omega)?;
                positive("interval", interval)?;
                positive("least", least)
            }
            Law::Mkc { alpha, beta, interval, least } => {
                positive("alpha", alpha)?;
                positive("beta", beta)?;
                positive("interval", interval)?;
                positive("least", least)
            }
        }
    }

    /// Does its round trip include queueing delays?
    pub fn includes_queueing(&self) -> bool {
        !matches!(self, Law::ConstantRtt { .. } | Law::Drq { .. })
    }

    /// The state of a flow of this class.
    pub fn state(&self, class: &str) -> State {
        match *self {
            Law::Reno { max_window, .. } => {
                State::free(format!("window {class}"), "packets", 1.0).within(1.0, max_window)
            }
            Law::ConstantRtt { .. } | Law::Drq { .. } => {
                State::free(format!("rate {class}"), "packets/s", 1.0).within(0.0, f64::INFINITY)
            }
            Law::Kelly { least, .. } | Law::Mkc { least, .. } => {
                State::free(format!("rate {class}"), "packets/s", least).within(least, f64::INFINITY)
            }
        }
    }

    /// The rate of a flow in a state, packets/s.
    pub fn rate<S: Scalar>(&self, x: S, rtt: S) -> S {
        match self {
            Law::Reno { .. } => x / rtt,
            _ => x,
        }
    }

    /// The window of a flow in a state, packets.
    pub fn window<S: Scalar>(&self, x: S, rtt: S) -> S {
        match self {
            Law::Reno { .. } => x,
            _ => x * rtt,
        }
    }

    /// The slope of the state.
    pub fn slope<S: Scalar>(&self, h: &SourceFeedback<S>) -> S {
        match *self {
            Law::Reno { decrease, .. } => S::from(1.0) / h.rtt - h.x * h.rate_then * h.p * decrease,
            Law::ConstantRtt { beta } => S::from(1.0) / (h.rtt * h.rtt) - h.x * h.x_then * h.p * beta,
            Law::Drq { per_ack } => {
                (S::from(1.0) - h.p) / (h.rtt * h.rtt * per_ack) - h.x * h.x * h.p * (2.0 / 3.0) / per_ack
            }
            Law::Kelly { kappa, omega, interval, .. } => (-(h.x_then * h.sum) + omega) * (kappa / interval),
            Law::Mkc { alpha, beta, interval, .. } => {
                (h.x_then - h.x_then * h.greatest * beta + alpha - h.x) / interval
            }
        }
    }
}
