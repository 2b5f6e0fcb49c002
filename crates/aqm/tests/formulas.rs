//! Formulas of the papers, measured on running disciplines.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

use marqueue_aqm::{Densities, Discipline, EnqueueOutcome, Env, Limit, Qdisc, Signal};
use marqueue_core::{Bytes, Dur, Ecn, Packet, PolicySpec, Rate, Rng, Time, Value};
use std::collections::BTreeSet;

/// 10^6 bytes/s and packets of 1000 bytes: one packet a millisecond.
const C: f64 = 1e6;
const PACKET: u32 = 1000;
const MS: u64 = 1_000_000;

fn env(limit: u32, signal: Signal) -> Env {
    Env {
        rate: Rate(8_000_000),
        mean_packet: Bytes(1000),
        limit: Limit::Packets(limit),
        delay: Dur::ZERO,
        signal,
        densities: None,
    }
}

fn spec(name: &str, params: &[(&str, f64)]) -> PolicySpec {
    let params = params.iter().map(|(k, v)| (k.to_string(), Value::Number(*v))).collect();
    PolicySpec { name: name.into(), params }
}

fn queue(spec: &PolicySpec, env: Env) -> Discipline {
    Discipline::build(spec, env, Rng::named(7, "formulas")).expect("valid parameters")
}

fn probe(queue: &Discipline, name: &str, now: Time) -> f64 {
    let mut values = Vec::new();
    queue.probe(now, &mut values);
    let at = queue.probes().iter().position(|(n, _)| *n == name).expect("a probe of this name");
    values[at]
}

fn packet(seq: u32) -> Packet {
    Packet::data(0, seq, PACKET).with_ecn(Ecn::Ect0)
}

/// Sends `n` packets, one every `gap` ns from `start` on, and serves each at once. Returns which were marked.
fn send(queue: &mut Discipline, start: u64, gap: u64, n: u32) -> Vec<bool> {
    (0..n)
        .map(|i| {
            let now = Time(start + u64::from(i) * gap);
            let fate = queue.enqueue(now, packet(i));
            queue.dequeue(now);
            fate == EnqueueOutcome::Marked
        })
        .collect()
}

fn share(marks: &[bool]) -> f64 {
    marks.iter().filter(|m| **m).count() as f64 / marks.len() as f64
}

#[test]
fn avq_loses_virtual_capacity_at_the_slope_of_equation_1_and_then_marks_everything() {
    let (gamma, alpha, gap) = (0.98, 0.15, 800_000);
    let lambda = f64::from(PACKET) / (gap as f64 * 1e-9);
    let mut q = queue(&spec("avq", &[("gamma", gamma), ("alpha", alpha)]), env(100, Signal::Ecn));
    let start = 1000 * MS;
    send(&mut q, 0, start, 1);
    let before = probe(&q, "virtual_capacity", Time(0)) / 8.0;
    assert_eq!(before, C - alpha * f64::from(PACKET));
    // Measured from the first to the last of n packets. The idle second before them only fills the bucket.
    let n = 5000;
    send(&mut q, start, gap, n);
    let end = start + u64::from(n - 1) * gap;
    let after = probe(&q, "virtual_capacity", Time(end)) / 8.0;
    let first = C - alpha * f64::from(PACKET);
    let expected = first + alpha * (gamma * C - lambda) * (end - start) as f64 * 1e-9;
    assert!((after - expected).abs() < 1e-3, "{after} after {n} packets, expected {expected}");
    // At this slope C~ is zero after C/(alpha (lambda - gamma C)) = 24.7 s.
    let marks = send(&mut q, end + gap, gap, 40_000);
    assert!(probe(&q, "virtual_capacity", Time(end + 40_000 * gap)) < 8.0 * alpha * gamma * C * gap as f64 * 1e-9);
    assert_eq!(share(&marks[35_000..]), 1.0);
}

#[test]
fn avq_marks_the_excess_of_arrivals_over_virtual_capacity() {
    // Equation 6, p = (lambda - C~)/lambda, with C~ held by alpha = 0 and lambda = C.
    for initial in [0.1, 0.5, 0.75, 0.9] {
        let mut q = queue(&spec("avq", &[("alpha", 0.0), ("initial", initial)]), env(10, Signal::Ecn));
        let marks = send(&mut q, 0, MS, 20_000);
        let p = share(&marks[1_000..]);
        assert!((p - (1.0 - initial)).abs() < 1e-3, "C~ = {initial} C: {p} of the packets were marked");
    }
}

