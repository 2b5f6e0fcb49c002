//! DOCSIS-PIE: the PIE of cable modems.
//!
//! RFC 8034, section 4 (differences from PIE) and appendix A (constants, control path, data path).
//!
//! Every interval p <- p + k(p) (a (d - target) + b (d - d')), with k from 1/2048 at p < 1e-6 to 32 at p >= 10, at most
//! 0.02 a step when p >= 0.1; p <- 0.98 p while the delay is low, + 0.02 while it is above 200 ms. A packet of s bytes
//! is dropped with min(p s/1024, 0.85), so p may be far above 1.
//!
//! Burst protection has three states. In `inactive` no packet is dropped until a third of the buffer is full; in
//! `quiescent` the first drop makes PIE `active`, which sets p to 0 for max_burst. Two quiet updates lead back
//! to `quiescent`, a second of them to `inactive`.
//!
//! Input: the queue at regular times, arrivals and their sizes. Output: a drop at arrival, at random; no marks (4.7).
//! Departures: the delay is the queue over the link's rate. Appendix A.2 also divides the part of the queue for which
//! the modem has tokens by the peak rate; a link here has one rate, so that PEAK_RATE = MSR and both formulas agree.
//! Defaults: RFC 8034, appendix A.1 and section 4.1.

use alloc::vec::Vec;
use super::pie::{tuning, PROB_HIGH, PROB_LOW};
use crate::periodic_timer::PeriodicTimer;
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Packet, Rng, Time};

marqueue_core::params! {
    /// Parameters of DOCSIS-PIE.
    pub struct Params {
        /// LATENCY_TARGET: the queueing delay that PIE controls to.
        latency_target: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.01, source: "RFC 8034, section 4.1" },
        /// INTERVAL: how often the probability is computed.
        interval: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.016, source: "RFC 8034, appendix A.1.2" },
        /// A: gain on the deviation from the target.
        a: f64 { unit: PerSecond, range: 0.0 => 1e6, default: 0.25, source: "RFC 8034, appendix A.1.2" },
        /// B: gain on the change of the delay.
        b: f64 { unit: PerSecond, range: 0.0 => 1e6, default: 2.5, source: "RFC 8034, appendix A.1.2" },
        /// MAX_BURST: for how long no packet is dropped after the first drop.
        max_burst: f64 { unit: Seconds, range: 0.0 => 100.0, default: 0.142, source: "RFC 8034, appendix A.1.2: 142 ms" },
        /// BURST_RESET_TIMEOUT: how long it must be quiet until bursts pass again.
        burst_reset_timeout: f64 { unit: Seconds, range: 0.0 => 1e4, default: 1.0, source: "RFC 8034, appendix A.1.2" },
        /// LATENCY_LOW: delay below which the probability decays.
        latency_low: f64 { unit: Seconds, range: 0.0 => 100.0, default: 0.005, source: "RFC 8034, appendix A.1.2" },
        /// LATENCY_HIGH: delay above which the probability grows fast.
        latency_high: f64 { unit: Seconds, range: 0.0 => 100.0, default: 0.2, source: "RFC 8034, appendix A.1.2" },
        /// MEAN_PKTSIZE: size of a packet that is dropped with p.
        mean_packet: f64 { unit: Bytes, range: 1.0 => 1e6, default: 1024.0, source: "RFC 8034, appendix A.1.2" },
        /// MIN_PKTSIZE: size of the smallest packet, which bounds p.
        min_packet: f64 { unit: Bytes, range: 1.0 => 1e6, default: 64.0, source: "RFC 8034, appendix A.1.2" },
    }
}

/// aqm_state_.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Inactive,
    Quiescent,
    Active,
}

/// What DOCSIS-PIE computes of a queue, without the queue: the control path and the data path of appendix A.
#[derive(Debug)]
pub(super) struct Control {
    params: Params,
    state: State,
    /// drop_prob_.
    p: f64,
    /// accu_prob_.
    accumulated: f64,
    /// qdelay_old_, s.
    delay: f64,
    /// burst_allowance_, s.
    burst: f64,
    /// burst_reset_, s.
    quiet_for: f64,
}

/// State of DOCSIS-PIE.
#[derive(Debug)]
pub struct DocsisPie {
    control: Control,
    timer: PeriodicTimer,
}

/// Appendix A.2: the smaller the probability, the smaller its steps.
fn expanded_tuning(p: f64) -> f64 {
    match p {
        p if p < 0.1 => tuning(p),
        p if p < 1.0 => 2.0,
        p if p < 10.0 => 8.0,
        _ => 32.0,
    }
}

impl Control {
    /// The state before the first packet.
    ///
    /// # Errors
    /// If the smallest packet is larger than the mean one.
    pub(super) fn new(p: &Params) -> Result<Control, ParamError> {
        if p.min_packet > p.mean_packet {
            let expected = format!("at most mean_packet = {} bytes", p.mean_packet);
            return Err(ParamError::new("min_packet", format!("got {} bytes, expected {expected}", p.min_packet)));
        }
        Ok(Control {
            state: State::Inactive,
            p: 0.0,
            accumulated: 0.0,
            delay: 0.0,
            burst: 0.0,
            quiet_for: 0.0,
            params: p.clone(),
        })
    }

    /// INTERVAL, s.
    pub(super) fn interval(&self) -> f64 {
        self.params.interval
    }

