//! BBR, version 1: Cardwell, Cheng, Hassas Yeganeh and Jacobson, "BBR Congestion Control",
//! draft-cardwell-iccrg-bbr-congestion-control-00; Linux, tcp_bbr.c.
//!
//! The model: BtlBw, the largest delivery rate of the last 10 round trips, and RTprop, the least round-trip time of the last 10 s.
//! Segments leave at gain x BtlBw, less 1%, and at most cwnd_gain x BtlBw x RTprop are in flight.
//! Startup doubles the rate each round trip (gain 2/ln 2), until three rounds have not raised BtlBw by a quarter. Drain empties
//! the queue that this has made. ProbeBW goes through gains of 5/4, 3/4 and six times 1, each for about RTprop, from a
//! random one on. ProbeRTT: if RTprop was not measured again in 10 s, at most four segments are in flight for 200 ms and
//! a round trip.
//! Sees: delivery rate samples and round-trip times of every acknowledgement. Losses only bound the window in the first round
//! trip of a recovery; marks do nothing.
//!
//! Departures:
//! - Segments leave alone; the window makes room for Linux's bursts all the same (`send_quantum`).
//! - What is in flight at the end of a phase is counted now, not at the time when the next segment leaves.
//! - Left out of Linux: the detection of policers (long-term bandwidth), and room in the window for aggregated acknowledgements,
//!   which came after the draft.

use crate::config::Config;
use crate::delivery_rate::{DeliveryRate, RateSample};
use crate::path_model::{send_quantum, ModelInfo, ModelInput, ModelState, PathModel, RepairPhase, WindowedMax};
use crate::window_law::{AckedSegments, Signal, Window, WindowLaw};
use marqueue_core::{Dur, Rng, Time};

/// 2/ln 2, as Linux rounds it: BBRHighGain.
const HIGH_GAIN: f64 = 2.885;
/// Pacing gains of ProbeBW.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Gain of the window in ProbeBW.
const CWND_GAIN: f64 = 2.0;
/// Rounds of the filter of BtlBw: BtlBwFilterLen.
const BW_ROUNDS: u32 = 10;
/// RTpropFilterLen, and the time between two ProbeRTT.
const MIN_RTT_WINDOW: Dur = Dur(10_000_000_000);
/// ProbeRTTDuration.
const PROBE_RTT_TIME: Dur = Dur(200_000_000);
/// BBRMinPipeCwnd.
const MIN_CWND: f64 = 4.0;
/// The share of BtlBw at which segments leave at gain one (Linux, bbr_pacing_margin_percent).
const MARGIN: f64 = 0.99;
/// Growth of BtlBw that Startup asks for, and rounds without it.
const FULL_BW: (f64, u32) = (1.25, 3);

/// The state machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Doubles the rate each round trip.
    #[default]
    Startup,
    /// Empties the queue of Startup.
    Drain,
    /// Cycles through gains.
    ProbeBw,
    /// Measures RTprop.
    ProbeRtt,
}

/// State of BBR, version 1.
#[derive(Clone, Debug)]
pub struct Bbr1 {
    delivery: DeliveryRate,
    mode: Mode,
    bw: WindowedMax,
    min_rtt: Dur,
    min_rtt_at: Time,
    /// Round trips, counted by delivered segments.
    rounds: u32,
    round_end: u32,
    round_start: bool,
    full_bw: f64,
    full_bw_rounds: u32,
    /// Place in the cycle of gains, and when it was taken.
    phase: usize,
    phase_start: Time,
    /// When ProbeRTT may end, once few segments are in flight, and whether a round trip has passed since.
    probe_rtt_done: Option<Time>,
    probe_rtt_round: bool,
    /// The window to return to.
    prior_cwnd: f64,
    repair: RepairPhase,
    conserves: bool,
    restarted: bool,
    /// Recoveries that were spurious.
    spurious: u32,
    pacing_rate: f64,
    rng: Option<Rng>,
}

impl Default for Bbr1 {
    fn default() -> Bbr1 {
        Bbr1 {
            delivery: DeliveryRate::default(),
            mode: Mode::Startup,
            bw: WindowedMax::default(),
            min_rtt: Dur(u64::MAX),
            min_rtt_at: Time::ZERO,
            rounds: 0,
            round_end: 0,
            round_start: false,
            full_bw: 0.0,
            full_bw_rounds: 0,
            phase: 0,
            phase_start: Time::ZERO,
            probe_rtt_done: None,
            probe_rtt_round: false,
            prior_cwnd: 0.0,
            repair: RepairPhase::None,
            conserves: false,
            restarted: false,
            spurious: 0,
            pacing_rate: 0.0,
            rng: None,
        }
    }
}

