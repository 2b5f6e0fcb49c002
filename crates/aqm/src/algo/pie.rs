//! PIE: proportional integral controller enhanced.
//!
//! RFC 8033: sections 4.1 (random dropping), 4.2 (drop probability), 4.3 (latency), 4.4 (burst tolerance), 5.1 (ECN),
//! 5.2 (dequeue rate), 5.3 (active and inactive), 5.4 (derandomization), 5.5 (cap drop adjustment), and the pseudocode
//! of appendices A (basic) and B (with options).
//!
//! Every t_update: p <- p + k(p) (alpha (delay - ref) + beta (delay - old delay)), with k from 1/2048 at p < 1e-6 to 1
//! at p >= 0.1, at most 0.02 a step when p >= 0.1, and p in [0, 1]; p <- 0.98 p without congestion (`decay`).
//!
//! Input: the queueing delay at regular times, arrivals. Output: a mark, or a drop once p >= mark_ecnth; at arrival, at
//! random. No packet is signalled while a burst is allowed, while the delay was below half the reference and p < 0.2,
//! or while at most two packets' bytes are queued.
//!
//! Section 4.3 estimates the delay by the dequeue rate or by timestamps. By default it is the queue over the link's
//! rate, which is known here; `delay_estimate` chooses the RFC's estimates.
//! Departures:
//!
//! - The RFC tests for the end of congestion at every arrival (4.4, 5.3, B), with a current delay that only the update
//!   computes. So after each update it would test one sample instead of the last two, and under 5.3 and B PIE would be
//!   switched off by the packet that switches it on. Here the update tests its two samples, as the prose of 4.4 and 5.3
//!   says. By timestamps every departure gives a current delay, and the test is at arrivals.
//! - B switches PIE off at two delays of zero; here it is 5.3's condition: both below half the reference.
//! - By timestamps, the delay of an empty queue is zero (as in Linux). In A it stays that of the last packet.
//! - A signal resets accu_prob_, whether it is a mark or a drop (B's indentation leaves this open).
//! - In byte mode a packet's probability is at most 0.85. RFC 8033 demands a bound without giving one; this is that of
//!   RFC 8034, appendix A.3. The DOCSIS variant of that RFC is not implemented.
//!
//! Defaults: RFC 8033, sections 4 and 5. Where the appendices disagree with each other or with section 4, the default
//! is that of section 4 and Linux. PIE is always active (as in Linux).

use alloc::vec::Vec;
use crate::counting_unit::CountingUnit;
use crate::dequeue_rate::DequeueRate;
use crate::periodic_timer::PeriodicTimer;
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Packet, Rng, Time};

marqueue_core::choice! {
    /// How the queueing delay is found.
    pub enum DelayEstimate {
        /// The queue's bytes over the link's rate.
        LinkRate = "link_rate",
        /// The queue's bytes over the measured dequeue rate.
        DequeueRate = "dequeue_rate",
        /// The sojourn time of the last packet that departed.
        Timestamps = "timestamps",
    }
}

marqueue_core::choice! {
    /// When the probability decays exponentially.
    pub enum Decay {
        /// When the last two delays are zero.
        ZeroDelay = "zero_delay",
        /// When the last two delays are below half the reference.
        LowDelay = "low_delay",
    }
}

