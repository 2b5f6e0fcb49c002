//! SFB: stochastic fair BLUE.
//!
//! Feng, Kandlur, Saha and Shin, "Stochastic Fair Blue: A Queue Management Algorithm for Enforcing Fairness", IEEE INFOCOM
//! 2001, sections III and IV; Linux's sch_sfb.
//!
//! A flow is hashed to one of 16 bins at each of `levels` levels. Each bin counts its queued packets and has BLUE's
//! probability: + d1 when an arrival finds at least `bin_size` packets in it, - d2 when it finds none. A packet is
//! signalled with the smallest probability of its bins, p_min. A flow that does not respond brings all its bins to 1;
//! other flows share only some of them.
//!
//! Input: flows, arrivals, departures. Output: at arrival a mark at random; a drop of reason `early` above p_min = 1/2, the
//! more the closer to 1; drops of reason `forced` when all bins hold `max`, or when p_min = 1 and the penalty rate of all
//! such flows together is used up.
//! Hashes change every `rehash_interval`, so that a flow does not share its bins with a flood for ever. For the last
//! `warmup` of it flows at p_min = 1 are also counted in the next bins (moving hash functions, section IV).
//! Departures, as in Linux: the rate limit is of packets, and what p_min above 1/2 drops is ECN-capable too.
//! Defaults: Linux's sch_sfb.

use alloc::{string::String, vec::Vec};
use crate::flow_hash::FlowHash;
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use marqueue_core::params::{whole, ParamError};
use marqueue_core::{math, Dur, Packet, Rng, Time};
use alloc::collections::VecDeque;

marqueue_core::params! {
    /// Parameters of SFB.
    pub struct Params {
        /// Number of levels, each with 16 bins.
        levels: f64 { unit: One, range: 1.0 => 16.0, default: 8.0, source: "Linux sch_sfb" },
        /// Length of a bin from which its probability grows.
        bin_size: f64 { unit: Packets, range: 1.0 => 1e9, default: 20.0, source: "Linux sch_sfb target" },
        /// Length of all bins of a flow from which its packets are dropped.
        max: f64 { unit: Packets, range: 1.0 => 1e9, default: 25.0, source: "Linux sch_sfb max" },
        /// Step up of a bin's probability.
        d1: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.001, source: "Linux sch_sfb increment" },
        /// Step down of a bin's probability.
        d2: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.000_166_666_666_666_666_67, source: "Linux sch_sfb decrement: 1/6000" },
        /// Packets a second that flows at p_min = 1 may send together.
        penalty_rate: f64 { unit: PerSecond, range: 0.0 => 1e9, default: 10.0, source: "Linux sch_sfb penalty_rate" },
        /// Packets that they may send at once.
        penalty_burst: f64 { unit: Packets, range: 0.0 => 1e9, default: 20.0, source: "Linux sch_sfb penalty_burst" },
        /// How often hashes change; 0: never.
        rehash_interval: f64 { unit: Seconds, range: 0.0 => 1e6, default: 600.0, source: "Linux sch_sfb rehash" },
        /// How long before a change the next bins are counted too.
        warmup: f64 { unit: Seconds, range: 0.0 => 1e6, default: 60.0, source: "Linux sch_sfb db" },
    }
}

/// Bins of a level: four bits of a flow's hash.
const BINS: usize = 16;

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    packets: u32,
    p: f64,
}

/// One set of hash function and bins.
#[derive(Debug)]
struct Filter {
    hash: FlowHash,
    bins: Vec<[Bin; BINS]>,
}

impl Filter {
    fn new(levels: u32, rng: &mut Rng) -> Filter {
        Filter { hash: FlowHash::new(1, rng), bins: vec![[Bin::default(); BINS]; levels as usize] }
    }

    /// The bins of a hash, one a level.
    fn of(&mut self, hash: u64) -> impl Iterator<Item = &mut Bin> {
        self.bins.iter_mut().enumerate().map(move |(level, bins)| &mut bins[(hash >> (4 * level)) as usize % BINS])
    }

    /// BLUE of each bin of an arrival. Returns the shortest length and the smallest probability.
    fn adapt(&mut self, hash: u64, p: &Params) -> (u32, f64) {
        let (mut shortest, mut smallest) = (u32::MAX, 1.0f64);
        for bin in self.of(hash) {
            if bin.packets == 0 {
                bin.p = (bin.p - p.d2).max(0.0);
            } else if f64::from(bin.packets) >= p.bin_size {
                bin.p = (bin.p + p.d1).min(1.0);
            }
            shortest = shortest.min(bin.packets);
            smallest = smallest.min(bin.p);
        }
        (shortest, smallest)
    }
}

/// State of SFB.
#[derive(Debug)]
pub struct Sfb {
    params: Params,
    filters: [Filter; 2],
    /// Index of the filter that decides.
    current: usize,
    /// When it became so.
    since: Time,
    /// Of each queued packet, its hash in the filters that count it.
    queued: VecDeque<[Option<u64>; 2]>,
    /// Packets that flows at p_min = 1 may send now.
    tokens: f64,
    /// When they were granted.
    granted: Time,
}

