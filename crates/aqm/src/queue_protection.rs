//! Queue protection: which packets of a low-latency queue belong to the flows that build it.
//!
//! Briscoe and White, RFC 9957, 2026, section 4.2: qprotect(), pick_bucket() and fill_bucket(), which explains annex P of
//! DOCSIS 3.1's MULPI specification. docs/standards/rfc9957.md has its clauses.
//!
//! Each packet adds p s / AGING to its flow's queuing score, where p is the native marking probability at its arrival and
//! s its size. A score is a time: it ages by a second each second, and so the congested bytes of a flow by AGING a second.
//! A packet is sanctioned if delay > CRITICALqL and delay x score > CRITICALqL x CRITICALqLSCORE, or if the score is at its
//! largest, 5 s.
//!
//! Scores are held in 32 buckets. A flow takes one of two buckets that its hash names, if one is its own or has expired;
//! otherwise it shares the last one, of all flows without a bucket. A bucket holds no score but the time t_exp at which
//! its score will have expired, so ageing costs nothing.
//!
//! Input: arrivals at the low-latency queue with its delay and its native probability. Output: whether a packet is
//! sanctioned; what then happens to it is decided by the caller.
//! Departures: a hash has a salt, so that flows collide differently from run to run. Bytes are those of the packet here,
//! without Ethernet's and DOCSIS's framing.
//! Defaults: DOCSIS 3.1 MULPI, annex C, as `cablelabs/docsis-ns3` has them.

use crate::flow_hash::FlowHash;
use alloc::boxed::Box;
use marqueue_core::params::{whole, ParamError};
use marqueue_core::{Dur, Rng, Time};

/// BI_SIZE: bits of a bucket's number.
const BUCKET_BITS: u32 = 5;
/// NBUCKETS, which is also the number of the bucket that flows without a bucket share.
const BUCKETS: usize = 1 << BUCKET_BITS;
/// ATTEMPTS: how many buckets a flow may own.
const ATTEMPTS: u32 = 2;
/// qLSCORE_MAX: no score is above 5 s, and a packet that reaches it is sanctioned at any delay.
const MAX_SCORE: u64 = 5_000_000_000;

marqueue_core::params! {
    /// Parameters of queue protection.
    pub struct Params {
        /// CRITICALqL: no packet is sanctioned at a lower delay of the low-latency queue.
        critical_delay: Option<f64> { unit: Seconds, range: 0.0 => 0.065535, default: None, auto: "MAXTH", source: "DOCSIS 3.1 MULPI, C.2.2.7.17.8 (QPLatencyThreshold)" },
        /// CRITICALqLSCORE: the score of a flow that is sanctioned at a delay of CRITICALqL.
        critical_score: f64 { unit: Seconds, range: 0.0 => 0.065535, default: 0.004, source: "DOCSIS 3.1 MULPI, C.2.2.7.17.9 (QPQueuingScoreThreshold): 4000 us" },
        /// LG_AGING: scores age by 2 to this power bytes a second, a second taken as 2^30 ns.
        lg_aging: f64 { unit: One, range: 1.0 => 30.0, default: 19.0, source: "DOCSIS 3.1 MULPI, C.2.2.7.17.10 (QPDrainRateExponent)" },
    }
}

/// The leaky bucket of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// The flow that it was last used by.
    flow: Option<u32>,
    /// t_exp: when its score is 0.
    expiry: Time,
}

/// What queue protection says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The queuing score of its bucket, with this packet.
    pub score: Dur,
    /// Is it sanctioned?
    pub sanctioned: bool,
}

/// The buckets.
#[derive(Debug)]
pub struct QueueProtection {
    /// On the heap: it would make every discipline as large.
    buckets: Box<[Bucket; BUCKETS + 1]>,
    hash: FlowHash,
    critical_delay: Option<Dur>,
    critical_score: Dur,
    /// 1/AGING, ns a byte.
    per_byte: f64,
}

impl QueueProtection {
    /// Empty buckets. The salt of the hash is drawn from `rng`.
    ///
    /// # Errors
    /// If LG_AGING is not whole.
    pub fn new(p: &Params, rng: &mut Rng) -> Result<QueueProtection, ParamError> {
        let lg_aging = whole("lg_aging", p.lg_aging)?;
        Ok(QueueProtection {
            buckets: Box::new([Bucket::default(); BUCKETS + 1]),
            hash: FlowHash::new(BUCKETS as u32, rng),
            critical_delay: p.critical_delay.map(Dur::from_secs),
            critical_score: Dur::from_secs(p.critical_score),
            per_byte: f64::from(1_u32 << (30 - lg_aging)),
        })
    }