impl Bbr1 {
    fn is_full(&self) -> bool {
        self.full_bw_rounds >= FULL_BW.1
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => 1.0 / HIGH_GAIN,
            Mode::ProbeBw => CYCLE[self.phase],
            Mode::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw => CWND_GAIN,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// gain x BtlBw x RTprop with room for bursts (4.2.3.2; Linux, bbr_inflight).
    fn inflight(&self, config: &Config, gain: f64) -> f64 {
        if self.min_rtt == Dur(u64::MAX) {
            return config.initial_window;
        }
        let bdp = (gain * self.bw.get() * self.min_rtt.secs()).ceil();
        let budget = bdp + 3.0 * send_quantum(config, self.pacing_rate);
        // An even number, for the sake of delayed acknowledgements, and two more to probe with.
        let even = 2.0 * (budget / 2.0).ceil();
        even + if self.mode == Mode::ProbeBw && self.phase == 0 { 2.0 } else { 0.0 }
    }

    /// Rounds and BtlBw: 4.1.1.
    fn update_bw(&mut self, sample: &RateSample) {
        self.round_start = false;
        let Some(prior) = sample.prior_delivered else { return };
        if prior >= self.round_end {
            self.round_end = self.delivery.delivered();
            self.rounds += 1;
            self.round_start = true;
            self.conserves = false;
        }
        if sample.rate > 0.0 && (!sample.app_limited || sample.rate >= self.bw.get()) {
            self.bw.update(sample.rate, self.rounds, BW_ROUNDS);
        }
    }

    /// 4.3.4.3: the next gain of ProbeBW.
    fn update_phase(&mut self, config: &Config, now: Time, sample: &RateSample) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let full_length = now - self.phase_start > self.min_rtt;
        let in_flight = f64::from(sample.prior_in_flight);
        let gain = CYCLE[self.phase];
        let next = if gain > 1.0 {
            full_length && (sample.newly_lost > 0 || in_flight >= self.inflight(config, gain))
        } else {
            full_length || gain < 1.0 && in_flight <= self.inflight(config, 1.0)
        };
        if next {
            self.enter_phase((self.phase + 1) % CYCLE.len(), now);
        }
    }

    fn enter_phase(&mut self, phase: usize, now: Time) {
        (self.phase, self.phase_start) = (phase, now);
    }