impl Sfb {
    /// Swaps the filters if it is time. Returns whether the next one is counted too.
    fn move_hashes(&mut self, now: Time, rng: &mut Rng) -> bool {
        let Params { rehash_interval, warmup, levels, .. } = self.params;
        if rehash_interval == 0.0 {
            return false;
        }
        let age = now.since(self.since);
        if age > Dur::from_secs(rehash_interval) {
            // Packets of the old filter are still queued: it is replaced, and they are not counted any longer.
            self.filters[self.current] = Filter::new(levels as u32, rng);
            let old = self.current;
            self.queued.iter_mut().for_each(|hashes| hashes[old] = None);
            self.current = 1 - old;
            self.since = now;
            return false;
        }
        warmup > 0.0 && age > Dur::from_secs((rehash_interval - warmup).max(0.0))
    }

    /// Is the rate of all flows at p_min = 1 used up?
    fn is_over_penalty_rate(&mut self, now: Time) -> bool {
        if self.tokens < 1.0 {
            let earned = now.since(self.granted).secs().min(10.0) * self.params.penalty_rate;
            self.tokens = math::floor(earned).min(self.params.penalty_burst);
            self.granted = now;
            if self.tokens < 1.0 {
                return true;
            }
        }
        self.tokens -= 1.0;
        false
    }

    fn decide(&mut self, cx: &mut Context<'_>, flow: u32, hashes: &mut [Option<u64>; 2]) -> Verdict {
        let warming = self.move_hashes(cx.now, cx.rng);
        let own = self.filters[self.current].hash.bits(flow);
        hashes[self.current] = Some(own);
        let (shortest, p) = self.filters[self.current].adapt(own, &self.params);
        if f64::from(shortest) >= self.params.max {
            return Verdict::Drop(Reason::Forced);
        }
        if p >= 1.0 {
            if warming {
                let next = 1 - self.current;
                let hash = self.filters[next].hash.bits(flow);
                self.filters[next].adapt(hash, &self.params);
                hashes[next] = Some(hash);
            }
            return match self.is_over_penalty_rate(cx.now) {
                true => Verdict::Drop(Reason::Forced),
                false => Verdict::Pass,
            };
        }
        if p == 0.0 {
            return Verdict::Pass;
        }
        match cx.rng.uniform() {
            drawn if drawn < 2.0 * (p - 0.5) => Verdict::Drop(Reason::Early),
            drawn if drawn < p => Verdict::Mark(Reason::Early),
            _ => Verdict::Pass,
        }
    }

    fn count(&mut self, hashes: [Option<u64>; 2], change: impl Fn(u32) -> u32) {
        for (filter, hash) in self.filters.iter_mut().zip(hashes) {
            if let Some(hash) = hash {
                filter.of(hash).for_each(|bin| bin.packets = change(bin.packets));
            }
        }
    }
}

impl Aqm for Sfb {
    const NAME: &'static str = "sfb";
    const SUMMARY: &'static str = "BLUE in bins that flows are hashed to: flows that do not respond are limited";
    const SOURCE: &'static str = "Feng, Kandlur, Saha and Shin, IEEE INFOCOM 2001; Linux sch_sfb";
    const PROBES: &'static [(&'static str, &'static str)] =
        &[("p_max", "fraction"), ("p_mean", "fraction"), ("longest_bin", "packets")];
    type Params = Params;

    fn new(p: &Params, _: &Env, rng: &Rng, now: Time) -> Result<Self, ParamError> {
        if p.max < p.bin_size {
            let expected = format!("at least bin_size = {} packets", p.bin_size);
            return Err(ParamError::new("max", format!("got {} packets, expected {expected}", p.max)));
        }
        let (levels, mut hashes) = (whole("levels", p.levels)?, rng.child("hashes"));
        Ok(Sfb {
            filters: [Filter::new(levels, &mut hashes), Filter::new(levels, &mut hashes)],
            current: 0,
            since: now,
            queued: VecDeque::new(),
            tokens: p.penalty_burst,
            granted: now,
            params: p.clone(),
        })
    }

    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        if cx.is_full(packet) {
            return Verdict::Pass;
        }
        let mut hashes = [None; 2];
        let verdict = self.decide(cx, packet.flow(), &mut hashes);
        let is_queued = match verdict {
            Verdict::Pass | Verdict::Signal => true,
            Verdict::Mark(_) => !cx.mark_drops(packet),
            Verdict::Drop(_) | Verdict::Congest(_) => false,
        };
        if is_queued {
            self.count(hashes, |packets| packets + 1);
            self.queued.push_back(hashes);
        }
        verdict
    }

    fn on_departure(&mut self, _: &mut Context<'_>, _: &Packet, _: Dur) -> Verdict {
        let hashes = self.queued.pop_front().expect("every queued packet has hashes");
        self.count(hashes, |packets| packets - 1);
        Verdict::Pass
    }

    fn warning(&self, env: &Env) -> Option<String> {
        let buffer = env.limit.packets(env.mean_packet);
        let bin_size = self.params.bin_size;
        (buffer <= bin_size).then(|| {
            format!("bin_size: got {bin_size} packets, expected less than the buffer of {buffer:.0} packets")
        })
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        let bins = || self.filters[self.current].bins.iter().flatten();
        let sum: f64 = bins().map(|bin| bin.p).sum();
        let longest = bins().map(|bin| bin.packets).max().unwrap_or(0);
        out.extend([bins().map(|bin| bin.p).fold(0.0, f64::max), sum / bins().count() as f64, f64::from(longest)]);
    }
}
