//! Prices that queues report to packets with router feedback.

use marqueue_aqm::{catalogue, Discipline, Env, Limit, Qdisc, Signal};
use marqueue_core::params::{ParamValues, Value};
use marqueue_core::{Bytes, Dscp, Dur, Head, Packet, PolicySpec, Price, Rate, Rng, Time};

fn queue(name: &str, params: &[(&str, f64)]) -> Discipline {
    let params: ParamValues = params.iter().map(|&(k, v)| (k.into(), Value::Number(v))).collect();
    let spec = PolicySpec { name: name.into(), params };
    let env = Env {
        rate: Rate(8_000_000),
        mean_packet: Bytes(1000),
        limit: Limit::Packets(100),
        delay: Dur::ZERO,
        signal: Signal::Drop,
        densities: None,
    };
    Discipline::build(&spec, env, Rng::named(1, "prices")).expect("valid parameters")
}

/// The price for the last of `n` packets of a code point that arrive at `ms`.
fn price_at(queue: &mut Discipline, ms: u64, dscp: &str, n: u32) -> Option<Price> {
    let packet = Packet::data(0, 0, 1000).with_head(Head::new(Dscp::parse(dscp).expect("a code point"), 0));
    for _ in 0..n {
        queue.enqueue(Time(ms * 1_000_000), packet);
    }
    queue.price(&packet)
}

#[test]
fn prices_start_after_the_first_interval_and_count_intervals() {
    let mut q = queue("mkc", &[("delta", 0.01)]);
    assert_eq!(price_at(&mut q, 0, "DF", 20), None);
    let first = Price { router: 0, seq: 1, p: 0.5, delta: 0.01 };
    assert_eq!(price_at(&mut q, 10, "DF", 5), Some(first));
    assert_eq!(price_at(&mut q, 19, "DF", 1), Some(first));
    // The interval from 10 to 20 ms had 6 packets. The next one had none, which counts as one packet.
    assert_eq!(price_at(&mut q, 31, "DF", 1), Some(Price { seq: 3, p: -9.0, ..first }));
}

#[test]
fn a_class_reports_the_price_of_its_share() {
    let mut q = queue("drr_mkc", &[("delta", 0.01), ("share", 0.25)]);
    price_at(&mut q, 0, "EF", 10);
    price_at(&mut q, 0, "AF11", 2);
    // A class exists since its first packet. 8 Mbit/s arrive at a share of 2 Mbit/s, and 1.6 Mbit/s at 2 Mbit/s.
    assert_eq!(price_at(&mut q, 12, "EF", 1).map(|x| x.p), Some(0.75));
    assert_eq!(price_at(&mut q, 12, "AF11", 1).map(|x| x.p), Some(-0.25));
    // The router of an empty class continues to count intervals.
    while q.dequeue(Time(13_000_000)).is_some() {}
    assert_eq!(price_at(&mut q, 35, "EF", 1).map(|x| x.seq), Some(3));
}

#[test]
fn only_algorithms_listed_with_prices_report_one() {
    for entry in catalogue() {
        let mut q = queue(entry.name, &[]);
        price_at(&mut q, 0, "DF", 1);
        assert_eq!(price_at(&mut q, 3_600_000, "DF", 1).is_some(), entry.prices, "{}", entry.name);
    }
}
