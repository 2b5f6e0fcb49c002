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
    pub delayed_x: S,
    /// Its rate a round trip ago.
    pub delayed_rate: S,
    /// The round trip now, s.
    pub rtt: S,
    /// The share of its packets marked or lost that is reported now.
    pub p: S,
    /// The sum of the prices on the route.
    pub price_sum: S,
    /// The highest price on the route.
    pub max_price: S,
}

/// The laws.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Law {
    /// TCP Reno in congestion avoidance: W' = 1/R - decrease W x(t - R) p(t - R), x = W/R, R = rtt + the present
    /// queueing delays, p of the queues that the acknowledged packets met. With 1/2 it is (1) of Hollot, Misra, Towsley
    /// and Gong, "A control theoretic analysis of RED", INFOCOM 2001, after Misra, Gong and Towsley, SIGCOMM 2000.
    Reno {
        /// The share of the window that a mark removes.
        decrease: f64,
        /// The greatest window, packets.
        max_window: f64,
    },
    /// x' = 1/d^2 - beta x(t) x(t - d) p(t - d), d = rtt: Kunniyur and Srikant 2004, (1), with beta = 2/3.
    ConstantRtt {
        /// The decrease for a mark.
        beta: f64,
    },
    /// x' = (1 - p) / (N d^2) - 2/3 x^2 p / N, d = rtt: Shin, Chong and Rhee, (9).
    Drq {
        /// N: packets for each acknowledgement.
        per_ack: f64,
    },
    /// x' = kappa (omega - x(t - R) sum of prices) / interval: Kelly control (8), (9) of Zhang, Kang and
    /// Loguinov 2004, with one step in each interval.
    Kelly {
        /// The gain of a step.
        kappa: f64,
        /// Packets/s.
        omega: f64,
        /// The interval between price updates, s.
        interval: f64,
        /// The least rate, packets/s.
        least: f64,
    },
    /// x' = (x(t - R) + alpha - beta x(t - R) highest price - x) / interval: MKC, (17) of Zhang, Kang and
    /// Loguinov 2004. The paper has a map, x(n) = x(n - D) + ...; here the rate approaches the value of the map with
    /// the router's interval as time constant. Both have the same fixed point, and both are stable for every R.
    Mkc {
        /// Packets/s.
        alpha: f64,
        /// The gain of a step.
        beta: f64,
        /// The interval between price updates, s.
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
    pub fn slope<S: Scalar>(&self, feedback: &SourceFeedback<S>) -> S {
        match *self {
            Law::Reno { decrease, .. } => {
                S::from(1.0) / feedback.rtt - feedback.x * feedback.delayed_rate * feedback.p * decrease
            }
            Law::ConstantRtt { beta } => {
                S::from(1.0) / (feedback.rtt * feedback.rtt) - feedback.x * feedback.delayed_x * feedback.p * beta
            }
            Law::Drq { per_ack } => {
                (S::from(1.0) - feedback.p) / (feedback.rtt * feedback.rtt * per_ack)
                    - feedback.x * feedback.x * feedback.p * (2.0 / 3.0) / per_ack
            }
            Law::Kelly { kappa, omega, interval, .. } => {
                (-(feedback.delayed_x * feedback.price_sum) + omega) * (kappa / interval)
            }
            Law::Mkc { alpha, beta, interval, .. } => {
                (feedback.delayed_x - feedback.delayed_x * feedback.max_price * beta + alpha - feedback.x) / interval
            }
        }
    }
}
