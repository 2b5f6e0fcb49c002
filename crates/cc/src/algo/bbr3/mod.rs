//! BBR, version 3: Cardwell, Swett and Beshay, "BBR Congestion Control", draft-ietf-ccwg-bbr, in the working group's text of
//! commit 4ce5e87. The names of functions follow its pseudocode.
//!
//! The model: max_bw, the largest delivery rate of the last two cycles of ProbeBW, min_rtt, the least round-trip time of 10 s,
//! and bounds by loss: `inflight_longterm`, what the path held when more than 2% were lost while probing, and
//! `bw_shortterm` and `inflight_shortterm`, which come down by 0.7 in round trips with loss outside of probing and are forgotten
//! at the next probe. Segments leave at pacing_gain x min(max_bw, bw_shortterm), less 1%.
//! Startup doubles the rate each round trip, until three rounds have not raised it by a quarter, or losses were too many.
//! Drain empties the queue. ProbeBW: Down (0.9), Cruise (1), and after 2 to 3 s, or as many round trips as Reno would need, Refill
//! (1) and Up (1.25) until the bandwidth does not grow or losses are too many. ProbeRTT every 5 s, unless the least round-trip
//! time was measured meanwhile: half of the bandwidth-delay product in flight for 200 ms and a round trip.
//!
//! Files: `probe_bw` (the phases of ProbeBW), `bounds` (delivery signals, bounds by loss), `undo` (spurious
//! recoveries), `controls` (pacing rate and window), `info` (for traces).
//!
//! Departures:
//! - Segments leave alone; the window makes room for bursts all the same (`send_quantum`).
//! - A recovery is found to be spurious by D-SACK alone, once it is known for all that it has sent again.
//! - Startup ends for losses (CheckStartupHighLoss) where a round trip has ended that was all in fast recovery; six ranges of
//!   lost segments are counted as they are detected.
//! - Losses are processed with the next acknowledgement.

mod bounds;
mod controls;
mod info;
mod probe_bw;
mod state;
mod undo;

use crate::config::Config;
use crate::delivery_rate::{DeliveryRate, RateSample};
use crate::path_model::{ModelInfo, ModelInput, PathModel, RepairPhase, WindowedMax};
use crate::window_law::{AckedSegments, Signal, Window, WindowLaw};
use marqueue_core::{Dur, Rng, Time};
use state::{is_too_high, Bounds, ProbeBw, State, Undo, INFINITE};

/// BBR.MaxBwFilterLen, cycles: this one and the one before.
const MAX_BW_CYCLES: u32 = 1;
/// BBR.MinRTTFilterLen.
const MIN_RTT_WINDOW: Dur = Dur(10_000_000_000);
/// BBR.ProbeRTTInterval.
const PROBE_RTT_INTERVAL: Dur = Dur(5_000_000_000);
/// BBR.ProbeRTTDuration.
const PROBE_RTT_TIME: Dur = Dur(200_000_000);
/// Growth of the bandwidth that shows that the pipe is not full, and rounds without it.
const FULL_BW: (f64, u32) = (1.25, 3);
/// BBRStartupFullLossCnt.
const STARTUP_LOSSES: u32 = 6;

/// Is the pipe full? BBR.full_bw, full_bw_count and full_bw_now.
#[derive(Clone, Copy, Debug, Default)]
struct FullBw {
    bw: f64,
    count: u32,
    now: bool,
}

/// What of BBR.min_rtt and ProbeRTT is remembered.
#[derive(Clone, Copy, Debug)]
struct MinRtt {
    /// BBR.min_rtt, and its time; seconds, infinite before the first.
    min: f64,
    at: Time,
    /// BBR.probe_rtt_min_delay, and its time.
    probe_min: f64,
    probe_at: Time,
    /// BBR.probe_rtt_expired.
    expired: bool,
    /// BBR.probe_rtt_done_stamp.
    done: Option<Time>,
    /// BBR.probe_rtt_round_done.
    round_done: bool,
}

/// Excess acknowledgements: BBR.extra_acked and what it is made of.
#[derive(Clone, Debug, Default)]
struct Aggregation {
    start: Time,
    delivered: f64,
    filter: WindowedMax,
}

/// State of BBR, version 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    delivery: DeliveryRate,
    state: State,
    max_bw: WindowedMax,
    /// BBR.cycle_count.
    cycle: u32,
    /// BBR.bw.
    bw: f64,
    min_rtt: MinRtt,
    /// BBR.round_count, next_round_delivered and round_start.
    rounds: u32,
    round_end: u32,
    round_start: bool,
    full: FullBw,
    /// BBR.full_bw_reached.
    full_reached: bool,
    drain_round: u32,
    bounds: Bounds,
    probe: ProbeBw,
    aggregation: Aggregation,
    prior_cwnd: f64,
    undo: Undo,
    idle_restart: bool,
    repair: RepairPhase,
    /// The fast recovery has lasted for a round trip; ranges lost in this one, and the last segment of the last.
    repair_rounds: u32,
    lost_ranges: (u32, u32),
    pacing_rate: f64,
    rng: Option<Rng>,
}