marqueue_core::params! {
    /// Parameters of PIE.
    pub struct Params {
        /// QDELAY_REF: the queueing delay that PIE controls to.
        delay_ref: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.015, source: "RFC 8033, section 4.2" },
        /// T_UPDATE: how often the probability is computed.
        t_update: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.015, source: "RFC 8033, section 4.2" },
        /// Gain on the deviation from the reference.
        alpha: f64 { unit: PerSecond, range: 0.0 => 1e6, default: 0.125, source: "RFC 8033, appendix A" },
        /// Gain on the change of the delay.
        beta: f64 { unit: PerSecond, range: 0.0 => 1e6, default: 1.25, source: "RFC 8033, appendix A" },
        /// MAX_BURST: for how long a burst passes without signals.
        max_burst: f64 { unit: Seconds, range: 0.0 => 100.0, default: 0.15, source: "RFC 8033, section 4.4" },
        /// From this probability on packets are dropped, also those that could be marked.
        mark_ecnth: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.1, source: "RFC 8033, section 5.1" },
        /// Fraction of the buffer at which PIE becomes active; 0: always active. The RFC's example is 1/3.
        activation: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.0, source: "RFC 8033, section 5.3" },
        /// Whether a packet's probability grows with its size (then it is at most 0.85).
        mode: CountingUnit { default: CountingUnit::Packets, source: "RFC 8033, appendix B; bound: RFC 8034, appendix A.3" },
        /// How the queueing delay is found: by the link's rate, which the simulator knows, by the measured dequeue rate (section 5.2), or by the sojourn time of the last departure (appendix A; default of Linux).
        delay_estimate: DelayEstimate { default: DelayEstimate::LinkRate, source: "RFC 8033, section 4.3" },
        /// When the probability decays by 2 % an update: when the last two delays are zero (section 4.2, appendix A and Linux), or below half the reference (appendix B).
        decay: Decay { default: Decay::ZeroDelay, source: "RFC 8033, section 4.2; appendix B" },
        /// Whether signals are neither too close nor too far apart: none before the accumulated probability is 0.85, one at 8.5.
        derandomization: bool { default: true, source: "RFC 8033, section 5.4" },
        /// Whether the probability of derandomization accumulates while a burst is allowed (appendix B). If not, packets bypass it (section 4.4; RFC 8034, appendix A.3; Linux).
        accumulate_in_burst: bool { default: false, source: "RFC 8033, section 4.4; appendix B" },
        /// Whether one update raises the probability by at most 0.02 when it is 0.1 or more.
        cap_adjustment: bool { default: true, source: "RFC 8033, section 5.5" },
    }
}

/// PROB_LOW: in byte mode the highest probability of a packet; no signal while less is accumulated.
pub(super) const PROB_LOW: f64 = 0.85;
/// PROB_HIGH: a signal when this much is accumulated.
pub(super) const PROB_HIGH: f64 = 8.5;

/// State of PIE.
#[derive(Debug)]
pub struct Pie {
    params: Params,
    timer: PeriodicTimer,
    /// active_.
    active: bool,
    /// drop_prob_.
    p: f64,
    /// accu_prob_: the sum of probabilities since the last signal.
    accumulated: f64,
    /// qdelay_old_: the delay at the last update, s.
    delay: f64,
    /// With timestamps, current_qdelay: the sojourn time of the last departure, s.
    sojourn: f64,
    /// With the dequeue rate, its estimator.
    dequeue_rate: DequeueRate,
    /// burst_allowance_, s.
    burst: f64,
}

/// Section 4.2: the smaller the probability, the smaller its steps.
pub(super) fn tuning(p: f64) -> f64 {
    const TABLE: [(f64, f64); 6] = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    TABLE.iter().find(|(below, _)| p < *below).map_or(1.0, |(_, divisor)| 1.0 / divisor)
}

impl Pie {
    /// Section 4.1: is the queue too short for any signal?
    #[inline]
    fn is_uncongested(&self, cx: &Context<'_>) -> bool {
        (self.delay < self.params.delay_ref / 2.0 && self.p < 0.2) || cx.bytes() <= 2 * cx.env.mean_packet.0
    }

    /// Appendix B, drop_early(): does this packet get a signal? Draws a random number only if the outcome depends on
    /// it.
    #[inline]
    fn draw(&mut self, cx: &mut Context<'_>, packet: &Packet) -> bool {
        let p = match self.params.mode {
            CountingUnit::Packets => self.p,
            bytes => bytes.scale_probability(self.p, packet, cx.env.mean_packet).min(PROB_LOW),
        };
        if !self.params.derandomization {
            return cx.rng.uniform() < p;
        }
        if self.p == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += p;
        if self.accumulated < PROB_LOW || self.accumulated >= PROB_HIGH {
            return self.accumulated >= PROB_HIGH;
        }
        let hit = cx.rng.uniform() < p;
        if hit {
            self.accumulated = 0.0;
        }
        hit
    }

    /// Section 4.3: the queueing delay, s.
    fn measure_delay(&self, cx: &Context<'_>) -> f64 {
        match self.params.delay_estimate {
            DelayEstimate::LinkRate => cx.bytes() as f64 / cx.env.rate.bytes_per_sec(),
            DelayEstimate::DequeueRate => self.dequeue_rate.delay(cx.bytes()),
            DelayEstimate::Timestamps => self.sojourn,
        }
    }

