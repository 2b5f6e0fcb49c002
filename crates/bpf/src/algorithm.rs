//! The AQMs of this crate by name: their parameters and states as the words of the maps `setup` and `state`.

use crate::arrival::{Arrival, Fate};
use crate::avq::{Avq, AvqParams};
use crate::cgroup;
use crate::chokew::{ChokeW, ChokeWParams};
use crate::drq::{Drq, DrqParams};
use crate::fixed_point::{units, ONE};
use crate::interface::Hook;
use crate::mkc::{Mkc, MkcParams};
use crate::pi::{Pi, PiParams};
use crate::red::{Red, RedParams};
use crate::scaled::{Scaled, ScaledParams, LEVELS};
use marqueue_aqm::algo::{avq, chokew, drq, mkc, pi, red};
use marqueue_core::params::{ParamSet, PolicySpec};
use std::path::PathBuf;

/// Names of the AQMs, as in scenarios: those at a hook of tc, and those that are a qdisc.
pub const NAMES: [&str; HOOKED.len() + QDISCS.len()] = ["avq", "red", "pi", "scaled", "mkc", "drq", "chokew"];

/// The AQMs at a hook of tc, in front of the queue of a device.
pub const HOOKED: [&str; 6] = ["avq", "red", "pi", "scaled", "mkc", "drq"];

/// The AQMs that are the queue of a device, its root qdisc, because they drop packets out of it.
pub const QDISCS: [&str; 1] = ["chokew"];

/// The AQMs that can be at ingress, too: AVQ and MKC's router, which go by arrivals alone, and the edge of DRQ.
pub const AT_INGRESS: [&str; 3] = ["avq", "mkc", "drq"];

/// Whether an AQM asks for the queue of the root qdisc.
pub fn needs_queue(name: &str) -> bool {
    matches!(name, "red" | "pi" | "scaled" | "drq")
}

/// The shaper at a device, as the hook is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Shaper {
    /// Its rate, bit/s, if it is known.
    pub rate: Option<u64>,
    /// Bytes of a packet, where parameters are in packets.
    pub packet: u64,
    /// The buffer of a qdisc, or the one that AVQ's virtual queue has unless it is told another, bytes.
    pub buffer: u64,
}

/// The parameters of an AQM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Law {
    /// AVQ.
    Avq(AvqParams),
    /// RED.
    Red(RedParams),
    /// PI.
    Pi(PiParams),
    /// Scaled marking.
    Scaled(ScaledParams),
    /// MKC's router.
    Mkc(MkcParams),
    /// DRQ.
    Drq(DrqParams),
    /// CHOKeW.
    ChokeW(ChokeWParams),
}

impl Law {
    /// Reads parameters as scenarios have them, for a hook; a qdisc's are those of egress.
    ///
    /// # Errors
    /// If there is no such AQM here, or a parameter is unknown, out of range, or without effect in the kernel.
    pub fn read(spec: &PolicySpec, shaper: Shaper, hook: Hook) -> Result<Law, String> {
        let Shaper { rate, packet, buffer } = shaper;
        for (name, fixed) in without_effect(&spec.name) {
            if spec.params.contains_key(*name) {
                return Err(format!("{name}: got a value, expected none: {fixed}"));
            }
        }
        let rate = || rate.filter(|rate| *rate > 0).ok_or("rate: missing, expected that of the shaper at the device");
        match spec.name.as_str() {
            "avq" => {
                let params: avq::Params = read(spec)?;
                let buffer = params.buffer.map_or(buffer, |packets| (packets * packet as f64) as u64);
                AvqParams::new(rate()?, params.gamma, params.alpha, params.initial, buffer).map(Law::Avq)
            }
            "red" => RedParams::new(&read::<red::Params>(spec)?, rate()?, packet).map(Law::Red),
            "pi" => PiParams::new(&read::<pi::Params>(spec)?, packet).map(Law::Pi),
            "scaled" => ScaledParams::new(read(spec)?, packet).map(Law::Scaled),
            "mkc" => MkcParams::new(&read::<mkc::Params>(spec)?, rate()?, packet).map(Law::Mkc),
            "drq" if hook == Hook::Ingress => DrqParams::edge(&read::<drq::Params>(spec)?, packet).map(Law::Drq),
            "drq" => DrqParams::new(&read::<drq::Params>(spec)?, rate()?, packet).map(Law::Drq),
            "chokew" => ChokeWParams::new(&read::<chokew::Params>(spec)?, rate()?, buffer / packet).map(Law::ChokeW),
            other => Err(format!("aqm: got \"{other}\", expected one of {}", NAMES.join(", "))),
        }
    }

