//! Pacing rate and window: "Updating Control Parameters".

use super::state::{State, INFINITE};
use super::Bbr3;
use crate::config::Config;
use crate::delivery_rate::RateSample;
use crate::path_model::send_quantum;
use crate::window_law::Window;

/// What BBR.PacingMarginPercent leaves.
const MARGIN: f64 = 0.99;
/// BBR.Headroom.
const HEADROOM: f64 = 0.15;
/// BBR.MinPipeCwnd.
const MIN_CWND: f64 = 4.0;

impl Bbr3 {
    /// BDPMultiple, before the first round-trip time `None`.
    fn bdp_multiple(&self, bw: f64, gain: f64) -> Option<f64> {
        self.min_rtt.min.is_finite().then_some(gain * bw * self.min_rtt.min)
    }

    /// BBR.bdp, times `gain`; 0 before the first round-trip time.
    pub(super) fn bdp(&self, gain: f64) -> f64 {
        self.bdp_multiple(self.bw, gain).unwrap_or(0.0)
    }

    /// Inflight, of a bandwidth.
    pub(super) fn inflight_at(&self, config: &Config, bw: f64, gain: f64) -> f64 {
        self.with_budget(config, self.bdp_multiple(bw, gain).unwrap_or(config.initial_window))
    }

    /// Inflight.
    pub(super) fn inflight(&self, config: &Config, gain: f64) -> f64 {
        self.inflight_at(config, self.bw, gain)
    }

    /// QuantizationBudget, with TCP's offload budget.
    fn with_budget(&self, config: &Config, cap: f64) -> f64 {
        let budget = 3.0 * send_quantum(config, self.pacing_rate);
        cap.max(budget).max(MIN_CWND) + if self.state == State::Up { 2.0 } else { 0.0 }
    }

    /// TargetInflight.
    pub(super) fn target_inflight(&self, window: &Window) -> f64 {
        self.bdp(1.0).min(window.cwnd)
    }

    /// InflightWithHeadroom.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let most = self.bounds.inflight_longterm;
        if most == INFINITE {
            return INFINITE;
        }
        (most - (HEADROOM * most).max(1.0)).max(MIN_CWND)
    }

    /// ProbeRTTCwnd.
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(State::ProbeRtt.gains().1).max(MIN_CWND)
    }

    /// SetPacingRateWithGain.
    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = gain * self.bw * MARGIN;
        if rate > 0.0 && (self.full_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// SetPacingRate.
    pub(super) fn set_pacing_rate(&mut self) {
        self.set_pacing_rate_with_gain(self.state.gains().0);
    }

    /// SetCwnd.
    pub(super) fn set_cwnd(&mut self, window: &mut Window, config: &Config, sample: &RateSample) {
        let extra = self.aggregation.filter.get();
        let cap = self.bdp_multiple(self.bw, self.state.gains().1).unwrap_or(config.initial_window) + extra;
        let most = self.with_budget(config, cap);
        let acked = f64::from(sample.newly_acked);
        if self.full_reached {
            window.cwnd = (window.cwnd + acked).min(most);
        } else if window.cwnd < most || f64::from(self.delivery.delivered()) < config.initial_window {
            window.cwnd += acked;
        }
        window.cwnd = window.cwnd.max(MIN_CWND);
        if self.state == State::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_cwnd());
        }
        window.cwnd = window.cwnd.min(self.model_cap());
    }

    /// BoundCwndForModel.
    fn model_cap(&self) -> f64 {
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => INFINITE,
        };
        longterm.min(self.bounds.inflight_shortterm).max(MIN_CWND)
    }
}