#[test]
fn avq_is_in_equilibrium_at_the_desired_utilization() {
    let mut q = queue(&spec("avq", &[("gamma", 0.8), ("initial", 0.5)]), env(100, Signal::Ecn));
    let gap = MS * 10 / 8;
    send(&mut q, 0, gap, 1);
    let before = probe(&q, "virtual_capacity", Time(0));
    send(&mut q, gap, gap, 10_000);
    let after = probe(&q, "virtual_capacity", Time(10_000 * gap));
    assert!((after - before).abs() < 1e-3, "{before} became {after}");
}

#[test]
fn avq_that_adapts_every_tenth_packet_loses_the_same_virtual_capacity_in_steps() {
    let (gamma, alpha, gap, every) = (0.98, 0.15, 800_000, 10.0);
    let given = [("gamma", gamma), ("alpha", alpha), ("adapt_every", every)];
    let mut q = queue(&spec("avq", &given), env(100, Signal::Ecn));
    let mut capacities = Vec::new();
    for i in 0..=1000 {
        send(&mut q, i * gap, gap, 1);
        capacities.push(probe(&q, "virtual_capacity", Time(i * gap)) / 8.0);
    }
    let (first, last) = (capacities[9], capacities[999]);
    assert!(capacities[..9].iter().all(|&c| c == C), "nothing changes before the tenth packet");
    for block in capacities[9..999].chunks(10) {
        assert!(block.iter().all(|&c| c == block[0]), "it changes at every tenth packet only");
    }
    // The slope of equation (1), between two updates.
    let lambda = f64::from(PACKET) / (gap as f64 * 1e-9);
    let expected = first + alpha * (gamma * C - lambda) * 990.0 * gap as f64 * 1e-9;
    assert!((last - expected).abs() < 1e-3, "{last}, expected {expected}");
}

#[test]
fn gkvq_with_a_buffer_of_its_own_marks_as_with_that_share_of_the_real_one() {
    // theta B = 18 packets; a buffer of 9 overflows sooner.
    let marks = |params: &[(&str, f64)]| {
        let mut q = queue(&spec("gkvq", params), env(20, Signal::Ecn));
        let mut traffic = Rng::named(5, "arrivals");
        let mut now = 0;
        for seq in 0..20_000 {
            now += Dur::from_secs(traffic.exponential(1.3 / 1000.0)).0;
            q.enqueue(Time(now), packet(seq));
            q.dequeue(Time(now));
        }
        q.counters().marked()
    };
    let usual = marks(&[("theta", 0.9)]);
    assert!(usual > 100, "{usual} marks");
    assert_eq!(marks(&[("theta", 0.9), ("buffer", 18.0)]), usual);
    assert!(marks(&[("theta", 0.9), ("buffer", 9.0)]) > usual);
}

#[test]
fn avq_that_drops_matches_the_accepted_rate_to_the_desired_utilization() {
    // lambda = 1.5 C; if marks are drops, gamma C is admitted (Experiment 6).
    let mut q = queue(&spec("avq", &[("gamma", 0.9), ("alpha", 1.0)]), env(100, Signal::Drop));
    let gap = MS * 2 / 3;
    send(&mut q, 0, gap, 60_000);
    let before = q.counters().departures;
    send(&mut q, 60_000 * gap, gap, 15_000);
    let accepted = (q.counters().departures - before) as f64 / (15_000.0 * gap as f64 * 1e-9);
    assert!((accepted / 900.0 - 1.0).abs() < 0.01, "{accepted} packets/s were admitted, 900 desired");
}

#[test]
fn avq_with_drop_tail_inside_is_avq() {
    let mut traffic = Rng::named(3, "arrivals");
    let arrivals: Vec<Time> = (0..50_000)
        .scan(0.0, |t, _| {
            *t += traffic.exponential(1.0 / 1020.0);
            Some(Time(0) + Dur::from_secs(*t))
        })
        .collect();
    let inner = Value::Policy(spec("droptail", &[]));
    let mut with_inner = spec("avq_inner", &[]);
    with_inner.params.insert("inner".into(), inner);
    let mut shares = [spec("avq", &[]), with_inner].map(|s| {
        let mut q = queue(&s, env(20, Signal::Ecn));
        let mut marked = 0;
        for (i, now) in arrivals.iter().enumerate() {
            marked += u32::from(q.enqueue(*now, packet(i as u32)) == EnqueueOutcome::Marked);
            q.dequeue(*now);
        }
        f64::from(marked) / arrivals.len() as f64
    });
    shares.sort_by(f64::total_cmp);
    let [low, high] = shares;
    // The packet in virtual service makes the buffer larger by one packet, so there are slightly fewer marks.
    assert!(low > 0.02 && high - low < 0.1 * high, "{low} and {high} of the packets were marked");
}