    /// Gives packets weights by the cgroup of their socket, in place of those by code point: paths and weights.
    ///
    /// # Errors
    /// Those of [`cgroup::read`], or if the AQM has no such weights.
    pub fn weigh_cgroups(mut self, given: &[(PathBuf, f64)]) -> Result<Law, String> {
        match &mut self {
            _ if given.is_empty() => {}
            Law::ChokeW(law) => law.cgroups = cgroup::read(given)?,
            _ => {
                return Err(format!("cgroup-weight: got one, expected none: {} has no weights by cgroup", self.name()))
            }
        }
        Ok(self)
    }

    /// Does the AQM ask which cgroup a packet's socket is in?
    pub fn asks_for_cgroups(&self) -> bool {
        matches!(self, Law::ChokeW(law) if !law.cgroups.is_empty())
    }

    /// The name of the AQM.
    pub fn name(&self) -> &'static str {
        match self {
            Law::Avq(_) => "avq",
            Law::Red(_) => "red",
            Law::Pi(_) => "pi",
            Law::Scaled(_) => "scaled",
            Law::Mkc(_) => "mkc",
            Law::Drq(_) => "drq",
            Law::ChokeW(_) => "chokew",
        }
    }

    /// The rate of the shaper, bit/s, where the AQM goes by it.
    pub fn rate(&self) -> Option<f64> {
        match self {
            Law::Avq(law) => Some(8.0 * units(law.capacity)),
            Law::Red(law) => Some(8.0 * law.rate as f64),
            Law::Mkc(law) => Some(law.rate()),
            Law::Drq(law) => law.rate(),
            Law::ChokeW(law) => Some(8.0 * law.rate as f64),
            Law::Pi(_) | Law::Scaled(_) => None,
        }
    }

    /// Parameters by name, in the units of scenarios, as rounded to integers.
    pub fn values(&self) -> Vec<(String, f64)> {
        let values = match self {
            Law::Avq(law) => law.values(),
            Law::Red(law) => law.values(),
            Law::Pi(law) => law.values(),
            Law::Scaled(law) => law.values(),
            Law::Mkc(law) => law.values(),
            Law::Drq(law) => return law.values(),
            Law::ChokeW(law) => return law.values(),
        };
        values.into_iter().map(|(name, value)| (name.into(), value)).collect()
    }

    /// The words of `struct law`.
    pub fn words(&self) -> Vec<u64> {
        match self {
            &Law::Avq(AvqParams { capacity, growth, cost, initial, buffer }) => {
                vec![capacity, growth, cost, initial, buffer]
            }
            &Law::Red(law) => {
                let RedParams { min_th, max_th, hard_limit, slope, steep, max_p, mark_p, w_q, rate, size, wait } = law;
                vec![min_th, max_th, hard_limit, slope, steep, max_p, mark_p, w_q, rate, size, wait]
            }
            &Law::Pi(PiParams { integral, proportional, reference, period, size }) => {
                vec![integral, proportional, reference, period, size]
            }
            Law::Scaled(ScaledParams { size, buffer, p }) => [&[*size, *buffer], p.as_slice()].concat(),
            &Law::Mkc(MkcParams { capacity, least, delta, delta_bits }) => vec![capacity, least, delta, delta_bits],
            Law::Drq(law) => law.words(),
            Law::ChokeW(law) => law.words(),
        }
    }

    /// The reverse of [`Law::words`]; `None` if they are not those of this AQM.
    pub fn from_words(name: &str, words: &[u64]) -> Option<Law> {
        match (name, words) {
            ("avq", &[capacity, growth, cost, initial, buffer]) => {
                Some(Law::Avq(AvqParams { capacity, growth, cost, initial, buffer }))
            }
            ("red", &[min_th, max_th, hard_limit, slope, steep, max_p, mark_p, w_q, rate, size, wait]) => {
                let law = RedParams { min_th, max_th, hard_limit, slope, steep, max_p, mark_p, w_q, rate, size, wait };
                Some(Law::Red(law))
            }
            ("pi", &[integral, proportional, reference, period, size]) => {
                Some(Law::Pi(PiParams { integral, proportional, reference, period, size }))
            }
            ("scaled", &[size, buffer, ref p @ ..]) if p.len() == LEVELS => {
                Some(Law::Scaled(ScaledParams { size, buffer, p: p.to_vec() }))
            }
            ("mkc", &[capacity, least, delta, delta_bits]) => {
                Some(Law::Mkc(MkcParams { capacity, least, delta, delta_bits }))
            }
            ("drq", words) => DrqParams::from_words(words).map(Law::Drq),
            ("chokew", words) => ChokeWParams::from_words(words).map(Law::ChokeW),
            _ => None,
        }
    }

    /// The state before the first packet.
    pub fn start(&self) -> State {
        match self {
            Law::Avq(_) => State::Avq(Avq::default()),
            Law::Red(_) => State::Red(Red::default()),
            Law::Pi(_) => State::Pi(Pi::default()),
            Law::Scaled(_) => State::Scaled(Scaled::default()),
            Law::Mkc(_) => State::Mkc(Mkc::default()),
            Law::Drq(_) => State::Drq(Drq::default()),
            Law::ChokeW(_) => State::ChokeW(ChokeW::default()),
        }
    }
}

