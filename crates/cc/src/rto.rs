//! The retransmission timeout: RFC 6298, and ns-2's arithmetic in whole clock ticks.

use crate::config::{Config, Dialect, LostSynRto};
use marqueue_core::{Dur, Time};

/// RFC 6298, section 5, (5.7): the timeout of data after a SYN that timed out.
const AFTER_LOST_SYN: Dur = Dur(3_000_000_000);

/// Round-trip estimate and back-off.
#[derive(Clone, Debug)]
pub enum Rto {
    /// RFC 6298.
    Rfc(Rfc6298Estimator),
    /// ns-2.35.
    Ns2(Ns2Estimator),
}

/// RFC 6298: SRTT, RTTVAR and RTO in seconds.
#[derive(Clone, Debug, Default)]
pub struct Rfc6298Estimator {
    /// SRTT and RTTVAR, once `is_measured`.
    srtt: f64,
    rttvar: f64,
    /// The latest measurement; zero before the first.
    latest: Dur,
    is_measured: bool,
    /// Until the next measurement the timeout before back-off is that after a handshake whose SYN timed out.
    is_reset: bool,
    /// Number of times that the timeout has been doubled.
    doublings: u8,
}

/// ns-2's integer arithmetic: srtt is kept in eighths and rttvar in quarters of a tick, and a
/// measurement counts the ticks of a clock whose phase is random.
#[derive(Clone, Debug)]
pub struct Ns2Estimator {
    // 64 bits, ns-2's int has 32: a tick may be as short as a nanosecond here.
    /// Zero before the first measurement.
    srtt8: i64,
    rttvar4: i64,
    /// The latest measurement; zero before the first.
    latest: Dur,
    /// Phase of the clock within one tick, which is a second at most: ns.
    phase: u32,
    /// The timeout is this power of two times that of the estimate.
    doublings: u8,
    /// The next measurement is as the first.
    is_forgotten: bool,
}

impl Rto {
    /// An estimator without a measurement. `phase`, uniform on [0, 1), is the phase of the host's clock within a tick.
    pub fn new(config: &Config, phase: f64) -> Rto {
        match config.dialect {
            Dialect::Rfc => Rto::Rfc(Rfc6298Estimator::default()),
            Dialect::Ns2 => {
                let phase = Dur::from_secs(phase * config.granularity.secs()).0 as u32;
                Rto::Ns2(Ns2Estimator {
                    srtt8: 0,
                    rttvar4: 0,
                    latest: Dur::ZERO,
                    phase,
                    doublings: 0,
                    is_forgotten: false,
                })
            }
        }
    }

    /// A segment sent at `sent` was acknowledged at `now`.
    pub fn sample(&mut self, config: &Config, sent: Time, now: Time) {
        match self {
            Rto::Rfc(r) => {
                r.latest = now - sent;
                r.sample((now - sent).secs(), 1.0);
            }
            Rto::Ns2(t) => {
                t.latest = now - sent;
                t.sample(config, sent, now);
            }
        }
    }

    /// The same for one of about `samples` measurements in a round trip.
    pub fn sample_often(&mut self, config: &Config, sent: Time, now: Time, samples: u32) {
        match self {
            Rto::Rfc(r) => {
                r.latest = now - sent;
                r.sample((now - sent).secs(), f64::from(samples));
            }
            Rto::Ns2(t) => {
                t.latest = now - sent;
                t.sample(config, sent, now);
            }
        }
    }

    /// The latest measurement, before any clock's ticks are counted; `None` before the first.
    pub fn latest(&self) -> Option<Dur> {
        let latest = match self {
            Rto::Rfc(r) => r.latest,
            Rto::Ns2(t) => t.latest,
        };
        (latest > Dur::ZERO).then_some(latest)
    }

    /// The timeout in force.
    pub fn timeout(&self, config: &Config) -> Dur {
        match self {
            Rto::Rfc(r) => r.timeout(config),
            Rto::Ns2(t) => t.timeout(config),
        }
    }

