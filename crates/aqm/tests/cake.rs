//! CAKE's shares: of flows, of hosts and of tins; its shaper, and its ACK filter.

use marqueue_aqm::{Discipline, Env, Limit, Qdisc, Signal};
use marqueue_core::{Bytes, Dscp, Dur, Ecn, Flags, Head, Packet, PolicySpec, Rate, Rng, Time, Value};

fn choice(name: &str) -> Value {
    Value::Choice(name.into())
}

fn cake(params: &[(&str, Value)]) -> Discipline {
    let env = Env {
        rate: Rate(100_000_000),
        mean_packet: Bytes(1000),
        limit: Limit::Packets(1_000_000),
        delay: Dur::ZERO,
        signal: Signal::Ecn,
        densities: None,
    };
    let params = params.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    let spec = PolicySpec { name: "cake".into(), params };
    Discipline::build(&spec, env, Rng::named(1, "cake")).expect("valid parameters")
}

/// Packets of each flow (code point, number of flows, packets a flow), all at once; then how many of each code point leave.
fn shares(queue: &mut Discipline, groups: &[(&str, u32)], departures: u32) -> Vec<f64> {
    let mut flow = 0;
    let dscps: Vec<Dscp> = groups.iter().map(|(name, _)| Dscp::parse(name).expect("a name")).collect();
    for (&(_, flows), &dscp) in groups.iter().zip(&dscps) {
        for _ in 0..flows {
            for seq in 0..departures {
                let head = Head::new(dscp, 0).with_ecn(Ecn::Ect0);
                queue.enqueue(Time::ZERO, Packet::data(flow, seq, 1000).with_head(head));
            }
            flow += 1;
        }
    }
    let departed: Vec<Packet> = (0..departures).filter_map(|_| queue.dequeue(Time::ZERO)).map(|(p, _)| p).collect();
    dscps.iter().map(|dscp| departed.iter().filter(|p| p.dscp() == *dscp).count() as f64).collect()
}

#[test]
fn hosts_share_equally_or_flows_do() {
    // Two hosts, told apart by code point, with 7 flows and one flow.
    let groups = [("DF", 7), ("AF11", 1)];
    let of = |isolation: &str| {
        let hosts = [("source_host", choice("dscp")), ("destination_host", choice("all"))];
        let params = [&[("diffserv", choice("besteffort")), ("isolation", choice(isolation))], &hosts[..]].concat();
        shares(&mut cake(&params), &groups, 4_000)[1] / 4_000.0
    };
    for (isolation, share) in [
        ("flows", 1.0 / 8.0),
        ("dual_srchost", 0.5),
        // All flows have one destination, so each counts eight of them.
        ("dual_dsthost", 1.0 / 8.0),
        ("srchost", 0.5),
    ] {
        // Quanta are rounded at random and the first turns are at full quanta.
        assert!((of(isolation) - share).abs() < 0.02, "{isolation}: {} instead of {share}", of(isolation));
    }
}

#[test]
fn tins_without_a_shaper_share_by_weight() {
    // diffserv4: best effort 1024, bulk 64, video 512, voice 256, of 1856.
    let groups = [("DF", 1), ("CS1", 1), ("AF41", 1), ("EF", 1)];
    let got = shares(&mut cake(&[("diffserv", choice("diffserv4"))]), &groups, 20_000);
    for (got, weight) in got.iter().zip([1024.0, 64.0, 512.0, 256.0]) {
        let expected = 20_000.0 * weight / 1856.0;
        assert!((got - expected).abs() < 0.01 * 20_000.0, "{got} instead of {expected}");
    }
}

#[test]
fn the_shaper_releases_packets_at_its_rate() {
    let number = Value::Number;
    for (params, size) in [
        (vec![], 1000.0),
        (vec![("overhead", number(38.0)), ("mpu", number(84.0))], 1038.0),
        (vec![("framing", choice("ptm"))], 1016.0),
    ] {
        let mut queue = cake(&[&[("bandwidth", number(1e7))], &params[..]].concat());
        for seq in 0..2_000 {
            queue.enqueue(Time::ZERO, Packet::data(seq % 50, seq, 1000));
        }
        let mut now = Time::ZERO;
        let mut departures = 0.0;
        while departures < 1_000.0 {
            if queue.dequeue(now).is_some() {
                departures += 1.0;
            } else {
                assert!(queue.next_timer() > now, "a shaper that holds packets says until when");
                now = queue.next_timer();
                queue.on_timer(now);
            }
            queue.drain_dropped();
        }
        // The last packet leaves at the start of its time.
        let expected = 999.0 * size * 8.0 / 1e7;
        assert!(((now - Time::ZERO).secs() / expected - 1.0).abs() < 1e-6, "{now:?} instead of {expected} s");
    }
}

#[test]
fn superfluous_acknowledgements_are_dropped() {
    let counted = |filter: &str| {
        let mut queue = cake(&[("ack_filter", choice(filter))]);
        for seq in 0..10 {
            let head = Head::default().with(Flags::ACK);
            queue.enqueue(Time::ZERO, Packet::data(0, seq, 40).with_head(head));
            assert!(queue.conserves());
        }
        let left: Vec<u32> = std::iter::from_fn(|| queue.dequeue(Time::ZERO)).map(|(p, _)| p.seq()).collect();
        (left, queue.counters().dropped())
    };
    assert_eq!(counted("off"), ((0..10).collect(), 0));
    assert_eq!(counted("on"), (vec![8, 9], 8));
    assert_eq!(counted("aggressive"), (vec![9], 9));
}
