//! The phases of ProbeBW: "ProbeBW Algorithm Details".

use super::state::{is_too_high, AckPhase, State, INFINITE};
use super::{Bbr3, FullBw};
use crate::config::Config;
use crate::delivery_rate::RateSample;
use crate::window_law::Window;
use marqueue_core::Time;

/// Most round trips between two probes, however large the window.
const MOST_ROUNDS: f64 = 63.0;

impl Bbr3 {
    /// StartProbeBW_DOWN.
    pub(super) fn start_down(&mut self, now: Time) {
        self.bounds.reset_signals();
        self.probe.acked_per_increment = INFINITE;
        self.probe.pick_wait(self.rng.as_mut());
        self.probe.start = now;
        self.probe.stop();
        self.start_round();
        self.state = State::Down;
    }

    /// StartProbeBW_REFILL.
    pub(super) fn start_refill(&mut self) {
        self.bounds.reset_shortterm();
        (self.probe.up_rounds, self.probe.up_acked) = (0, 0.0);
        self.probe.prev_precautionary = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// StartProbeBW_UP.
    fn start_up(&mut self, window: &Window, sample: &RateSample) {
        self.probe.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full = FullBw { bw: sample.rate, ..FullBw::default() };
        self.state = State::Up;
        self.raise_slope(window);
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_phase(&mut self, window: &Window, config: &Config, now: Time, sample: &RateSample) {
        if !self.full_reached || self.adapt_longterm(window, sample) {
            return;
        }
        match self.state {
            State::Down | State::Cruise => {
                if self.is_time_to_probe(window, now) {
                    self.start_refill();
                } else if self.state == State::Down && self.is_time_to_cruise(config) {
                    self.state = State::Cruise;
                }
            }
            State::Refill => {
                if self.round_start {
                    self.probe.is_sample = true;
                    self.start_up(window, sample);
                }
            }
            State::Up => {
                if self.is_time_to_go_down(window, sample) {
                    self.probe.prev_too_high = false;
                    self.start_down(now);
                }
            }
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    /// IsTimeToProbeBW: after 2 to 3 s, or as many round trips as Reno would need (IsRenoCoexistenceProbeTime).
    fn is_time_to_probe(&self, window: &Window, now: Time) -> bool {
        let rounds = self.target_inflight(window).min(MOST_ROUNDS);
        now > self.probe.start + self.probe.wait || f64::from(self.probe.rounds) >= rounds
    }

    /// IsTimeToCruise.
    fn is_time_to_cruise(&self, config: &Config) -> bool {
        self.in_flight() <= self.inflight_with_headroom() && self.in_flight() <= self.inflight_at(config, self.max_bw.get(), 1.0)
    }

    /// IsTimeToGoDown.
    fn is_time_to_go_down(&mut self, window: &Window, sample: &RateSample) -> bool {
        if self.probe.prev_too_high && self.in_flight() >= self.bounds.inflight_longterm {
            self.probe.prev_precautionary = true;
            return true;
        }
        if self.delivery.is_cwnd_limited() && window.cwnd >= self.bounds.inflight_longterm {
            self.full = FullBw { bw: sample.rate, ..FullBw::default() };
            return false;
        }
        self.full.now
    }

    /// RaiseInflightLongtermSlope.
    fn raise_slope(&mut self, window: &Window) {
        let growth = f64::from(1u32 << self.probe.up_rounds);
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(30);
        self.probe.acked_per_increment = (window.cwnd / growth).max(1.0);
    }

    /// ProbeInflightLongtermUpward.
    fn probe_upward(&mut self, window: &Window, sample: &RateSample) {
        if !self.delivery.is_cwnd_limited() || window.cwnd < self.bounds.inflight_longterm {
            return;
        }
        self.probe.up_acked += f64::from(sample.newly_acked);
        let steps = (self.probe.up_acked / self.probe.acked_per_increment).floor();
        if steps >= 1.0 {
            self.probe.up_acked -= steps * self.probe.acked_per_increment;
            self.bounds.inflight_longterm += steps;
        }
        if self.round_start {
            self.raise_slope(window);
        }
    }

    /// AdaptLongTermModel. Returns true if it has decided on a phase.
    fn adapt_longterm(&mut self, window: &Window, sample: &RateSample) -> bool {
        if self.probe.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.probe.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.probe.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.probe.is_sample = false;
            self.probe.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() && !sample.app_limited {
                self.cycle += 1;
            }
            if self.state.is_probe_bw() && self.probe.prev_precautionary && !self.probe.prev_too_high {
                self.start_refill();
                return true;
            }
        }
        if !is_too_high(sample.lost, sample.tx_in_flight) && self.bounds.inflight_longterm != INFINITE {
            self.bounds.inflight_longterm = self.bounds.inflight_longterm.max(f64::from(sample.tx_in_flight));
            if self.state == State::Up {
                self.probe_upward(window, sample);
            }
        }
        false
    }
}
