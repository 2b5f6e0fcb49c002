//! PIE: proportional integral controller enhanced.
//!
//! RFC 8033: sections 4.1 (random dropping), 4.2 (the probability and its auto-tuning), 4.3 (latency),
//! 4.4 (burst tolerance), 5.1 (ECN), 5.4 (de-randomization), 5.5 (cap drop adjustment).
//!
//! Every t_update: p <- p + k(p) (alpha (delay - ref) + beta (delay - old delay)), k from 1/2048 at tiny p to
//! 1 at p >= 0.1, at most 0.02 a step when p >= 0.1; p <- 0.98 p when both delays are zero; p in [0, 1].
//!
//! Sees: the queue at regular times, arrivals. Decides: mark or, once p >= mark_ecnth, drop; at arrival,
//! at random. No packet is signalled while a burst is allowed, while the delay was below half the
//! reference and p < 0.2, or while at most two packets' bytes wait.
//!
//! The latency is the queue over the link's rate (Little's law, section 4.3): the rate is known here, so
//! neither timestamps nor the estimate of section 5.2 are needed.
//! Section 5.3, which is optional: PIE is switched on by a queue longer than a share of the buffer, and
//! switched off by calm: p = 0 and two delays in a row below half the reference. Off, it signals nothing
//! and computes nothing. By default it is always on (as in Linux), `activation` sets the share. (FreeBSD's
//! PIE, with the same switch, also waits for an empty queue before it is switched off.)
//! Defaults: RFC 8033, sections 4 and 5.

use crate::counting_unit::CountingUnit;
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use crate::periodic_timer::PeriodicTimer;
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Packet, Rng, Time};

marqueue_core::params! {
    /// Parameters of PIE.
    pub struct Params {
        /// QDELAY_REF: the delay to settle at.
        delay_ref: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.015, source: "RFC 8033, section 4.2" },
        /// T_UPDATE: how often the probability is computed.
        t_update: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.015, source: "RFC 8033, section 4.2" },
        /// Gain on the deviation from the reference.
        alpha: f64 { unit: PerSecond, range: 0.0 => 1e6, default: 0.125, source: "RFC 8033, section 4.2" },
        /// Gain on the change of the delay.
        beta: f64 { unit: PerSecond, range: 0.0 => 1e6, default: 1.25, source: "RFC 8033, section 4.2" },
        /// MAX_BURST: how long a burst passes untouched.
        max_burst: f64 { unit: Seconds, range: 0.0 => 100.0, default: 0.15, source: "RFC 8033, section 4.4" },
        /// From this probability on a signal is a loss, even to a packet that could be marked.
        mark_ecnth: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.1, source: "RFC 8033, section 5.1" },
        /// The share of the buffer beyond which it is switched on; 0 if it is always on, 1/3 in the RFC's example.
        activation: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.0, source: "RFC 8033, section 5.3" },
        /// Whether a packet's chance grows with its size.
        mode: CountingUnit { default: CountingUnit::Packets, source: "RFC 8033, section 4.1" },
    }
}

/// State of PIE.
#[derive(Debug)]
pub struct Pie {
    params: Params,
    timer: PeriodicTimer,
    /// active_.
    active: bool,
    /// drop_prob_.
    p: f64,
    /// accu_prob_: what the packets since the last signal have drawn.
    accumulated: f64,
    /// qdelay_old_, s.
    delay: f64,
    /// burst_allowance_, s.
    burst: f64,
}

/// Section 4.2: the smaller the probability, the smaller its steps.
fn tuning(p: f64) -> f64 {
    const TABLE: [(f64, f64); 6] = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    TABLE.iter().find(|(below, _)| p < *below).map_or(1.0, |(_, divisor)| 1.0 / divisor)
}

impl Pie {
    /// Sections 4.1 and 4.4: is this no time for any signal?
    #[inline]
    fn suppresses_signals(&self, cx: &Context<'_>) -> bool {
        self.burst > 0.0
            || (self.delay < self.params.delay_ref / 2.0 && self.p < 0.2)
            || cx.bytes() <= 2 * cx.env.mean_packet.0
    }

    /// Section 5.4: signals come neither in clusters nor in long gaps.
    #[inline]
    fn draw(&mut self, cx: &mut Context<'_>, packet: &Packet) -> bool {
        if self.p == 0.0 {
            self.accumulated = 0.0;
        }
        let p = self.params.mode.scale_probability(self.p, packet, cx.env.mean_packet);
        self.accumulated += p;
        let hit = self.accumulated >= 8.5 || (self.accumulated >= 0.85 && cx.rng.uniform() < p);
        if hit {
            self.accumulated = 0.0;
        }
        hit
    }

    /// Sections 4.2 and 4.4.
    fn update_probability(&mut self, cx: &Context<'_>) {
        let Params { delay_ref, t_update, alpha, beta, max_burst, activation, .. } = self.params;
        let old = std::mem::replace(&mut self.delay, cx.bytes() as f64 / cx.env.rate.bytes_per_sec());
        let mut step = tuning(self.p) * (alpha * (self.delay - delay_ref) + beta * (self.delay - old));
        if self.p >= 0.1 {
            step = step.min(0.02);
        }
        self.p += step;
        if self.delay == 0.0 && old == 0.0 {
            self.p *= 0.98;
        }
        self.p = self.p.clamp(0.0, 1.0);
        let calm = self.p == 0.0 && self.delay < delay_ref / 2.0 && old < delay_ref / 2.0;
        self.burst = if calm { max_burst } else { (self.burst - t_update).max(0.0) };
        self.active = activation == 0.0 || !calm;
    }

    /// Section 5.3: an arrival may make the queue long enough to switch PIE on, as it began.
    fn activate(&mut self, cx: &Context<'_>, packet: &Packet) {
        let queue = (cx.bytes() + u64::from(packet.bytes())) as f64;
        if queue > self.params.activation * cx.env.limit.bytes(cx.env.mean_packet) {
            self.active = true;
            (self.p, self.accumulated, self.delay, self.burst) = (0.0, 0.0, 0.0, self.params.max_burst);
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
        if cx.is_full(packet) {
            self.accumulated = 0.0;
            return Verdict::Pass;
        }
        if self.suppresses_signals(cx) || !self.draw(cx, packet) {
            return Verdict::Pass;
        }
        if self.p < self.params.mark_ecnth {
            Verdict::Mark(Reason::Early)
        } else {
            Verdict::Drop(Reason::Early)
        }
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
            let mut cx = Context { now: Time::ZERO, env: &env, rng: &mut rng, queue: &mut queue, accounting: &mut accounting };
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
            let mut cx = Context { now: Time::ZERO, env: &env, rng: &mut rng, queue: &mut queue, accounting: &mut accounting };
            pie.on_arrival(&mut cx, &Packet::data(0, 0, 1000))
        };
        assert_eq!(verdict(0.0999), Verdict::Mark(Reason::Early));
        assert_eq!(verdict(0.1), Verdict::Drop(Reason::Early));
    }
}