    /// Sections 4.2 and 4.4.
    fn update_probability(&mut self, cx: &Context<'_>) {
        let Params { delay_ref, t_update, alpha, beta, max_burst, .. } = self.params;
        let new = self.measure_delay(cx);
        let old = core::mem::replace(&mut self.delay, new);
        let mut step = tuning(self.p) * (alpha * (new - delay_ref) + beta * (new - old));
        if self.params.cap_adjustment && self.p >= 0.1 {
            step = step.min(0.02);
        }
        self.p += step;
        let low = new < delay_ref / 2.0 && old < delay_ref / 2.0;
        let decays = match self.params.decay {
            Decay::ZeroDelay => new == 0.0 && old == 0.0,
            Decay::LowDelay => low,
        };
        if decays {
            self.p *= 0.98;
        }
        self.p = self.p.clamp(0.0, 1.0);
        self.burst = (self.burst - t_update).max(0.0);
        if self.p == 0.0 && low {
            self.end_congestion(max_burst);
        }
    }

    /// Sections 4.4 and 5.3: congestion has ended.
    fn end_congestion(&mut self, max_burst: f64) {
        if self.params.delay_estimate != DelayEstimate::Timestamps {
            self.burst = max_burst;
        }
        if self.params.activation > 0.0 {
            self.active = false;
            self.dequeue_rate.stop();
        }
    }

    /// Section 4.4 at an arrival, with the delay of the last departure.
    fn refill_burst(&mut self) {
        let half = self.params.delay_ref / 2.0;
        if self.p == 0.0 && self.sojourn < half && self.delay < half {
            self.burst = self.params.max_burst;
        }
    }

    /// Section 5.3 and appendix B: becomes active, as at the start, if this arrival makes the queue long enough.
    fn activate(&mut self, cx: &Context<'_>, packet: &Packet) {
        let admitted = if cx.is_full(packet) { 0 } else { u64::from(packet.bytes()) };
        let queue = (cx.bytes() + admitted) as f64;
        if queue >= self.params.activation * cx.env.limit.bytes(cx.env.mean_packet) {
            self.active = true;
            (self.p, self.accumulated, self.delay, self.burst) = (0.0, 0.0, 0.0, self.params.max_burst);
            self.dequeue_rate.restart(cx.now);
            self.timer = PeriodicTimer::new(cx.now, Dur::from_secs(self.params.t_update));
        }
    }
}

impl Aqm for Pie {
    const NAME: &'static str = "pie";
    const SUMMARY: &'static str = "Signals at random; a self-tuning PI controller holds the queueing delay at a reference";
    const SOURCE: &'static str = "Pan, Natarajan, Baker and White, RFC 8033, 2017";
    const PROBES: &'static [(&'static str, &'static str)] = &[("p", "fraction"), ("delay", "s"), ("burst_allowance", "s")];
    type Params = Params;

    fn new(params: &Params, _: &Env, _: &Rng, now: Time) -> Result<Self, ParamError> {
        Ok(Pie {
            timer: PeriodicTimer::new(now, Dur::from_secs(params.t_update)),
            active: params.activation == 0.0,
            p: 0.0,
            accumulated: 0.0,
            delay: 0.0,
            sojourn: 0.0,
            dequeue_rate: DequeueRate::default(),
            burst: params.max_burst,
            params: params.clone(),
        })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        self.timer.resume(cx.now);
        if !self.active {
            self.activate(cx, packet);
            return Verdict::Pass;
        }
        if self.params.delay_estimate == DelayEstimate::Timestamps {
            self.refill_burst();
        }
        if cx.is_full(packet) {
            self.accumulated = 0.0;
            return Verdict::Pass;
        }
        let bypass = self.burst > 0.0 && !self.params.accumulate_in_burst;
        if bypass || self.is_uncongested(cx) || !self.draw(cx, packet) || self.burst > 0.0 {
            return Verdict::Pass;
        }
        self.accumulated = 0.0;
        if self.p < self.params.mark_ecnth {
            Verdict::Mark(Reason::Early)
        } else {
            Verdict::Drop(Reason::Early)
        }
    }

    #[inline]
    fn on_departure(&mut self, cx: &mut Context<'_>, packet: &Packet, sojourn: Dur) -> Verdict {
        match self.params.delay_estimate {
            DelayEstimate::LinkRate => {}
            DelayEstimate::DequeueRate => self.dequeue_rate.on_departure(cx.now, packet.bytes(), cx.bytes()),
            DelayEstimate::Timestamps => self.sojourn = if cx.packets() == 0 { 0.0 } else { sojourn.secs() },
        }
        Verdict::Pass
    }