    /// qprotect(): judges a packet that arrives at `now`, when the queue including it has a delay of `delay` and a native
    /// probability of `native`. `max_th` stands for CRITICALqL where that is not given.
    #[inline]
    pub fn judge(&mut self, now: Time, flow: u32, bytes: u32, delay: Dur, native: f64, max_th: Dur) -> Judgement {
        let bucket = self.pick(now, flow);
        let score = self.fill(bucket, now, bytes, native);
        let critical = self.critical_delay.unwrap_or(max_th);
        let product = |delay: Dur, score: Dur| u128::from(delay.0) * u128::from(score.0);
        let beyond = delay > critical && product(delay, score) > product(critical, self.critical_score);
        Judgement { score, sanctioned: beyond || score.0 >= MAX_SCORE }
    }

    /// pick_bucket(): the flow's bucket. If its score has expired, it begins anew.
    fn pick(&mut self, now: Time, flow: u32) -> usize {
        let bits = self.hash.bits(flow);
        let candidates = (0..ATTEMPTS).map(|j| (bits >> (j * BUCKET_BITS)) as usize % BUCKETS);
        let mut chosen = BUCKETS;
        for candidate in candidates {
            let bucket = &self.buckets[candidate];
            if bucket.flow == Some(flow) {
                chosen = candidate;
                break;
            }
            if chosen == BUCKETS && bucket.expiry <= now {
                chosen = candidate;
            }
        }
        let bucket = &mut self.buckets[chosen];
        bucket.expiry = bucket.expiry.max(now);
        bucket.flow = Some(flow);
        chosen
    }

    /// fill_bucket(): adds a packet's score; returns the sum.
    fn fill(&mut self, bucket: usize, now: Time, bytes: u32, native: f64) -> Dur {
        let Time(expiry) = self.buckets[bucket].expiry;
        let score = (expiry - now.0 + (native * f64::from(bytes) * self.per_byte) as u64).min(MAX_SCORE);
        self.buckets[bucket].expiry = now + Dur(score);
        Dur(score)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marqueue_core::params::ParamSet;
    use marqueue_core::{ParamValues, Value};

    const MAX_TH: Dur = Dur(1_000_000);

    fn protection(given: &[(&str, f64)]) -> Result<QueueProtection, ParamError> {
        let values: ParamValues = given.iter().map(|(k, v)| (k.to_string(), Value::Number(*v))).collect();
        QueueProtection::new(&Params::from_values(&values).unwrap(), &mut Rng::named(1, "salt"))
    }

    #[test]
    fn a_byte_at_probability_one_scores_2048_ns() {
        // AGING = 2^(19 - 30) B/ns: 1000 B take 2.048 ms, which is 488 kB/s or 3.9 Mbit/s.
        let mut buckets = protection(&[]).unwrap();
        let mut score = |now, p| buckets.judge(Time(now), 7, 1000, Dur(0), p, MAX_TH).score;
        assert_eq!([score(0, 1.0), score(0, 0.5)], [Dur(2_048_000), Dur(3_072_000)]);
        // It ages by a second a second, not below 0.
        assert_eq!([score(1_000_000, 0.0), score(9_000_000, 0.25)], [Dur(2_072_000), Dur(512_000)]);
    }

    #[test]
    fn a_flow_is_sanctioned_by_delay_times_score() {
        // 1 ms x 4 ms is critical. With 4096 us, 976.6 us would do, but no delay of 1 ms or less is critical.
        let sanctioned = |delay, packets: u32| {
            let mut buckets = protection(&[]).unwrap();
            let judged = (0..packets).map(|_| buckets.judge(Time(0), 7, 1000, Dur(delay), 1.0, MAX_TH));
            judged.last().is_some_and(|judgement| judgement.sanctioned)
        };
        assert_eq!(
            [(1_000_000, 9), (1_000_001, 2), (1_953_125, 1), (1_953_126, 1)].map(|(d, n)| sanctioned(d, n)),
            [false, true, false, true]
        );
    }

    #[test]
    fn no_score_is_above_five_seconds() {
        let mut buckets = protection(&[("lg_aging", 1.0)]).unwrap();
        let judged = buckets.judge(Time(3), 7, 1500, Dur(0), 1.0, MAX_TH);
        assert_eq!(judged, Judgement { score: Dur(5_000_000_000), sanctioned: true }, "at any delay");
        let refused = protection(&[("lg_aging", 18.5)]).unwrap_err().to_string();
        assert_eq!(refused, "lg_aging: got 18.5, expected a whole number up to 4294967295");
    }
}
