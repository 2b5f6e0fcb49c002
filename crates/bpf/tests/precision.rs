//! Compares the AQMs in integers with those of the simulator in floating point, on random links and arrivals.

use marqueue_aqm::{Discipline, EnqueueOutcome, Env, Limit, Qdisc, Signal};
use marqueue_bpf::algorithm::{Law, Shaper};
use marqueue_bpf::arrival::{Arrival, Fate};
use marqueue_bpf::avq::{Avq, AvqParams};
use marqueue_bpf::fixed_point::FRACTION;
use marqueue_bpf::Hook;
use marqueue_core::math::{powf, powi};
use marqueue_core::{Bytes, Dur, Ecn, Packet, PolicySpec, Rate, Rng, Time, Value};
use proptest::prelude::*;

/// Allowed error of the integers as a share of C and of B. In 20,000 cases the largest was 4e-5 of both, from rounding
/// alpha near 0.01 /s to 2^-20 /s, apart from packets that just fit into one queue and not into the other.
const TOLERANCE: f64 = 1e-3;

const MEAN: u64 = 1000;

#[derive(Debug)]
struct Link {
    rate: u64,
    gamma: f64,
    alpha: f64,
    initial: f64,
    packets: u64,
    drops: bool,
}

fn link() -> impl Strategy<Value = Link> {
    let rate = (5.0..11.0).prop_map(|exponent: f64| powf(10.0, exponent) as u64);
    let alpha = (-2.0..2.0).prop_map(|exponent: f64| powf(10.0, exponent));
    (rate, 0.0..=1.0, alpha, 0.0..=1.0, 10..1000u64, any::<bool>())
        .prop_map(|(rate, gamma, alpha, initial, packets, drops)| Link { rate, gamma, alpha, initial, packets, drops })
}

/// The size of each packet, bytes, and the time since the previous one in transmission times at the full rate.
fn arrivals() -> impl Strategy<Value = Vec<(u32, f64)>> {
    let gap = prop_oneof![4 => 0.0..2.0, 4 => 0.0..0.5, 1 => 0.0..1e6, 1 => Just(0.0)];
    prop::collection::vec((40..9000u32, gap), 1..400)
}

fn float(link: &Link) -> Discipline {
    let number = |value: f64| Value::Number(value);
    let params = [
        ("gamma", number(link.gamma)),
        ("alpha", number(link.alpha)),
        ("initial", number(link.initial)),
        ("buffer", number(link.packets as f64)),
    ];
    let params = params.map(|(name, value)| (name.to_string(), value)).into_iter().collect();
    let env = Env {
        rate: Rate(link.rate),
        mean_packet: Bytes(MEAN),
        limit: Limit::Bytes(u64::MAX),
        delay: Dur(0),
        signal: if link.drops { Signal::Drop } else { Signal::Ecn },
        densities: None,
    };
    let spec = PolicySpec { name: "avq".into(), params };
    Discipline::build(&spec, env, Rng::named(1, "precision")).expect("valid parameters")
}

proptest! {
    #[test]
    fn avq_in_integers_follows_floating_point(link in link(), arrivals in arrivals()) {
        let mut real = float(&link);
        let buffer = link.packets * MEAN;
        let law = AvqParams::new(link.rate, link.gamma, link.alpha, link.initial, buffer).expect("within the integers");
        let mut fixed = Avq::default();
        let mut now = 0u64;
        let unit = powi(2.0, FRACTION as i32);
        for (seq, (bytes, gap)) in arrivals.into_iter().enumerate() {
            now += (gap * f64::from(bytes) * 8e9 / link.rate as f64) as u64;
            let arrival = Arrival { now, bytes: bytes.into(), segments: 1, loses: link.drops, queue: 0, random: 0 };
            let signalled = fixed.arrival(&law, arrival) != Fate::Pass;
            let packet = Packet::data(0, seq as u32, bytes).with_ecn(Ecn::Ect0);
            let fate = real.enqueue(Time(now), packet);
            let _ = real.drain_dropped().count();
            if signalled != (fate != EnqueueOutcome::Queued) {
                // Verdicts may differ only for a packet that just fits. The queues differ from then on.
                let left = buffer as f64 - fixed.level as f64 / unit;
                let free = if signalled { left } else { left + f64::from(bytes) };
                prop_assert!(
                    (free - f64::from(bytes)).abs() < TOLERANCE * buffer as f64,
                    "{signalled} against {fate:?}: {free} bytes are free for {bytes}"
                );
                break;
            }
            let mut probes = Vec::new();
            real.probe(Time(now), &mut probes);
            let (share, queue) = (probes[1], probes[2] * MEAN as f64);
            let off = (
                (fixed.virtual_capacity as f64 / law.capacity as f64 - share).abs(),
                (fixed.level as f64 / unit - queue).abs() / buffer as f64,
            );
            prop_assert!(off.0 < TOLERANCE && off.1 < TOLERANCE, "C~ and VQ are off by {off:?}");
        }
    }
}

/// One packet's fate: how long after the previous one (packet times), how many packets leave before it, its size.
type Step = (f64, u32, u32);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![6 => 0.0..3.0, 1 => 0.0..1000.0];
    let leaving = prop_oneof![3 => Just(0u32), 3 => Just(1u32), 1 => 0..100u32];
    prop::collection::vec((gap, leaving, 40..1515u32), 1..400)
}

const RATE: u64 = 100_000_000;
const PACKET: u64 = 1514;