    fn next_timer(&self) -> Time {
        self.timer.due()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let before = (self.p, self.delay, self.burst);
        if self.active {
            self.update_probability(cx);
        }
        self.timer.tick(cx.packets() == 0 && before == (self.p, self.delay, self.burst));
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        out.extend([self.p, self.delay, self.burst]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Accounting};
    use crate::policy::{Limit, Signal};
    use marqueue_core::params::ParamSet;
    use marqueue_core::{Bytes, ParamValues, Rate};

    fn env() -> Env {
        Env {
            rate: Rate(8_000_000),
            mean_packet: Bytes(1000),
            limit: Limit::Packets(100),
            delay: Dur::ZERO,
            signal: Signal::Ecn,
            densities: None,
        }
    }

    fn pie(env: &Env, rng: &Rng) -> Pie {
        Pie::new(&Params::from_values(&ParamValues::new()).unwrap(), env, rng, Time::ZERO).unwrap()
    }

    #[test]
    fn steps_are_tuned_by_the_table_of_section_4_2() {
        for (p, divisor) in [
            (0.0, 2048.0),
            (0.000_001, 512.0),
            (0.000_01, 128.0),
            (0.000_1, 32.0),
            (0.001, 8.0),
            (0.01, 2.0),
            (0.099_999, 2.0),
            (0.1, 1.0),
            (1.0, 1.0),
        ] {
            assert_eq!(tuning(p), 1.0 / divisor, "p = {p}");
        }
    }

    /// Fifteen packets of 1000 bytes.
    fn fifteen() -> (Buffer, Accounting) {
        let mut queue = Buffer::default();
        (0..15).for_each(|seq| queue.push(Time::ZERO, Packet::data(0, seq, 1000)));
        (queue, Accounting::default())
    }

    #[test]
    fn marks_are_neither_clustered_nor_far_apart() {
        let (env, mut rng) = (env(), Rng::named(1, "pie"));
        let (mut queue, mut accounting) = fifteen();
        let mut pie = pie(&env, &rng);
        (pie.p, pie.delay, pie.burst) = (0.05, 0.015, 0.0);
        let mut gaps = vec![0u32];
        for _ in 0..200_000 {
            let mut cx = Context { now: Time::ZERO, env: &env, rng: &mut rng, queue: &mut queue, other_bytes: 0, accounting: &mut accounting };
            *gaps.last_mut().unwrap() += 1;
            match pie.on_arrival(&mut cx, &Packet::data(0, 0, 1000)) {
                Verdict::Mark(Reason::Early) => gaps.push(0),
                verdict => assert_eq!(verdict, Verdict::Pass),
            }
        }
        // Section 5.4: not before 0.85/p = 17 packets, at once after 8.5/p = 170; in between by chance p, so
        // 16 + 1/p = 36 on average (the cut at 170 takes less than 0.01 from it).
        gaps.pop();
        assert_eq!(gaps.iter().min(), Some(&17));
        assert!(gaps.iter().all(|g| *g <= 171), "170 times 0.05 may round to less than 8.5");
        let mean = gaps.iter().map(|g| f64::from(*g)).sum::<f64>() / gaps.len() as f64;
        let deviation = 20.0 / (gaps.len() as f64).sqrt();
        assert!((mean - 36.0).abs() < 5.0 * deviation, "{mean}");
    }

    #[test]
    fn signals_are_losses_from_mark_ecnth_on() {
        let verdict = |p| {
            let (env, mut rng) = (env(), Rng::named(1, "pie"));
            let (mut queue, mut accounting) = fifteen();
            let mut pie = pie(&env, &rng);
            (pie.p, pie.delay, pie.burst, pie.accumulated) = (p, 0.015, 0.0, 8.5);
            let mut cx = Context { now: Time::ZERO, env: &env, rng: &mut rng, queue: &mut queue, other_bytes: 0, accounting: &mut accounting };
            pie.on_arrival(&mut cx, &Packet::data(0, 0, 1000))
        };
        assert_eq!(verdict(0.0999), Verdict::Mark(Reason::Early));
        assert_eq!(verdict(0.1), Verdict::Drop(Reason::Early));
    }
}