    /// drop_prob_, which may be above 1.
    pub(super) fn p(&self) -> f64 {
        self.p
    }

    /// Appendix A.2, calculate_drop_prob(), with a queueing delay of `delay` seconds. Did it change the state?
    pub(super) fn tick(&mut self, delay: f64) -> bool {
        let before = (self.state, self.p, self.delay, self.burst, self.quiet_for);
        self.update(delay);
        before != (self.state, self.p, self.delay, self.burst, self.quiet_for)
    }

    fn update(&mut self, delay: f64) {
        let Params { latency_target, interval, a, b, latency_low, latency_high, mean_packet, min_packet, .. } = self.params;
        let old = self.delay;
        if self.burst > 0.0 {
            self.p = 0.0;
            self.burst = (self.burst - interval).max(0.0);
        } else {
            let mut step = expanded_tuning(self.p) * (a * (delay - latency_target) + b * (delay - old));
            if self.p >= 0.1 {
                step = step.min(0.02);
            }
            self.p += step;
            if delay < latency_low && old < latency_low {
                self.p *= 0.98;
            } else if delay > latency_high {
                self.p += 0.02;
            }
            self.p = self.p.clamp(0.0, PROB_LOW * mean_packet / min_packet);
        }
        let half = 0.5 * latency_target;
        self.rest(delay < half && old < half && self.p == 0.0 && self.burst == 0.0);
        self.delay = delay;
    }

    /// Appendix A.2: the state after an update that was quiet or not.
    fn rest(&mut self, quiet: bool) {
        match (self.state, quiet) {
            (State::Active, true) => (self.state, self.quiet_for) = (State::Quiescent, 0.0),
            (State::Quiescent, true) => {
                self.quiet_for += self.params.interval;
                if self.quiet_for > self.params.burst_reset_timeout {
                    (self.state, self.quiet_for) = (State::Inactive, 0.0);
                }
            }
            (State::Quiescent, false) => self.quiet_for = 0.0,
            (State::Active, false) | (State::Inactive, _) => {}
        }
    }

    /// A packet finds the buffer full.
    pub(super) fn overflow(&mut self) {
        self.accumulated = 0.0;
    }

    /// Appendix A.3, drop_early(), for a packet of `bytes` at a queue of `queue` bytes in a buffer of `buffer`.
    pub(super) fn drops(&mut self, rng: &mut Rng, queue: f64, buffer: f64, bytes: u32) -> bool {
        if self.burst > 0.0 {
            return false;
        }
        if self.p == 0.0 {
            self.accumulated = 0.0;
        }
        if self.state == State::Inactive {
            if queue < buffer / 3.0 {
                return false;
            }
            self.state = State::Quiescent;
        }
        let p = (self.p * f64::from(bytes) / self.params.mean_packet).min(PROB_LOW);
        self.accumulated += p;
        let low_delay = self.delay < 0.5 * self.params.latency_target && self.p < 0.2;
        if low_delay || queue <= 2.0 * self.params.mean_packet || self.accumulated < PROB_LOW {
            return false;
        }
        if self.accumulated < PROB_HIGH && rng.uniform() > p {
            return false;
        }
        self.accumulated = 0.0;
        if self.state == State::Quiescent {
            (self.state, self.burst) = (State::Active, self.params.max_burst);
        }
        true
    }
}

impl Aqm for DocsisPie {
    const NAME: &'static str = "docsis_pie";
    const SUMMARY: &'static str = "PIE of cable modems: drops by size, lets the first burst pass";
    const SOURCE: &'static str = "White and Pan, RFC 8034, 2017";
    const PROBES: &'static [(&'static str, &'static str)] =
        &[("p", "fraction"), ("delay", "s"), ("burst_allowance", "s"), ("active", "fraction")];
    type Params = Params;

    fn new(p: &Params, _: &Env, _: &Rng, now: Time) -> Result<Self, ParamError> {
        Ok(DocsisPie { control: Control::new(p)?, timer: PeriodicTimer::new(now, Dur::from_secs(p.interval)) })
    }

    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        self.timer.resume(cx.now);
        if cx.is_full(packet) {
            self.control.overflow();
            return Verdict::Pass;
        }
        let (queue, buffer) = (cx.bytes() as f64, cx.env.limit.bytes(cx.env.mean_packet));
        match self.control.drops(cx.rng, queue, buffer, packet.bytes()) {
            true => Verdict::Drop(Reason::Early),
            false => Verdict::Pass,
        }
    }

    fn next_timer(&self) -> Time {
        self.timer.due()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let changed = self.control.tick(cx.bytes() as f64 / cx.env.rate.bytes_per_sec());
        self.timer.tick(cx.packets() == 0 && !changed);
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        let Control { state, p, delay, burst, .. } = self.control;
        let active = match state {
            State::Inactive => 0.0,
            State::Quiescent => 0.5,
            State::Active => 1.0,
        };
        out.extend([p, delay, burst, active]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_tuned_by_appendix_a_2() {
        for (p, factor) in [(0.0, 1.0 / 2048.0), (0.05, 0.5), (0.1, 2.0), (0.99, 2.0), (1.0, 8.0), (10.0, 32.0), (13.6, 32.0)] {
            assert_eq!(expanded_tuning(p), factor, "p = {p}");
        }
    }
}
