//! Prague: De Schepper, Tilmans, Briscoe and Goel, "Prague Congestion Control", draft-briscoe-iccrg-prague-congestion-control-04;
//! Linux's tcp_prague.c of its authors. A sender for the L4S service (RFC 9331).
//!
//! Once a window of data, but at most once in the reference round-trip time R (25 ms), from the share F of marked packets:
//! alpha <- alpha + g (F - alpha), from one on, and not before the first mark. New marks take alpha/2 of the window, as often at
//! most; a loss takes half. Each segment acknowledged without a mark adds a/cwnd, in the same round trip as a reduction too.
//! a is one, or (RTT/R)^2 for round-trip times below R after `prague_rtt_rounds` round trips of congestion avoidance: the rate
//! then grows by a segment a round trip R, as that of a flow with R does, and such flows get equal rates where the marking is
//! the same.
//! Data is sent with ECT(1), paced: at twice cwnd/srtt while cwnd is below half of ssthresh, then at cwnd/srtt.
//! Sees: every acknowledgement of a connection with AccECN, by counts of packets (see `accecn.rs`).
//!
//! Departures:
//! - The window is a real number of at least two segments. Windows below are left to future work by the draft.
//! - Counts are of packets, all of one size.
//! - The detection of a queue under RFC 3168, on which the authors' Linux may fall back to a response like Reno's, is off there
//!   and absent here.
//! - Without AccECN at the receiver a flow is Reno with ECT(0), or without ECN (`ecn_peer`).
//! - Linux sends bursts of up to 250 us; here segments leave alone. As there, the first 10 are not paced; its sysctl tcp_pace_iw is
//!   `pacing_quantum` = 0.

use super::reno::Reno;
use crate::config::Config;
use crate::window_law::{AckedSegments, EcnFeedback, Signal, Window, WindowLaw};
use marqueue_core::{Dur, Time};

/// State of Prague.
#[derive(Clone, Copy, Debug)]
pub struct Prague {
    /// The smoothed share of marked packets.
    alpha: f64,
    /// Packets that arrived in the period that is being counted, and those of them that were marked.
    arrived: u32,
    marked: u32,
    /// Acknowledgements up to here belong to the round trip that is being counted.
    round_end: u32,
    /// When alpha was last updated, and when the window was last reduced for marks.
    updated: Time,
    cut: Time,
    /// Round trips of congestion avoidance.
    rounds: u32,
    /// There has been a mark.
    saw_ce: bool,
    /// The window has been grown in congestion avoidance in this round trip.
    avoiding: bool,
}

impl Default for Prague {
    fn default() -> Prague {
        Prague {
            alpha: 1.0,
            arrived: 0,
            marked: 0,
            round_end: 1,
            updated: Time::ZERO,
            cut: Time::ZERO,
            rounds: 0,
            saw_ce: false,
            avoiding: false,
        }
    }
}

impl Prague {
    /// Does the flow behave as one with the reference round-trip time?
    fn is_independent(&self, config: &Config) -> bool {
        config.prague_rtt > Dur::ZERO && self.rounds >= config.prague_rtt_rounds
    }

    /// Is it at least the reference round-trip time since `last`, where that counts?
    fn has_passed(&self, config: &Config, last: Time, now: Time) -> bool {
        !self.is_independent(config) || now - last >= config.prague_rtt
    }

    /// a: segments that a round trip without marks adds.
    fn increase(&self, config: &Config, srtt: f64) -> f64 {
        let reference = config.prague_rtt.secs();
        if self.is_independent(config) && srtt > 0.0 && srtt < reference {
            let share = srtt / reference;
            share * share
        } else {
            1.0
        }
    }
}

impl WindowLaw for Prague {
    fn on_ack(&mut self, window: &mut Window, acked: &AckedSegments<'_>) {
        self.avoiding = true;
        let a = self.increase(acked.config, acked.rto.srtt(acked.config));
        window.cwnd += a * acked.segments / window.cwnd;
    }

    fn decrease(&mut self, config: &Config, cwnd: f64, signal: Signal) -> f64 {
        match signal {
            Signal::Loss => Reno.decrease(config, cwnd, signal),
            Signal::Ecn => 1.0 - self.alpha / 2.0,
        }
    }

    fn on_echo(&mut self, config: &Config, echoed: EcnFeedback) {
        self.arrived += echoed.marks.arrived;
        self.marked += echoed.marks.marked;
        self.saw_ce |= echoed.marks.marked > 0;
        if echoed.ack <= self.round_end || !self.has_passed(config, self.updated, echoed.now) {
            return;
        }
        if self.saw_ce && self.arrived > 0 {
            let share = f64::from(self.marked) / f64::from(self.arrived);
            self.alpha += config.prague_g * (share.min(1.0) - self.alpha);
        }
        self.rounds = self.rounds.saturating_add(u32::from(self.avoiding));
        (self.arrived, self.marked, self.avoiding) = (0, 0, false);
        (self.updated, self.round_end) = (echoed.now, echoed.max);
    }

    fn answers_echo(&mut self, config: &Config, now: Time) -> bool {
        let answers = self.has_passed(config, self.cut, now);
        if answers {
            self.cut = now;
        }
        answers
    }
}