/// The state of an AQM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// AVQ.
    Avq(Avq),
    /// RED.
    Red(Red),
    /// PI.
    Pi(Pi),
    /// Scaled marking.
    Scaled(Scaled),
    /// MKC's router.
    Mkc(Mkc),
    /// DRQ.
    Drq(Drq),
    /// CHOKeW, without the places of its queue.
    ChokeW(ChokeW),
}

impl State {
    /// A packet arrives at a hook of tc.
    ///
    /// # Panics
    /// If the law is of another AQM, of a qdisc, or of DRQ, which has more than two answers.
    pub fn arrival(&mut self, law: &Law, packet: Arrival) -> Fate {
        match (self, law) {
            (State::Avq(state), Law::Avq(law)) => state.arrival(law, packet),
            (State::Red(state), Law::Red(law)) => state.arrival(law, packet),
            (State::Pi(state), Law::Pi(law)) => state.arrival(law, packet),
            (State::Scaled(state), Law::Scaled(law)) => state.arrival(law, packet),
            (State::Mkc(state), Law::Mkc(law)) => {
                state.arrival(law, packet);
                Fate::Pass
            }
            (state, law) => panic!("{law:?} for {state:?}"),
        }
    }

    /// The state from `struct state`: the flag beside the lock, and the words behind both. A qdisc has no lock and no
    /// flag.
    ///
    /// # Panics
    /// If the number of words is not that of this AQM.
    pub fn from_words(name: &str, flag: bool, words: &[u64]) -> State {
        match (name, words) {
            ("avq", &[level, level_rest, virtual_capacity, capacity_rest, drained, last]) => {
                let started = flag;
                State::Avq(Avq { started, level, level_rest, virtual_capacity, capacity_rest, drained, last })
            }
            ("red", &[avg, count, last, behind]) => State::Red(Red { above: flag, avg, count, last, behind }),
            ("pi", &[p, queue, due]) => State::Pi(Pi { started: flag, p, queue, due }),
            ("scaled", &[queue]) => State::Scaled(Scaled { started: flag, queue }),
            ("mkc", &[bytes, end, seq, p]) => State::Mkc(Mkc { started: flag, bytes, end, seq, p }),
            ("drq", &[avg, last, behind, signalled]) => {
                State::Drq(Drq { started: flag, red: Red { avg, last, behind, ..Red::default() }, signalled })
            }
            ("chokew", &[p0, head, tail, packets, bytes, free, matched, overflow]) => {
                State::ChokeW(ChokeW { p0, head, tail, packets, bytes, free, matched, overflow })
            }
            _ => panic!("a state of {name}, not of {} words", words.len()),
        }
    }

    /// Variables by name: rates in bit/s, queues in bytes, probabilities, prices.
    ///
    /// # Panics
    /// If the law is of another AQM.
    pub fn values(&self, law: &Law) -> Vec<(&'static str, f64)> {
        match (self, law) {
            (State::Avq(state), Law::Avq(law)) => {
                let capacity = if state.started { state.virtual_capacity } else { law.initial };
                let capacity = 8.0 * units(capacity.min(law.capacity));
                vec![("virtual_capacity", capacity), ("virtual_queue", units(state.level))]
            }
            (State::Red(state), Law::Red(law)) => {
                vec![("avg", units(state.avg)), ("p", state.probability(law) as f64 / ONE as f64)]
            }
            (State::Pi(state), Law::Pi(_)) => vec![("p", state.probability()), ("queue", state.queue as f64)],
            (State::Scaled(state), Law::Scaled(law)) => {
                vec![("p", law.p(state.queue) as f64 / ONE as f64), ("queue", (state.queue * law.size) as f64)]
            }
            (State::Mkc(state), Law::Mkc(_)) => {
                let price = state.price().map(|p| ("price", p.into()));
                price.into_iter().chain([("intervals", state.seq as f64)]).collect()
            }
            (State::Drq(state), Law::Drq(law)) => state.values(law),
            (State::ChokeW(state), Law::ChokeW(_)) => state.values(),
            (state, law) => panic!("{law:?} for {state:?}"),
        }
    }
}

fn read<P: ParamSet>(spec: &PolicySpec) -> Result<P, String> {
    P::from_values(&spec.params).map_err(|error| error.to_string())
}

/// Parameters of the simulator that have one value in the kernel.
fn without_effect(name: &str) -> &'static [(&'static str, &'static str)] {
    const MODE: (&str, &str) = ("mode", "the kernel counts in bytes");
    match name {
        "avq" => &[MODE, ("adapt_every", "in the kernel every packet updates the virtual capacity")],
        "scaled" | "mkc" | "chokew" => &[],
        _ => &[MODE],
    }
}