impl Default for Bbr3 {
    fn default() -> Bbr3 {
        let min_rtt = MinRtt {
            min: INFINITE,
            at: Time::ZERO,
            probe_min: INFINITE,
            probe_at: Time::ZERO,
            expired: false,
            done: None,
            round_done: false,
        };
        Bbr3 {
            delivery: DeliveryRate::default(),
            state: State::Startup,
            max_bw: WindowedMax::default(),
            cycle: 0,
            bw: 0.0,
            min_rtt,
            rounds: 0,
            round_end: 0,
            round_start: false,
            full: FullBw::default(),
            full_reached: false,
            drain_round: 0,
            bounds: Bounds::default(),
            probe: ProbeBw::default(),
            aggregation: Aggregation::default(),
            prior_cwnd: 0.0,
            undo: Undo::default(),
            idle_restart: false,
            repair: RepairPhase::None,
            repair_rounds: 0,
            lost_ranges: (0, 0),
            pacing_rate: 0.0,
            rng: None,
        }
    }
}

impl Bbr3 {
    fn in_flight(&self) -> f64 {
        f64::from(self.delivery.in_flight())
    }

    /// UpdateRound.
    fn update_round(&mut self, sample: &RateSample) {
        self.round_start = sample.prior_delivered.is_some_and(|prior| prior >= self.round_end);
        if self.round_start {
            self.start_round();
            self.rounds += 1;
            self.probe.rounds += 1;
            self.repair_rounds += u32::from(self.repair == RepairPhase::Fast);
        }
    }

    fn start_round(&mut self) {
        self.round_end = self.delivery.delivered();
    }

    /// UpdateMaxBw.
    fn update_max_bw(&mut self, sample: &RateSample) {
        self.update_round(sample);
        if sample.rate > 0.0 && (sample.rate >= self.max_bw.get() || !sample.app_limited) {
            self.max_bw.update(sample.rate, self.cycle, MAX_BW_CYCLES);
        }
    }

    /// UpdateACKAggregation.
    fn update_aggregation(&mut self, cwnd: f64, now: Time, sample: &RateSample) {
        let mut expected = self.bw * (now - self.aggregation.start).secs();
        if self.aggregation.delivered <= expected {
            (self.aggregation.delivered, self.aggregation.start) = (0.0, now);
            expected = 0.0;
        }
        self.aggregation.delivered += f64::from(sample.newly_acked);
        let extra = (self.aggregation.delivered - expected).min(cwnd);
        let rounds = if self.full_reached { 10 } else { 1 };
        self.aggregation.filter.update(extra, self.rounds, rounds);
    }

    /// CheckFullBWReached.
    fn check_full(&mut self, sample: &RateSample) {
        if self.full.now || !self.round_start || sample.app_limited {
            return;
        }
        if sample.rate >= FULL_BW.0 * self.full.bw {
            self.full = FullBw { bw: sample.rate, ..FullBw::default() };
            return;
        }
        self.full.count += 1;
        self.full.now = self.full.count >= FULL_BW.1;
        self.full_reached |= self.full.now;
    }

    /// CheckStartupDone, with CheckStartupHighLoss.
    fn check_startup(&mut self, sample: &RateSample) {
        if self.state != State::Startup {
            return;
        }
        if self.bounds.round_start {
            let losses = std::mem::take(&mut self.lost_ranges.0);
            if self.repair_rounds >= 1 && losses >= STARTUP_LOSSES && is_too_high(sample.lost, sample.tx_in_flight)
            {
                self.undo.state = Some(State::Startup);
                self.full_reached = true;
                self.bounds.inflight_longterm = self.bdp(1.0).max(f64::from(self.bounds.inflight_latest));
            }
        }
        if self.full_reached {
            self.state = State::Drain;
            self.drain_round = self.rounds;
        }
    }

    /// CheckDrainDone.
    fn check_drain(&mut self, config: &Config, now: Time) {
        if self.state == State::Drain
            && (self.in_flight() <= self.inflight(config, 1.0) || self.rounds > self.drain_round + 3)
        {
            self.start_down(now);
        }
    }

    /// UpdateMinRTT.
    fn update_min_rtt(&mut self, now: Time, sample: &RateSample) {
        let m = &mut self.min_rtt;
        m.expired = now > m.probe_at + PROBE_RTT_INTERVAL;
        if let Some(rtt) = sample.rtt.map(Dur::secs).filter(|&rtt| rtt < m.probe_min || m.expired) {
            (m.probe_min, m.probe_at) = (rtt, now);
        }
        if m.probe_min < m.min || now > m.at + MIN_RTT_WINDOW {
            (m.min, m.at) = (m.probe_min, m.probe_at);
        }
    }