    /// The smoothed round-trip time in seconds; 0 before the first measurement.
    pub fn srtt(&self, config: &Config) -> f64 {
        match self {
            Rto::Rfc(r) => r.srtt,
            Rto::Ns2(t) if t.is_forgotten => 0.0,
            Rto::Ns2(t) => t.srtt8 as f64 / 8.0 * config.granularity.secs(),
        }
    }

    /// The timer expired: double the timeout.
    pub fn back_off(&mut self, config: &Config) {
        match self {
            // RFC 6298, section 5, (5.5); doubling past max_rto has no effect.
            Rto::Rfc(r) => r.doublings = (r.doublings + 1).min(32),
            Rto::Ns2(t) => t.back_off(config),
        }
    }

    /// The handshake is complete, and its SYN had timed out: RFC 6298, section 5, (5.7). Without effect if the initial
    /// timeout is not below 3 s.
    pub fn reset_after_lost_syn(&mut self, config: &Config) {
        if let Rto::Rfc(r) = self {
            let wanted = config.lost_syn_rto == LostSynRto::Always || !r.is_measured;
            if wanted && config.initial_rto < AFTER_LOST_SYN {
                r.is_reset = true;
                r.doublings = 0;
            }
        }
    }

    /// A segment that was not retransmitted was acknowledged: the back-off ends (Karn).
    pub fn end_back_off(&mut self) {
        match self {
            Rto::Rfc(r) => r.doublings = 0,
            Rto::Ns2(t) => t.doublings = 0,
        }
    }
}

impl Rfc6298Estimator {
    /// (2.2) and (2.3): RTTVAR <- 3/4 RTTVAR + 1/4 |SRTT - R'|, SRTT <- 7/8 SRTT + 1/8 R'. RFC 7323,
    /// appendix G: of several samples in a round trip each counts the less, so that the estimate
    /// remembers as many round trips as with one.
    fn sample(&mut self, r: f64, samples: f64) {
        self.is_reset = false;
        let (alpha, beta, srtt) = (0.125 / samples, 0.25 / samples, self.srtt);
        (self.srtt, self.rttvar) = if self.is_measured {
            ((1.0 - alpha) * srtt + alpha * r, (1.0 - beta) * self.rttvar + beta * (srtt - r).abs())
        } else {
            (r, r / 2.0)
        };
        self.is_measured = true;
    }

    /// (2.1), (2.3), (2.4), (2.5), (5.5), (5.7).
    fn timeout(&self, config: &Config) -> Dur {
        let base = if self.is_reset {
            AFTER_LOST_SYN
        } else if self.is_measured {
            (Dur::from_secs(self.srtt) + Dur::from_secs(4.0 * self.rttvar).max(config.granularity)).max(config.min_rto)
        } else {
            config.initial_rto
        };
        Dur(base.0.saturating_mul(1 << self.doublings)).min(config.max_rto)
    }
}

/// The longest round-trip time in ticks: two years of the shortest.
const LONGEST: u64 = 1 << 56;

impl Ns2Estimator {
    fn sample(&mut self, config: &Config, sent: Time, now: Time) {
        let tick = config.granularity.0;
        let offset = (sent.0 + u64::from(self.phase)) % tick;
        let rtt = (((now - sent).0 + offset) / tick).clamp(1, LONGEST) as i64;
        if self.srtt8 == 0 || self.is_forgotten {
            self.is_forgotten = false;
            self.srtt8 = rtt << 3;
            self.rttvar4 = rtt << 1;
        } else {
            let delta = rtt - (self.srtt8 >> 3);
            self.srtt8 = (self.srtt8 + delta).max(1);
            self.rttvar4 = (self.rttvar4 + delta.abs() - (self.rttvar4 >> 2)).max(1);
        }
    }

    /// srtt + 4 rttvar in whole ticks; zero before the first measurement. A forgotten estimate still counts here.
    fn ticks(&self) -> u64 {
        (((self.rttvar4 << 3) + self.srtt8) >> 3) as u64
    }

