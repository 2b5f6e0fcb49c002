//! DRQ over paths of links and CPUs: packets leave a path at 00, 10 and 11 as often as the recursion (24)-(27) of
//! Shin, Chong and Rhee says.
//!
//! Each queue is kept at a constant length with w_q = 1, so that its phi is known. A stream of packets of one class
//! passes all queues of a path.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

use marqueue_aqm::{Densities, Discipline, Env, Limit, Qdisc, Signal};
use marqueue_core::{Bytes, Dscp, Dur, Ecn, Flags, Head, Packet, ParamValues, PolicySpec, Rate, Rng, Time, Value};

/// Packets over each path.
const PACKETS: usize = 20_000;
/// Packets that wait at each queue.
const WAITING: u32 = 5;

/// One resource: its phi, and the density of the class there if it is a CPU.
#[derive(Clone, Copy, Debug)]
struct Hop {
    phi: f64,
    density: Option<f64>,
}

impl Hop {
    fn u(self) -> f64 {
        self.density.unwrap_or(1.0) * self.phi
    }

    fn queue(self, seed: u64, inter_resource: bool) -> Discipline {
        // phi = max_p (5 - 0)/(10 - 0).
        let numbers = [("w_q", 1.0), ("min_th", 0.0), ("max_th", 10.0), ("max_p", 2.0 * self.phi)];
        let mut params: ParamValues = numbers.iter().map(|(k, v)| (k.to_string(), Value::Number(*v))).collect();
        params.insert("inter_resource".into(), Value::Flag(inter_resource));
        let env = Env {
            rate: Rate(8_000_000),
            mean_packet: Bytes(1000),
            limit: Limit::Packets(100),
            delay: Dur::ZERO,
            signal: Signal::Ecn,
            // Class 0 has density zero, so its packets fill the queue without marks.
            densities: self.density.map(|w| Box::new(Densities::new(vec![0.0, w], w, None))),
        };
        Discipline::build(&PolicySpec { name: "drq".into(), params }, env, Rng::named(seed, "hop"))
            .expect("valid parameters")
    }

    /// The stream behind this resource.
    fn pass(self, seed: u64, inter_resource: bool, stream: Vec<Packet>) -> Vec<Packet> {
        let mut queue = self.queue(seed, inter_resource);
        let filler = Packet::data(1, 0, 1000).with_ecn(Ecn::Ce);
        (0..WAITING).for_each(|_| _ = queue.enqueue(Time::ZERO, filler));
        let mut out = Vec::with_capacity(stream.len());
        for packet in stream.into_iter().chain([filler; WAITING as usize]) {
            queue.enqueue(Time::ZERO, packet);
            out.extend(queue.dequeue(Time::ZERO).map(|(packet, _)| packet));
        }
        out.retain(|packet| packet.flow() == 0);
        out
    }
}

/// The chances of 00, 10 and 11 behind the path, one resource after the other.
fn recursion(path: &[Hop]) -> [f64; 3] {
    path.iter().fold([1.0, 0.0, 0.0], |[p00, p10, p11], hop| {
        let (delta, epsilon) = ((hop.u() * hop.u()).min(1.0), (2.0f64.sqrt() * hop.u()).min(1.0));
        [
            p00 * (1.0 - delta) * (1.0 - epsilon),
            p10 * (1.0 - delta) * (1.0 - epsilon) + p00 * (1.0 - delta) * epsilon,
            p11 + (1.0 - p11) * delta + p10 * (1.0 - delta) * epsilon,
        ]
    })
}

fn random_path(rng: &mut Rng) -> Vec<Hop> {
    let hops = 1 + rng.below(6);
    (0..hops)
        .map(|_| {
            let density = (rng.uniform() < 0.5).then(|| 0.25 * 2f64.powf(5.0 * rng.uniform()));
            // From almost no marks up to the point where epsilon is cut off at 1.
            Hop { phi: 0.4 * rng.uniform() * rng.uniform(), density }
        })
        .collect()
}

#[test]
fn packets_are_marked_as_often_as_the_recursion_says() {
    let mut rng = Rng::named(1, "paths");
    let (mut statistic, mut cut) = (0.0, 0);
    const PATHS: usize = 30;
    for p in 0..PATHS {
        let path = random_path(&mut rng);
        let packet = Packet::data(0, 0, 1000).with_head(Head::new(Dscp::default(), 1).with(Flags::ANSWERS_CE));
        let sent = vec![packet; PACKETS];
        let seeds = (0..path.len()).map(|i| (100 * p + i) as u64);
        let arrived = path.iter().zip(seeds).fold(sent, |stream, (hop, seed)| hop.pass(seed, true, stream));
        assert_eq!(arrived.len(), PACKETS, "senders react to marks, so no packet is dropped");
        let expected = recursion(&path);
        assert!((expected.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        for (state, chance) in [Ecn::NotEct, Ecn::Ect0, Ecn::Ce].into_iter().zip(expected) {
            let count = arrived.iter().filter(|p| p.ecn() == state).count() as f64;
            let (n, sd) = (PACKETS as f64, (PACKETS as f64 * chance * (1.0 - chance)).sqrt());
            // Five standard deviations and one packet: of 90 comparisons one in 10^4 tests fails by chance.
            assert!((count - n * chance).abs() <= 5.0 * sd + 1.0, "{path:?}: {state:?} {count} times, chance {chance}");
        }
        let marked = arrived.iter().filter(|p| p.ecn() == Ecn::Ce).count() as f64;
        let n = PACKETS as f64;
        if n * expected[2].min(1.0 - expected[2]) > 10.0 {
            statistic += (marked - n * expected[2]).powi(2) / (n * expected[2] * (1.0 - expected[2]));
            cut += 1;
        }
    }
    // All paths together: chi-square with as many degrees of freedom, mean k and variance 2k; four deviations.
    let k = f64::from(cut);
    assert!(k > 15.0 && (statistic - k).abs() < 4.0 * (2.0 * k).sqrt(), "chi-square {statistic} of {k} paths");
}

/// Each resource then marks for itself: a packet is not marked behind n resources with probability (1 - delta)^n.
#[test]
fn without_signals_between_resources_marks_are_independent_and_nothing_is_signalled() {
    let path = [Hop { phi: 0.2, density: None }; 4];
    let packet = Packet::data(0, 0, 1000).with_head(Head::new(Dscp::default(), 1).with(Flags::ANSWERS_CE));
    let sent = vec![packet; PACKETS];
    let arrived = path.iter().zip(0..).fold(sent, |stream, (hop, seed)| hop.pass(seed, false, stream));
    assert!(arrived.iter().all(|p| p.ecn() != Ecn::Ect0));
    let share = arrived.iter().filter(|p| p.ecn() == Ecn::Ce).count() as f64 / PACKETS as f64;
    let chance = 1.0 - (1.0 - 0.04f64).powi(4);
    assert!((share - chance).abs() < 5.0 * (chance * (1.0 - chance) / PACKETS as f64).sqrt(), "{share} for {chance}");
}
