//! The probability of a matched drop against the formulas, measured by many arrivals at a queue with fixed contents.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

#[path = "../benches/draws/rivals.rs"]
mod rivals;

use marqueue_aqm::algo::{choke, chokew, chokew_id};
use marqueue_aqm::{Accounting, Aqm, Buffer, Context, Env, Limit, Reason, Signal, Verdict};
use marqueue_core::params::ParamSet;
use marqueue_core::{Bytes, Dscp, Dur, Head, Packet, ParamValues, Rate, Rng, Time, Value};

/// Flow 0 has four of the twenty queued packets: r = 0.2.
const WAITING: u32 = 20;
const OWN: u32 = 4;
const R: f64 = 0.2;
const ARRIVALS: u32 = 40_000;

fn env() -> Env {
    let (rate, mean_packet, limit) = (Rate(8_000_000), Bytes(1000), Limit::Packets(1000));
    Env { rate, mean_packet, limit, delay: Dur::ZERO, signal: Signal::Drop, densities: None }
}

fn policy<A: Aqm>(numbers: &[(&str, f64)], others: &[(&str, Value)]) -> A {
    let numbers = numbers.iter().map(|(k, v)| (k.to_string(), Value::Number(*v)));
    let values: ParamValues = numbers.chain(others.iter().map(|(k, v)| (k.to_string(), v.clone()))).collect();
    let params = A::Params::from_values(&values).expect("known parameters");
    A::new(&params, &env(), &Rng::named(1, "policy"), Time::ZERO).expect("valid parameters")
}