/// The virtual queue drops what its AQM signals, whatever the link does with a signal.
#[test]
fn an_aqm_inside_avq_signals_alike_on_every_link() {
    let inner = spec("red", &[("w_q", 1.0), ("min_th", 1.0), ("max_th", 15.0), ("max_p", 1.0)]);
    let mut s = spec("avq_inner", &[]);
    s.params.insert("inner".into(), Value::Policy(inner));
    let marks = |signal| {
        let mut q = queue(&s, env(20, signal));
        send(&mut q, 0, MS * 9 / 10, 5_000)
    };
    let ecn = marks(Signal::Ecn);
    assert!(share(&ecn) > 0.01, "{} of the packets were marked", share(&ecn));
    assert_eq!(marks(Signal::EcnOnly), ecn);
}

/// Packets between signals at a constant average queue of q = 4: min_th = 3, max_th = 13, max_p = 1, so
/// p_b = 0.1.
fn red_gaps(wait: bool) -> Vec<u32> {
    let mut s = spec("red", &[("w_q", 1.0), ("min_th", 3.0), ("max_th", 13.0), ("max_p", 1.0)]);
    s.params.insert("wait".into(), Value::Flag(wait));
    let mut q = queue(&s, env(100, Signal::Ecn));
    for i in 0..4 {
        q.enqueue(Time(0), packet(i));
    }
    let marks = send(&mut q, MS, MS, 200_000);
    let at: Vec<u32> = (0..marks.len() as u32).filter(|i| marks[*i as usize]).collect();
    at.windows(2).map(|w| w[1] - w[0]).collect()
}

#[test]
fn red_spaces_signals_uniformly() {
    // Floyd and Jacobson 1993, section 8, method 2: uniform, here on 1 .. 1/p_b - 1, as the pseudocode (Fig. 2)
    // counts the arriving packet; with `wait` on 1/p_b .. 2/p_b - 1.
    for (wait, low, high) in [(false, 1, 9), (true, 10, 19)] {
        let gaps = red_gaps(wait);
        assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&low), Some(&high)), "wait = {wait}");
        let mean = gaps.iter().map(|g| f64::from(*g)).sum::<f64>() / gaps.len() as f64;
        let deviation = (99.0 / 12.0 / gaps.len() as f64).sqrt();
        let expected = f64::from(low + high) / 2.0;
        assert!((mean - expected).abs() < 5.0 * deviation, "wait = {wait}: mean {mean}, expected {expected}");
    }
}

#[test]
fn rem_and_pi_signal_with_the_probability_that_they_report() {
    // Twenty packets for one step: REM's mu = 20 - 0 - 0 = 20, p = 1 - 1.05^-20 = 0.62; PI's p = 0.02 (20 - 0) = 0.4.
    let rem = spec("rem", &[("gamma", 1.0), ("phi", 1.05), ("q_ref", 0.0), ("period", 1.0), ("alpha", 0.0)]);
    let pi = spec("pi", &[("a", 0.02), ("b", 0.01), ("q_ref", 0.0), ("w", 1.0)]);
    for (s, p) in [(rem, 1.0 - 1.05f64.powi(-20)), (pi, 0.4)] {
        let mut q = queue(&s, env(100, Signal::Ecn));
        for i in 0..20 {
            q.enqueue(Time(0), packet(i));
        }
        q.on_timer(q.next_timer());
        let now = Time(1000 * MS);
        assert!((probe(&q, "p", now) - p).abs() < 1e-12, "{}: p", s.name);
        let before = q.counters().marked();
        let n = 100_000;
        send(&mut q, now.0, 1, n);
        let got = (q.counters().marked() - before) as f64 / f64::from(n);
        let deviation = (p * (1.0 - p) / f64::from(n)).sqrt();
        assert!((got - p).abs() < 5.0 * deviation, "{}: {got} of the packets were marked, expected {p}", s.name);
    }
}

/// A queue that stands still at its reference is no idle one: its price goes on when packets leave and none arrives.
#[test]
fn a_price_falls_as_a_queue_drains_without_arrivals() {
    for (s, value) in [
        (spec("rem", &[("gamma", 0.01), ("q_ref", 10.0), ("period", 1e-3), ("alpha", 0.1)]), "price"),
        (spec("pi", &[("a", 0.002), ("b", 0.001), ("q_ref", 10.0), ("w", 1000.0)]), "p"),
    ] {
        let mut q = queue(&s, env(100, Signal::Ecn));
        for i in 0..20 {
            q.enqueue(Time(0), packet(i));
        }
        let mut now = Time(0);
        let mut pass = |q: &mut Discipline, periods: u64| {
            now += Dur(periods * MS);
            while q.next_timer() <= now {
                q.on_timer(q.next_timer());
            }
            now
        };
        let now = pass(&mut q, 20);
        (0..10).for_each(|_| assert!(q.dequeue(now).is_some()));
        let now = pass(&mut q, 5);
        let held = probe(&q, value, now);
        let now = pass(&mut q, 5);
        assert!(held > 0.0 && probe(&q, value, now) == held, "{}: at the reference it stays", s.name);
        (0..9).for_each(|_| assert!(q.dequeue(now).is_some()));
        let now = pass(&mut q, 5);
        assert!(probe(&q, value, now) < held, "{}: one packet is left, and nine are missing", s.name);
    }
}

