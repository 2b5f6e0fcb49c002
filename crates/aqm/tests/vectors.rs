//! Replays `vectors/<name>.jsonl`: sequences of operations with outcomes and internal variables, worked out by hand
//! from the formulas.
//!
//! A line with `about` begins a case. It gives the arithmetic, the policy and its environment. Every further line is an
//! operation at `t` nanoseconds; timers that are due by then run before it. Packets are numbered by arrival; `times`
//! repeats an arrival. Packets are of flow 0 and code point DF unless `flow` and `dscp` say otherwise. `also` lists the
//! packets that the queue drops at an arrival besides the arriving one.

use marqueue_aqm::{catalogue, Densities, Discipline, Env, Qdisc};
use marqueue_core::{Bytes, Dscp, Dur, Ecn, Flags, Head, Packet, PolicySpec, Rate, Rng, Time};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[allow(dead_code)]
    about: String,
    policy: PolicySpec,
    env: EnvSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvSpec {
    rate: Rate,
    mean_packet: Bytes,
    limit: marqueue_aqm::Limit,
    delay: Dur,
    signal: marqueue_aqm::Signal,
    /// At a CPU, cycles a bit by class.
    densities: Option<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
enum Op {
    Enqueue(Arrival),
    Dequeue { t: u64, seq: Option<u32>, ecn: Option<String>, dropped: Option<BTreeMap<String, String>> },
    Probe { t: u64, values: BTreeMap<String, f64> },
    Rate { t: u64, rate: Rate },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arrival {
    t: u64,
    times: Option<u32>,
    #[serde(default)]
    flow: u32,
    dscp: Option<String>,
    #[serde(default)]
    class: u8,
    #[serde(default)]
    answers_ce: bool,
    bytes: u32,
    ecn: String,
    outcome: String,
    dropped: Option<String>,
    #[serde(default)]
    also: BTreeMap<String, String>,
}

impl Arrival {
    fn packet(&self, seq: u32) -> Packet {
        let dscp = self.dscp.as_ref().map_or(Dscp::default(), |name| Dscp::parse(name).expect("a code point"));
        let flags = if self.answers_ce { Flags::ANSWERS_CE } else { Flags::NONE };
        Packet::data(self.flow, seq, self.bytes)
            .with_head(Head::new(dscp, self.class).with(flags).with_ecn(ecn(&self.ecn)))
    }
}

fn ecn(name: &str) -> Ecn {
    match name {
        "not_ect" => Ecn::NotEct,
        "ect" => Ecn::Ect0,
        "ect1" => Ecn::Ect1,
        "ce" => Ecn::Ce,
        _ => panic!("no ECN field {name}"),
    }
}

struct Replay {
    queue: Discipline,
    arrived: u32,
}

impl Replay {
    fn new(case: &Case) -> Replay {
        let EnvSpec { rate, mean_packet, limit, delay, signal, densities } = &case.env;
        let densities = densities.as_ref().map(|w| {
            let mean = w.iter().sum::<f64>() / w.len() as f64;
            Box::new(Densities::new(w.clone(), mean, None))
        });
        let (rate, mean_packet, limit, delay, signal) = (*rate, *mean_packet, *limit, *delay, *signal);
        let env = Env { rate, mean_packet, limit, delay, signal, densities };
        let queue = Discipline::build(&case.policy, env, Rng::named(1, "vectors")).expect("valid parameters");
        Replay { queue, arrived: 0 }
    }

    fn run_timers(&mut self, until: Time) {
        while self.queue.next_timer() <= until {
            let due = self.queue.next_timer();
            self.queue.on_timer(due);
        }
    }

    fn dropped(&mut self) -> BTreeMap<String, String> {
        self.queue.drain_dropped().map(|(p, reason)| (p.seq().to_string(), reason.name().to_string())).collect()
    }

    fn apply(&mut self, op: &Op, at: &str) {
        let (Op::Enqueue(Arrival { t, .. }) | Op::Dequeue { t, .. } | Op::Probe { t, .. } | Op::Rate { t, .. }) = op;
        let now = Time(*t);
        self.run_timers(now);
        match op {
            Op::Enqueue(arrival) => {
                for _ in 0..arrival.times.unwrap_or(1) {
                    let got = format!("{:?}", self.queue.enqueue(now, arrival.packet(self.arrived))).to_lowercase();
                    assert_eq!(got, arrival.outcome, "{at}: outcome");
                    let own = arrival.dropped.iter().map(|reason| (self.arrived.to_string(), reason.clone()));
                    let expected: BTreeMap<_, _> = own.chain(arrival.also.clone()).collect();
                    assert_eq!(self.dropped(), expected, "{at}: dropped");
                    self.arrived += 1;
                }
            }
            Op::Dequeue { seq, ecn: field, dropped, .. } => {
                let got = self.queue.dequeue(now).map(|(p, _)| p);
                assert_eq!(got.map(|p| p.seq()), *seq, "{at}: packet");
                assert_eq!(got.map(|p| p.ecn()), field.as_deref().map(ecn), "{at}: ECN field");
                assert_eq!(self.dropped(), dropped.clone().unwrap_or_default(), "{at}: dropped");
            }
            Op::Probe { values, .. } => {
                let mut got = Vec::new();
                self.queue.probe(now, &mut got);
                let names: Vec<_> = self.queue.probes().iter().map(|(name, _)| *name).collect();
                assert_eq!(names.len(), values.len(), "{at}: a probe line names every probe");
                for (name, got) in names.iter().zip(got) {
                    let expected = values[*name];
                    let tolerance = 1e-9 * expected.abs().max(1e-3);
                    assert!((got - expected).abs() <= tolerance, "{at}: {name} is {got}, expected {expected}");
                }
            }
            Op::Rate { rate, .. } => self.queue.env_mut().rate = *rate,
        }
        assert!(self.queue.conserves(), "{at}: conservation");
    }
}

#[test]
fn every_algorithm_matches_its_vectors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors");
    for entry in catalogue() {
        let file = folder.join(format!("{}.jsonl", entry.name));
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let mut replay = None;
        for (number, line) in text.lines().enumerate() {
            let at = format!("{}.jsonl:{}", entry.name, number + 1);
            if line.contains("\"about\"") {
                let case: Case = serde_json::from_str(line).unwrap_or_else(|e| panic!("{at}: {e}"));
                assert_eq!(case.policy.name, entry.name, "{at}");
                replay = Some(Replay::new(&case));
            } else {
                let op: Op = serde_json::from_str(line).unwrap_or_else(|e| panic!("{at}: {e}"));
                replay.as_mut().expect("a case comes first").apply(&op, &at);
            }
        }
        assert!(replay.is_some_and(|r| r.arrived > 0), "{}.jsonl tests nothing", entry.name);
    }
}