/// CHOKeW's parameters such that one arrival at a queue of more than a hundred packets sets p0, and arrivals at shorter
/// queues do not change it.
fn held_at(p0: f64) -> [(&'static str, f64); 5] {
    [("l_th", 1.0), ("l_minus", 2.0), ("l_plus", 100.0), ("p_plus", p0), ("p_minus", 0.0)]
}

fn queue(len: u32, packet: impl Fn(u32) -> Packet) -> Buffer {
    let mut queue = Buffer::default();
    (0..len).for_each(|seq| queue.push(Time::ZERO, packet(seq)));
    queue
}

fn waiting() -> Buffer {
    queue(WAITING, |seq| Packet::data(if seq % 5 == 0 { 0 } else { seq }, seq, 1000))
}

/// Outcomes of many arrivals at the same queue.
#[derive(Default)]
struct Seen {
    entered: u32,
    /// Dropped together with a queued packet, by the sequence number of that packet.
    pairs: [u32; WAITING as usize],
    /// Dropped alone.
    alone: u32,
}

struct Bench<A> {
    policy: A,
    rng: Rng,
    accounting: Accounting,
}

impl<A: Aqm> Bench<A> {
    fn new(policy: A) -> Self {
        Bench { policy, rng: Rng::named(11, "matched"), accounting: Accounting::default() }
    }

    fn arrive(&mut self, queue: &mut Buffer, packet: &Packet) -> Verdict {
        let env = env();
        let mut cx = Context {
            now: Time::ZERO,
            env: &env,
            rng: &mut self.rng,
            queue,
            other_bytes: 0,
            accounting: &mut self.accounting,
        };
        self.policy.on_arrival(&mut cx, packet)
    }

    /// Raises p0 once. The arrival is as large as the largest packet.
    fn congest(mut self) -> Self {
        self.arrive(&mut queue(200, |seq| Packet::data(1000 + seq, seq, 1000)), &Packet::data(5000, 0, 1500));
        self
    }

    fn depart(&mut self, flow: u32) {
        let env = env();
        let queue = &mut Buffer::default();
        let mut cx = Context {
            now: Time::ZERO,
            env: &env,
            rng: &mut self.rng,
            queue,
            other_bytes: 0,
            accounting: &mut self.accounting,
        };
        self.policy.on_departure(&mut cx, &Packet::data(flow, 0, 1000), Dur::ZERO);
    }

    fn watch(&mut self, full: &Buffer, packet: &Packet) -> Seen {
        let mut seen = Seen::default();
        for _ in 0..ARRIVALS {
            let mut queue = full.clone();
            match self.arrive(&mut queue, packet) {
                Verdict::Drop(Reason::Matched) => match self.accounting.dropped.pop() {
                    Some((victim, Reason::Matched)) => {
                        assert_eq!((victim.flow(), queue.len()), (packet.flow(), full.len() - 1));
                        seen.pairs[victim.seq() as usize] += 1;
                    }
                    _ => seen.alone += 1,
                },
                Verdict::Pass => seen.entered += 1,
                other => panic!("{other:?}"),
            }
        }
        seen
    }
}

fn assert_share(count: u32, p: f64, what: &str) {
    let (n, got) = (f64::from(ARRIVALS), f64::from(count) / f64::from(ARRIVALS));
    let deviation = (p * (1.0 - p) / n).sqrt();
    assert!((got - p).abs() < 5.0 * deviation, "{what}: {got}, expected {p}");
}

/// Equation (4).
fn entry(p: f64, r: f64) -> f64 {
    (1.0 - r).powi(p.floor() as i32) * (1.0 - p.fract() * r)
}

/// The packets of flow 0 are dropped equally often: chi-square with 3 degrees of freedom, 0.1% point 16.27.
fn assert_equal_victims(pairs: &[u32]) {
    let own: Vec<f64> = pairs.iter().step_by(5).map(|&c| f64::from(c)).collect();
    let mean = own.iter().sum::<f64>() / f64::from(OWN);
    let chi: f64 = own.iter().map(|c| (c - mean).powi(2) / mean).sum();
    assert!(chi < 16.27, "{own:?}");
}

#[test]
fn chokew_lets_arrivals_in_with_the_probability_of_equation_4() {
    let weights = Value::Table([("AF11".to_string(), 2.0), ("AF21".to_string(), 4.0)].into());
    for p0 in [0.4, 1.0, 2.6, 30.5] {
        for (dscp, w) in [("DF", 1.0), ("AF11", 2.0), ("AF21", 4.0)] {
            let policy: chokew::ChokeW = policy(&held_at(p0), &[("weights", weights.clone())]);
            let packet = Packet::data(0, 100, 1000).with_head(Head::new(Dscp::parse(dscp).unwrap(), 0));
            let seen = Bench::new(policy).congest().watch(&waiting(), &packet);
            assert_share(seen.entered, entry(p0 / w, R), &format!("p0 = {p0}, w = {w}"));
            assert_eq!(seen.alone, 0);
            assert_equal_victims(&seen.pairs);
        }
    }
}

#[test]
fn chokew_in_bytes_goes_by_the_bytes_of_a_flow() {
    // Flow 0: two packets of 1500 and two of 100 bytes of 3200 + 16 x 300 = 8000: r = 0.4. An arrival of 500
    // bytes is compared with half as many.
    let size = |seq| match seq {
        0 | 5 => 1500,
        10 | 15 => 100,
        _ => 300,
    };
    let full = queue(WAITING, |seq| Packet::data(if seq % 5 == 0 { 0 } else { seq }, seq, size(seq)));
    let policy: chokew::ChokeW = policy(&held_at(2.6), &[("mode", Value::Choice("bytes".into()))]);
    let mut bench = Bench::new(policy).congest();
    let seen = bench.watch(&full, &Packet::data(0, 100, 500));
    assert_share(seen.entered, entry(1.3, 0.4), "500 bytes");
    // Packets are drawn by size: 15 large ones for each small one.
    let (large, small) = (seen.pairs[0] + seen.pairs[5], seen.pairs[10] + seen.pairs[15]);
    let share = f64::from(small) / f64::from(large + small);
    let deviation = (0.0625 * 0.9375 / f64::from(large + small)).sqrt();
    assert!((share - 0.0625).abs() < 5.0 * deviation, "{share} of the victims were small");
}

#[test]
fn a_number_of_draws_above_2_to_32_drops_every_arrival() {
    let policy: chokew::ChokeW = policy(&held_at(33.3), &[("mode", Value::Choice("bytes".into()))]);
    let mut bench = (0..40).fold(Bench::new(policy), |bench, _| bench.congest());
    // p = 40 x 33.3 x (2^32 - 1) / 1000 and more: above 2^32.
    assert_eq!(bench.watch(&waiting(), &Packet::data(0, 100, u32::MAX)).entered, 0);
}

#[test]
fn the_id_buffer_is_drawn_from_in_proportion_and_costs_the_arrival_alone() {
    // Figure 15: ten ids, three of flow 0; or three, of which there are fewer than draws. L = 21 with the arrival.
    // p = 1.5: 2 or 4 draws from the ids.
    for (ids, own) in [(10u32, 3u32), (3, 1)] {
        let mut params = held_at(1.5).to_vec();
        params.push(("ids", f64::from(ids)));
        let mut bench = Bench::new(policy::<chokew_id::ChokeWId>(&params, &[])).congest();
        // The ids of the first five are no longer kept.
        (0..5).for_each(|_| bench.depart(0));
        (0..ids).for_each(|i| bench.depart(if i < own { 0 } else { 100 + i }));
        let seen = bench.watch(&waiting(), &Packet::data(0, 100, 1000));
        let from_ids = f64::from(ids) / f64::from(21 + ids);
        let miss = 1.0 - f64::from(own) / f64::from(ids);
        let missed = 0.5 * miss.powi(2) + 0.5 * miss.powi(4);
        assert_share(seen.alone, from_ids * (1.0 - missed), &format!("lost alone, {ids} ids"));
        assert_share(seen.pairs.iter().sum(), (1.0 - from_ids) * (1.0 - entry(1.5, R)), "lost in pairs");
        assert_equal_victims(&seen.pairs);
    }
}

#[test]
fn choke_makes_the_draws_that_it_is_told_to() {
    for draws in [1.0, 3.0] {
        let params = [("draws", draws), ("w_q", 1.0), ("min_th", 1.0), ("max_th", 1000.0), ("max_p", 0.0)];
        let seen = Bench::new(policy::<choke::Choke>(&params, &[])).watch(&waiting(), &Packet::data(0, 100, 1000));
        assert_share(seen.entered, entry(draws, R), &format!("{draws} draws"));
        assert_equal_victims(&seen.pairs);
    }
}

/// An implementation of several draws: the place of the first match.
type Way<'a> = &'a mut dyn FnMut(&mut Rng, u32) -> Option<usize>;

#[test]
fn single_draws_and_counting_have_the_same_outcome() {
    let mut buffer = waiting();
    let places = places(waiting());
    // The queue makes few draws one by one, and counts instead of making many.
    let mut queue = |rng: &mut Rng, m| buffer.draw_match(rng, 0, m).map(|drawn| drawn.packet.seq() as usize);
    let mut serial = |rng: &mut Rng, m| rivals::serial(&places, rng, 0, m);
    let mut gathered = |rng: &mut Rng, m| rivals::gathered(&places, rng, 0, m);
    let ways: [(&str, Way<'_>); 3] = [("queue", &mut queue), ("serial", &mut serial), ("gathered", &mut gathered)];
    for (name, draw) in ways {
        for m in [1, 2, 5, 16, 17, 30] {
            let mut rng = Rng::named(u64::from(m), name);
            let mut pairs = [0; WAITING as usize];
            (0..ARRIVALS).filter_map(|_| draw(&mut rng, m)).for_each(|place| pairs[place] += 1);
            assert_share(ARRIVALS - pairs.iter().sum::<u32>(), entry(f64::from(m), R), &format!("{name}, {m} draws"));
            assert_equal_victims(&pairs);
        }
    }
}

#[test]
fn many_draws_by_size_hit_a_flow_of_few_bytes_as_often_as_single_ones() {
    // Flow 0 has two packets of 10 and two of 30 bytes, of 80 + 16 x 300 = 4880. A hundred draws are counted, not made.
    let size = |seq| match seq {
        0 | 5 => 10,
        10 | 15 => 30,
        _ => 300,
    };
    let mut full = queue(WAITING, |seq| Packet::data(if seq % 5 == 0 { 0 } else { seq }, seq, size(seq)));
    for m in [3, 100, 300] {
        let mut rng = Rng::named(u64::from(m), "by size");
        let mut pairs = [0; WAITING as usize];
        let hits = (0..ARRIVALS).filter_map(|_| full.draw_match_by_size(&mut rng, 300, 0, m));
        hits.for_each(|drawn| pairs[drawn.packet.seq() as usize] += 1);
        let hit = pairs.iter().sum::<u32>();
        assert_share(ARRIVALS - hit, (1.0 - 80.0 / 4880.0f64).powi(m as i32), &format!("{m} draws"));
        let large = f64::from(pairs[10] + pairs[15]) / f64::from(hit);
        let deviation = (0.75 * 0.25 / f64::from(hit)).sqrt();
        assert!((large - 0.75).abs() < 5.0 * deviation, "{m} draws: {large} of the victims were large");
    }
}

/// The places of a queue without holes.
fn places(mut queue: Buffer) -> Vec<rivals::Place> {
    std::iter::from_fn(|| queue.pop()).collect()
}