#[test]
fn a_density_is_an_exponential_average_of_what_was_measured() {
    let mut estimated = Densities::new(vec![1.0, 8.0], 2.0, Some(0.25));
    estimated.measured(1, 4.0);
    assert_eq!([estimated.of(0), estimated.of(1)], [1.0, 7.0], "equation (1): 3/4 of 8 and 1/4 of 4");
    estimated.measured(1, 3.0);
    assert_eq!(estimated.of(1), 6.0);
    let mut fixed = Densities::new(vec![1.0, 8.0], 2.0, None);
    fixed.measured(1, 4.0);
    assert_eq!(fixed.of(1), 8.0);
}

/// The packets of a Poisson stream that GKVQ marks, and those that the paper's description marks.
fn gkvq_marks() -> (BTreeSet<u32>, BTreeSet<u32>) {
    let (theta, buffer) = (0.9, 20u32);
    let mut q = queue(&spec("gkvq", &[("theta", theta)]), env(buffer, Signal::Ecn));
    let mut traffic = Rng::named(5, "arrivals");
    let (mut marked, mut named) = (BTreeSet::new(), BTreeSet::new());
    let mut standing: Vec<u32> = Vec::new();
    let (mut now, mut free_at, mut vq, mut flag) = (0u64, 0u64, 0.0f64, false);
    for seq in 0..100_000 {
        let gap = Dur::from_secs(traffic.exponential(1.0 / 1000.0)).0;
        // The server takes a packet a millisecond while there are any.
        while !standing.is_empty() && free_at <= now + gap {
            let (p, _) = q.dequeue(Time(free_at.max(now))).expect("a standing packet");
            standing.remove(0);
            free_at = free_at.max(now) + MS;
            if p.ecn() == Ecn::Ce {
                marked.insert(p.seq());
            }
        }
        now += gap;
        vq = (vq - theta * C * gap as f64 * 1e-9).max(0.0);
        flag &= vq > 0.0;
        if vq + f64::from(PACKET) > theta * f64::from(buffer * PACKET) {
            flag = true;
            named.extend(&standing);
        } else {
            vq += f64::from(PACKET);
        }
        if q.enqueue(Time(now), packet(seq)) != EnqueueOutcome::Dropped {
            standing.push(seq);
            if flag {
                named.insert(seq);
            }
        }
    }
    (marked, named)
}

#[test]
fn gkvq_marks_at_departure_what_the_paper_marks_in_the_queue() {
    let (marked, named) = gkvq_marks();
    let differ = marked.symmetric_difference(&named).count();
    assert!(named.len() > 10_000, "only {} packets were to be marked", named.len());
    assert!(differ * 100 <= named.len(), "{differ} of {} packets differ", named.len());
}

/// With a timer every microsecond, an idle hour would have 3.6 10^9 of them. Timers pause when the state of an empty
/// queue no longer changes, and resume in phase.
#[test]
fn timers_pause_while_a_queue_is_idle() {
    let period = 1_000;
    let hour = Time(3_600_000 * MS);
    for spec in [
        spec("pie", &[("t_update", 1e-6)]),
        spec("pi", &[("w", 1e6)]),
        spec("rem", &[("period", 1e-6)]),
        spec("rem_rate", &[("period", 1e-6)]),
    ] {
        let mut queue = queue(&spec, env(1000, Signal::Ecn));
        for seq in 0..200 {
            queue.enqueue(Time::ZERO, Packet::data(0, seq, PACKET));
        }
        let timers_until = |queue: &mut Discipline, until: Time| {
            let mut n = 0;
            while queue.next_timer() <= until {
                let due = queue.next_timer();
                assert_eq!(due.0 % period, 0, "{}: not in phase", spec.name);
                queue.on_timer(due);
                n += 1;
            }
            n
        };
        assert_eq!(timers_until(&mut queue, Time(MS)), 1000, "{}: every microsecond while packets wait", spec.name);
        while queue.dequeue(Time(MS)).is_some() {}
        assert!(timers_until(&mut queue, hour) < 1_000_000, "{}: it does not pause", spec.name);
        let arrival = Time(hour.0 + 700);
        queue.enqueue(arrival, Packet::data(0, 200, PACKET));
        assert_eq!(queue.next_timer(), Time(hour.0 + period), "{}: not in phase", spec.name);
    }
}
