//! A link for other programs (`marqueue_aqm::Bottleneck`) sends the packets that a link of the simulator does, at the same
//! nanoseconds, under every algorithm.

use marqueue_aqm::{catalogue, Config, Discipline, Env, Header, Limit, Qdisc, Signal};
use marqueue_core::units::Transmitter;
use marqueue_core::{Bytes, Dscp, Dur, Ecn, Flags, Head, Packet, PolicySpec, Rate, Rng, Time, Value};
use marqueue_sim::meter::Meter;
use marqueue_sim::resource::{Resource, Server};

const RATE: Rate = Rate(10_000_000);
const DELAY: Dur = Dur(3_000_000);
const SEED: u64 = 26;

/// Defaults, and what has none.
fn settings() -> Vec<PolicySpec> {
    let mut all: Vec<_> = catalogue()
        .into_iter()
        .map(|entry| {
            let given = [("l_th", 5.0), ("l_minus", 10.0), ("l_plus", 20.0), ("p_plus", 0.5), ("p_minus", 0.25)];
            let declared = |name: &str| entry.params.iter().any(|spec| spec.name == name);
            let thresholds = given.into_iter().filter(|(name, _)| declared(name));
            let params = thresholds.map(|(name, value)| (name.into(), Value::Number(value))).collect();
            PolicySpec { name: entry.name.into(), params }
        })
        .collect();
    // The one with a shaper: it holds packets until its timer.
    all.push(PolicySpec { name: "cake".into(), params: [("bandwidth".into(), Value::Number(7e6))].into() });
    all
}

/// Arrivals of 400 packets in bursts and pauses, many of them together, at 14 Mbit/s. The first is at 0, where the clock of a
/// link for other programs begins.
fn arrivals() -> Vec<(Time, Header)> {
    let (mut rng, mut now) = (Rng::named(SEED, "arrivals"), Time::ZERO);
    (0..400)
        .map(|i| {
            if i > 0 && rng.uniform() < 0.4 {
                now += Dur::from_secs(rng.exponential(0.0012));
            }
            if i > 0 && rng.uniform() < 0.01 {
                now += Dur(200_000_000);
            }
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][rng.below(3) as usize];
            let header = Header::new([60, 1000, 1500][rng.below(3) as usize], rng.below(5), ecn);
            (now, header.with_dscp(Dscp::from_bits(rng.below(64) as u8)))
        })
        .collect()
}

/// Number, time at the far end and ECN field of each packet: of the simulator's link.
fn simulated(spec: &PolicySpec) -> Vec<(u32, Time, Ecn)> {
    let env = Env {
        rate: RATE,
        mean_packet: Bytes(1000),
        limit: Limit::Packets(40),
        delay: DELAY,
        signal: Signal::Ecn,
        densities: None,
    };
    let queue = Discipline::build(spec, env, Rng::named(SEED, "embed")).expect("an algorithm of the list");
    let meter = Meter::new(queue.probes(), 1);
    let mut link = Resource::new(queue, Server::Link(Transmitter::new(RATE)), DELAY, &[], meter);
    let mut left = Vec::new();
    for (number, (now, header)) in arrivals().into_iter().enumerate() {
        if now > Time::ZERO {
            left.extend(std::iter::from_fn(|| link.next_departure(Time(now.0 - 1))));
        }
        let flags = if header.ecn == Ecn::NotEct { Flags::NONE } else { Flags::ANSWERS_CE };
        let head = Head::new(header.dscp, 0).with(flags).with_ecn(header.ecn);
        link.enqueue(now, Packet::data(header.flow, number as u32, header.bytes).with_head(head));
        left.extend(link.start(now));
    }
    left.extend(std::iter::from_fn(|| link.next_departure(Time(60_000_000_000))));
    assert!(link.qdisc.is_empty());
    left.into_iter().map(|(packet, at)| (packet.seq(), at, packet.ecn())).collect()
}

/// The same of the link for other programs, whose clock began at `start`.
fn embedded(spec: &PolicySpec, start: u64) -> Vec<(u32, Time, Ecn)> {
    let config =
        Config::new(&spec.name, RATE).mean_packet(Bytes(1000)).buffer(Limit::Packets(40)).delay(DELAY).seed(SEED);
    let config = spec.params.iter().fold(config, |config, (name, value)| config.set(name, value.clone()));
    let mut link = config.bottleneck().expect("an algorithm of the list");
    let (mut left, mut arrivals) = (Vec::new(), arrivals().into_iter().zip(0..).peekable());
    loop {
        let arrival = arrivals.peek().map(|((at, _), _)| Time(at.0 + start));
        match (arrival, link.next_event()) {
            (Some(at), event) if event.is_none_or(|event| at <= event) => {
                let Some(((_, header), number)) = arrivals.next() else { unreachable!("it was peeked") };
                link.send(at, header, number);
            }
            (_, Some(event)) => {
                let delivery = link.receive(event);
                left.extend(delivery.map(|d| (d.packet.payload, Time(d.at.0 - start), d.packet.header.ecn)));
            }
            (_, None) => return left,
        }
    }
}

#[test]
fn it_sends_what_a_link_of_the_simulator_sends() {
    for spec in settings() {
        let expected = simulated(&spec);
        assert!(expected.len() > 100, "{}: {} packets", spec.name, expected.len());
        for start in [0, 1 << 61] {
            let found = embedded(&spec, start);
            let differs = found.iter().zip(&expected).find(|(found, expected)| found != expected);
            assert_eq!((differs, found.len()), (None, expected.len()), "{}", spec.name);
        }
    }
}