    /// The smallest timeout is applied before the back-off, and two ticks is the least of all.
    fn timeout(&self, config: &Config) -> Dur {
        let tick = config.granularity.0;
        let base = match self.ticks() {
            0 => config.initial_rto.0,
            n => n.saturating_mul(tick),
        };
        let base = base.max(config.min_rto.0);
        Dur(base.saturating_mul(1 << self.doublings).min(config.max_rto.0).max(2 * tick))
    }

    /// Backed off far, ns-2 forgets the average: the next measurement is as the first.
    fn back_off(&mut self, config: &Config) {
        if self.doublings < 6 || self.timeout(config) < config.max_rto {
            self.doublings = (self.doublings + 1).min(32);
        }
        if self.doublings > 3 {
            self.is_forgotten = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marqueue_core::params::ParamValues;

    fn config(preset: &str) -> Config {
        Config::with_preset(preset, &ParamValues::new()).unwrap()
    }

    fn at(s: f64) -> Time {
        Time::ZERO + Dur::from_secs(s)
    }

    #[test]
    fn rfc_6298_by_hand() {
        let c = Config { min_rto: Dur::ZERO, ..config("rfc") };
        let mut r = Rto::new(&c, 0.0);
        assert_eq!(r.timeout(&c), Dur::from_secs(1.0));
        r.sample(&c, at(0.0), at(0.1)); // SRTT 0.1, RTTVAR 0.05
        assert_eq!(r.timeout(&c), Dur::from_secs(0.3));
        r.sample(&c, at(1.0), at(1.2)); // RTTVAR 0.75*0.05 + 0.25*0.1 = 0.0625, SRTT 0.1125
        assert_eq!(r.timeout(&c), Dur::from_secs(0.1125 + 0.25));
        r.back_off(&c);
        r.back_off(&c);
        assert_eq!(r.timeout(&c), Dur::from_secs(4.0 * 0.3625));
        r.end_back_off();
        assert_eq!(r.timeout(&c), Dur::from_secs(0.3625));
    }

    #[test]
    fn rfc_6298_bounds() {
        let c = config("rfc");
        let mut r = Rto::new(&c, 0.0);
        r.sample(&c, at(0.0), at(0.001));
        assert_eq!(r.timeout(&c), Dur::from_secs(1.0), "2.4: at least the minimum");
        for _ in 0..10 {
            r.back_off(&c);
        }
        assert_eq!(r.timeout(&c), Dur::from_secs(60.0), "2.5: at most the maximum");
    }

    #[test]
    fn ticks_by_hand() {
        let c = config("ns2"); // tick 10 ms, minimum 0.2 s
        let mut r = Rto::new(&c, 0.0);
        assert_eq!(r.timeout(&c), Dur::from_secs(3.0));
        r.sample(&c, at(0.0), at(0.105)); // 10 ticks: srtt 80/8, rttvar 20/4 -> 10 + 4*5 = 30 ticks
        assert_eq!(r.timeout(&c), Dur::from_secs(0.3));
        r.sample(&c, at(1.003), at(1.148)); // 14 ticks: delta 4, srtt 84/8, rttvar 20+4-5 = 19 -> (152+84)/8 = 29
        assert_eq!(r.timeout(&c), Dur::from_secs(0.29));
        r.back_off(&c);
        assert_eq!(r.timeout(&c), Dur::from_secs(0.58));
    }

    #[test]
    fn ticks_of_a_nanosecond() {
        let c = Config { granularity: Dur(1), ..config("ns2") };
        let mut r = Rto::new(&c, 0.0);
        r.sample(&c, at(0.0), at(1.0));
        assert_eq!(r.timeout(&c), at(3.0) - Time::ZERO, "srtt 1 s, rttvar 0.5 s");
        r.sample(&c, at(1.0), at(1001.0));
        assert_eq!(r.timeout(&c), c.max_rto);
    }
}