    /// 4.3.4.2: ProbeBW begins at any gain but 3/4.
    fn enter_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        let draw = self.rng.as_mut().map_or(0, |rng| rng.below(CYCLE.len() as u32 - 1)) as usize;
        self.enter_phase((CYCLE.len() - draw) % CYCLE.len(), now);
    }

    /// 4.3.2.2: is the pipe full?
    fn check_full(&mut self, sample: &RateSample) {
        if self.is_full() || !self.round_start || sample.app_limited {
            return;
        }
        if self.bw.get() >= FULL_BW.0 * self.full_bw {
            (self.full_bw, self.full_bw_rounds) = (self.bw.get(), 0);
        } else {
            self.full_bw_rounds += 1;
        }
    }

    /// 4.3.3.
    fn check_drain(&mut self, config: &Config, now: Time) {
        if self.mode == Mode::Startup && self.is_full() {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && f64::from(self.delivery.in_flight()) <= self.inflight(config, 1.0) {
            self.enter_probe_bw(now);
        }
    }

    /// 4.1.2 and 4.3.5.
    fn update_min_rtt(&mut self, window: &mut Window, now: Time, sample: &RateSample) {
        let expired = now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(rtt) = sample.rtt.filter(|&rtt| rtt < self.min_rtt || expired) {
            (self.min_rtt, self.min_rtt_at) = (rtt, now);
        }
        if expired && !self.restarted && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(window.cwnd);
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.delivery.mark_app_limited();
            match self.probe_rtt_done {
                None if f64::from(self.delivery.in_flight()) <= MIN_CWND => {
                    self.probe_rtt_done = Some(now + PROBE_RTT_TIME);
                    self.probe_rtt_round = false;
                    self.round_end = self.delivery.delivered();
                }
                None => {}
                Some(_) => {
                    self.probe_rtt_round |= self.round_start;
                    if self.probe_rtt_round {
                        self.end_probe_rtt(window, now);
                    }
                }
            }
        }
        self.restarted &= sample.newly_acked == 0;
    }

    fn end_probe_rtt(&mut self, window: &mut Window, now: Time) {
        if self.probe_rtt_done.is_some_and(|done| now > done) {
            self.min_rtt_at = now;
            window.cwnd = window.cwnd.max(self.prior_cwnd);
            if self.is_full() {
                self.enter_probe_bw(now);
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    /// Linux, bbr_save_cwnd: the last window that was not reduced by a recovery or ProbeRTT.
    fn save_cwnd(&mut self, cwnd: f64) {
        let reduced = self.repair != RepairPhase::None || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if reduced { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    /// 4.2.2: the rate follows BtlBw at once when it rises, and when the pipe is full.
    fn update_rate(&mut self) {
        let rate = self.pacing_gain() * self.bw.get() * MARGIN;
        if rate > 0.0 && (self.is_full() || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// 4.2.3.4: the window in and after a recovery. Returns true if it is decided with that.
    fn recover(&mut self, window: &mut Window, phase: RepairPhase, sample: &RateSample) -> bool {
        let acked = f64::from(sample.newly_acked);
        let in_flight = f64::from(self.delivery.in_flight());
        if sample.newly_lost > 0 {
            window.cwnd = (window.cwnd - f64::from(sample.newly_lost)).max(1.0);
        }
        let before = std::mem::replace(&mut self.repair, phase);
        if phase == RepairPhase::Fast && before != RepairPhase::Fast {
            self.conserves = true;
            self.round_end = self.delivery.delivered();
            window.cwnd = in_flight + acked;
        } else if phase == RepairPhase::None && before != RepairPhase::None {
            self.conserves = false;
            window.cwnd = window.cwnd.max(self.prior_cwnd);
        }
        if self.conserves {
            window.cwnd = window.cwnd.max(in_flight + acked);
        }
        self.conserves
    }

    /// 4.2.3.
    fn update_cwnd(&mut self, window: &mut Window, input: &ModelInput<'_>, sample: &RateSample) {
        let acked = f64::from(sample.newly_acked);
        if acked > 0.0 && !self.recover(window, input.phase, sample) {
            let target = self.inflight(input.config, self.cwnd_gain());
            if self.is_full() {
                window.cwnd = (window.cwnd + acked).min(target);
            } else if window.cwnd < target || f64::from(self.delivery.delivered()) < input.config.initial_window {
                window.cwnd += acked;
            }
            window.cwnd = window.cwnd.max(MIN_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(MIN_CWND);
        }
    }
}

impl PathModel for Bbr1 {
    fn delivery(&mut self) -> &mut DeliveryRate {
        &mut self.delivery
    }

    fn seed(&mut self, seed: u64) {
        self.rng = Some(Rng::named(seed, "bbr1"));
    }

    fn start(&mut self, config: &Config, now: Time, srtt: f64) -> f64 {
        let srtt = if srtt > 0.0 { srtt } else { 1e-3 };
        self.min_rtt_at = now;
        self.pacing_rate = HIGH_GAIN * config.initial_window / srtt;
        self.pacing_rate
    }

    fn update(&mut self, window: &mut Window, input: &ModelInput<'_>) -> f64 {
        self.delivery.take_losses();
        let sample = self.delivery.take_sample(input.now, Dur::ZERO);
        self.update_bw(&sample);
        self.update_phase(input.config, input.now, &sample);
        self.check_full(&sample);
        self.check_drain(input.config, input.now);
        self.update_min_rtt(window, input.now, &sample);
        self.update_rate();
        self.update_cwnd(window, input, &sample);
        self.pacing_rate
    }

    fn on_congestion(&mut self, cwnd: f64, timeout: bool) {
        self.save_cwnd(cwnd);
        if timeout {
            // Linux, bbr_set_state: as after a new round trip, and BtlBw is looked for again.
            self.repair = RepairPhase::Timeout;
            (self.full_bw, self.round_start) = (0.0, true);
        }
    }

    /// Linux, bbr_undo_cwnd: BtlBw is looked for again, and the window of before comes back.
    fn on_spurious_recovery(&mut self, window: &mut Window) {
        self.spurious += 1;
        if !self.is_full() {
            (self.full_bw, self.full_bw_rounds) = (0.0, 0);
        }
        window.cwnd = window.cwnd.max(self.prior_cwnd);
    }

    fn info(&self, config: &Config) -> ModelInfo {
        ModelInfo {
            state: match self.mode {
                Mode::Startup => ModelState::Startup,
                Mode::Drain => ModelState::Drain,
                Mode::ProbeBw => ModelState::ProbeBw,
                Mode::ProbeRtt => ModelState::ProbeRtt,
            },
            max_bw: self.bw.get(),
            bw: self.bw.get(),
            min_rtt: if self.min_rtt == Dur(u64::MAX) { f64::INFINITY } else { self.min_rtt.secs() },
            pacing_rate: self.pacing_rate,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            extra_acked: 0.0,
            drained: self.inflight(config, 1.0),
            in_flight: self.delivery.in_flight(),
            delivered: self.delivery.delivered(),
            lost: self.delivery.count_lost(),
            rounds: self.rounds,
            full_bw_count: self.full_bw_rounds,
            spurious: self.spurious,
            full_bw_reached: self.is_full(),
            idle_restart: self.restarted,
            app_limited: self.delivery.is_app_limited(),
        }
    }

    fn on_restart(&mut self, window: &mut Window, now: Time) -> Option<f64> {
        if !self.delivery.is_app_limited() {
            return None;
        }
        self.restarted = true;
        match self.mode {
            Mode::ProbeBw => self.pacing_rate = MARGIN * self.bw.get(),
            Mode::ProbeRtt => self.end_probe_rtt(window, now),
            Mode::Startup | Mode::Drain => {}
        }
        Some(self.pacing_rate)
    }
}

impl WindowLaw for Bbr1 {
    fn on_ack(&mut self, _: &mut Window, _: &AckedSegments<'_>) {}

    fn decrease(&mut self, _: &Config, _: f64, _: Signal) -> f64 {
        1.0
    }

    fn model(&mut self) -> Option<&mut dyn PathModel> {
        Some(self)
    }
}