/// The simulator's AQM with all of its queue in the hands of the caller: packets leave when it says.
struct Real {
    queue: Discipline,
    now: u64,
    seq: u32,
}

impl Real {
    fn new(spec: &PolicySpec) -> Real {
        let env = Env {
            rate: Rate(RATE),
            mean_packet: Bytes(PACKET),
            limit: Limit::Bytes(u64::MAX),
            delay: Dur(0),
            signal: Signal::Ecn,
            densities: None,
        };
        let queue = Discipline::build(spec, env, Rng::named(1, "precision")).expect("valid parameters");
        Real { queue, now: 0, seq: 0 }
    }

    /// Up to `leaving` packets leave, all of them at once; then one arrives. Returns the bytes that it finds.
    fn step(&mut self, (gap, leaving, bytes): Step) -> u64 {
        for _ in 0..leaving {
            let _ = self.queue.dequeue(Time(self.now));
        }
        if self.queue.len() == 0 {
            // The link asks for the next packet and is idle from now on.
            let _ = self.queue.dequeue(Time(self.now));
        }
        let found = self.queue.bytes();
        self.now += (gap * PACKET as f64 * 8e9 / RATE as f64) as u64;
        while self.queue.next_timer() <= Time(self.now) {
            self.queue.on_timer(self.queue.next_timer());
        }
        let _ = self.queue.enqueue(Time(self.now), Packet::data(0, self.seq, bytes).with_ecn(Ecn::Ect0));
        let _ = self.queue.drain_dropped().count();
        self.seq += 1;
        found
    }

    fn probes(&self) -> Vec<f64> {
        let mut probes = Vec::new();
        self.queue.probe(Time(self.now), &mut probes);
        probes
    }
}

fn spec(name: &str, params: &[(&str, f64)]) -> PolicySpec {
    let number = |(name, value): &(&str, f64)| (name.to_string(), Value::Number(*value));
    PolicySpec { name: name.into(), params: params.iter().map(number).collect() }
}

/// The same law in integers, and in floating point that counts in bytes as the kernel does.
fn both(spec: &PolicySpec) -> (Law, Real) {
    let law = Law::read(spec, Shaper { rate: Some(RATE), packet: PACKET, buffer: 0 }, Hook::Egress)
        .expect("within the integers");
    let mut bytes = spec.clone();
    bytes.params.insert("mode".into(), Value::Choice("bytes".into()));
    (law, Real::new(&bytes))
}

proptest! {
    // A case has hundreds of packets.
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// p depends on nothing random: it must stay the same. q_ref is in whole packets, because the kernel rounds it to a byte.
    #[test]
    fn pi_in_integers_follows_floating_point(
        (a, part, w, q_ref) in (1e-5..1e-2, 0.0..0.999, 20.0..2000.0, 0..100u32),
        steps in steps(),
    ) {
        let (law, mut real) = both(&spec("pi", &[("a", a), ("b", a * part), ("w", w), ("q_ref", q_ref.into())]));
        let mut fixed = law.start();
        // The simulator's clock of p starts with the queue; the kernel's with the first packet.
        let first = real.step((0.0, 0, 1514));
        let _ = fixed.fate(&law, Arrival { now: 0, bytes: 1514, segments: 1, loses: false, queue: first, random: 0 });
        for step in steps {
            let queue = real.step(step);
            let arrival =
                Arrival { now: real.now, bytes: step.2.into(), segments: 1, loses: false, queue, random: u32::MAX };
            let _ = fixed.fate(&law, arrival);
            let off = (fixed.values(&law)[0].1 - real.probes()[0]).abs();
            prop_assert!(off < 1e-6, "p is off by {off}");
        }
    }

    /// The average depends on the queue alone, and on idle periods: here the queue of the simulator is emptied when the
    /// shaper could have sent it.
    #[test]
    fn red_in_integers_follows_floating_point(
        (min_th, more, max_p, w_q) in (0.0..50.0f64, 1.0..100.0f64, 0.0..=1.0f64, 1e-5..=0.5f64),
        steps in steps(),
    ) {
        let params = [("min_th", min_th), ("max_th", min_th + more), ("max_p", max_p), ("w_q", w_q)];
        let (law, mut real) = both(&spec("red", &params));
        let mut fixed = law.start();
        for mut step in steps {
            if real.queue.len() <= step.1 {
                // Half a packet time after all has been sent, so that no whole packet is lost to rounding.
                let sent = real.queue.bytes() as f64 / PACKET as f64;
                real.now += (sent * PACKET as f64 * 8e9 / RATE as f64) as u64;
                step.0 = step.0.floor() + 0.5;
            }
            let queue = real.step(step);
            let arrival = Arrival { now: real.now, bytes: step.2.into(), segments: 1, loses: false, queue, random: 0 };
            let _ = fixed.fate(&law, arrival);
            let (got, expected): (_, Vec<f64>) = (fixed.values(&law), real.probes());
            let avg = got[0].1 / PACKET as f64;
            prop_assert!((avg - expected[0]).abs() < 1e-4, "avg {avg}, {expected:?}");
            // p jumps where avg crosses min_th = max_th - more; elsewhere its slope is at most 1/more.
            let near = (expected[0] - min_th).abs() < 1e-3 || (expected[0] - min_th - more).abs() < 1e-3;
            prop_assert!(near || (got[1].1 - expected[1]).abs() < 1e-3, "p {got:?}, {expected:?}");
        }
    }
}