    /// CheckProbeRTT.
    fn check_probe_rtt(&mut self, window: &mut Window, now: Time, sample: &RateSample) {
        if self.state != State::ProbeRtt && self.min_rtt.expired && !self.idle_restart {
            self.save_cwnd(window.cwnd);
            self.state = State::ProbeRtt;
            self.min_rtt.done = None;
            self.probe.stop();
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.probe_rtt(window, now);
        }
        self.idle_restart &= sample.newly_acked == 0;
    }

    /// HandleProbeRTT.
    fn probe_rtt(&mut self, window: &mut Window, now: Time) {
        self.delivery.mark_app_limited();
        if self.min_rtt.done.is_none() {
            if self.in_flight() <= self.probe_rtt_cwnd() {
                self.min_rtt.done = Some(now + PROBE_RTT_TIME);
                self.min_rtt.round_done = false;
                self.start_round();
            }
        } else {
            self.min_rtt.round_done |= self.round_start;
            if self.min_rtt.round_done {
                self.end_probe_rtt(window, now);
            }
        }
    }

    /// CheckProbeRTTDone and ExitProbeRTT.
    fn end_probe_rtt(&mut self, window: &mut Window, now: Time) {
        if self.min_rtt.done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt.probe_at = now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.bounds.reset_shortterm();
        if self.full_reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// SaveCwnd.
    fn save_cwnd(&mut self, cwnd: f64) {
        let reduced = self.repair != RepairPhase::None || self.state == State::ProbeRtt;
        self.prior_cwnd = if reduced { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    /// The end of a recovery: RestoreCwnd.
    fn follow_repair(&mut self, window: &mut Window, phase: RepairPhase) {
        if std::mem::replace(&mut self.repair, phase) != RepairPhase::None && phase == RepairPhase::None {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
            self.repair_rounds = 0;
        }
    }
}

impl PathModel for Bbr3 {
    fn delivery(&mut self) -> &mut DeliveryRate {
        &mut self.delivery
    }

    fn seed(&mut self, seed: u64) {
        self.rng = Some(Rng::named(seed, "bbr3"));
    }

    /// OnInit and InitPacingRate.
    fn start(&mut self, config: &Config, now: Time, srtt: f64) -> f64 {
        let m = &mut self.min_rtt;
        (m.min, m.at, m.probe_at) = (if srtt > 0.0 { srtt } else { INFINITE }, now, now);
        self.aggregation.start = now;
        self.pacing_rate = State::Startup.gains().0 * config.initial_window / if srtt > 0.0 { srtt } else { 1e-3 };
        self.pacing_rate
    }

    /// UpdateOnACK.
    fn update(&mut self, window: &mut Window, input: &ModelInput<'_>) -> f64 {
        let now = input.now;
        self.note_losses(window, now);
        let min_rtt = if self.min_rtt.min.is_finite() { Dur::from_secs(self.min_rtt.min) } else { Dur::ZERO };
        let sample = self.delivery.take_sample(now, min_rtt);
        self.update_latest_signals(&sample);
        self.update_congestion_signals(window, &sample);
        self.update_aggregation(window.cwnd, now, &sample);
        self.check_full(&sample);
        self.check_startup(&sample);
        self.check_drain(input.config, now);
        self.update_phase(window, input.config, now, &sample);
        self.update_min_rtt(now, &sample);
        self.check_probe_rtt(window, now, &sample);
        self.advance_latest_signals(&sample);
        self.bw = self.max_bw.get().min(self.bounds.bw_shortterm);
        self.follow_repair(window, input.phase);
        self.set_pacing_rate();
        self.set_cwnd(window, input.config, &sample);
        self.pacing_rate
    }

    /// OnEnterFastRecovery, OnEnterRTO.
    fn on_congestion(&mut self, cwnd: f64, timeout: bool) {
        self.save_state(cwnd);
        self.repair = if timeout { RepairPhase::Timeout } else { RepairPhase::Fast };
        self.repair_rounds = 0;
    }

    fn on_spurious_recovery(&mut self, window: &mut Window) {
        self.undo_recovery(window);
    }

    fn info(&self, config: &Config) -> ModelInfo {
        self.model_info(config)
    }

    /// HandleRestartFromIdle.
    fn on_restart(&mut self, window: &mut Window, now: Time) -> Option<f64> {
        if !self.delivery.is_app_limited() {
            return None;
        }
        self.idle_restart = true;
        self.aggregation.start = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(1.0);
        } else if self.state == State::ProbeRtt {
            self.end_probe_rtt(window, now);
        }
        Some(self.pacing_rate)
    }
}

impl WindowLaw for Bbr3 {
    fn on_ack(&mut self, _: &mut Window, _: &AckedSegments<'_>) {}

    fn decrease(&mut self, _: &Config, _: f64, _: Signal) -> f64 {
        1.0
    }

    fn model(&mut self) -> Option<&mut dyn PathModel> {
        Some(self)
    }
}
