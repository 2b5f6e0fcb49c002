//! Queues for other programs: vectors worked by hand, every packet accounted for, absurd arguments.

use marqueue_aqm::{catalogue, Bottleneck, Bytes, Config, Counters, Dur, Ecn, EnqueueOutcome, Header, Limit, Rate};
use marqueue_aqm::{PacketQueue, ParamError, Reason, Signal, Time, Value};
use marqueue_core::Rng;

/// A packet of 1000 bytes, 1 ms at 8 Mbit/s.
fn packet(flow: u32) -> Header {
    Header::new(1000, flow, Ecn::Ect0)
}

fn ms(n: u64) -> Time {
    Time(n * 1_000_000)
}

#[test]
fn a_full_buffer_drops_and_packets_leave_one_transmission_apart() {
    let config =
        Config::new("droptail", Rate(8_000_000)).buffer(Limit::Packets(2)).delay(Dur(5_000_000)).keep_dropped();
    let mut link = config.bottleneck().unwrap();
    assert_eq!(link.next_event(), None);
    // One in transmission and two in the buffer.
    let verdicts = [0, 1, 2, 3].map(|i| link.send(ms(100), packet(i), i));
    let queued = EnqueueOutcome::Queued;
    assert_eq!(verdicts, [queued, queued, queued, EnqueueOutcome::Dropped]);
    let dropped: Vec<_> = link.take_dropped().into_iter().map(|d| (d.payload, d.reason)).collect();
    assert_eq!((dropped, link.take_dropped().len()), (vec![(3, Reason::Overflow)], 0));
    assert_eq!((link.queue_len(), link.queue_bytes(), link.next_event()), (2, 2000, Some(ms(106))));
    assert_eq!(link.receive(Time(ms(106).0 - 1)), None);
    // However late it is asked.
    let got: Vec<_> =
        std::iter::from_fn(|| link.receive(ms(500))).map(|d| (d.at, d.packet.payload, d.packet.sojourn)).collect();
    let expected = [(ms(106), 0, Dur(0)), (ms(107), 1, Dur(1_000_000)), (ms(108), 2, Dur(2_000_000))];
    assert_eq!((got, link.next_event()), (expected.to_vec(), None));
}

#[test]
fn codel_marks_what_has_waited_for_longer_than_its_target_for_an_interval() {
    let mut link = Config::new("codel", Rate(8_000_000)).bottleneck().unwrap();
    for i in 0..400 {
        link.send(ms(7), packet(1), i);
    }
    let mut marked = Vec::new();
    while let Some(d) = link.next_event().and_then(|at| link.receive(at)) {
        marked.extend((d.packet.header.ecn == Ecn::Ce).then_some(d.packet.payload));
    }
    // Packet n leaves after n ms. The sojourn is 5 ms at packet 5, so the first mark is 100 ms later, the next 100 ms after it,
    // then 100/sqrt(2) and 100/sqrt(3) ms: at the first departures not before 105, 205, 275.7 and 333.4 ms.
    assert_eq!(marked, [105, 205, 276, 334, 384]);
    assert_eq!(link.counters().marked(), 5);
}

#[test]
fn a_new_rate_holds_from_the_next_packet_on() {
    let mut link = Config::new("droptail", Rate(8_000_000)).bottleneck().unwrap();
    for i in 0..3 {
        link.send(ms(0), packet(1), i);
    }
    link.set_rate(Time(500_000), Rate(4_000_000)).unwrap();
    let times: Vec<_> = std::iter::from_fn(|| link.receive(ms(10))).map(|d| d.at).collect();
    assert_eq!(times, [ms(1), ms(3), ms(5)]);
}

#[test]
fn a_shaper_says_when_it_releases_a_packet() {
    // 1000 bytes at 4 Mbit/s: one each 2 ms.
    let mut queue = Config::new("cake", Rate(8_000_000)).set("bandwidth", 4e6).queue().unwrap();
    for i in 0..2 {
        queue.enqueue(ms(3), packet(1), i);
    }
    assert_eq!(queue.next_event(), None);
    assert_eq!(queue.dequeue(ms(3)).map(|d| d.payload), Some(0));
    assert_eq!((queue.dequeue(ms(4)), queue.next_event()), (None, Some(ms(5))));
    assert_eq!(queue.dequeue(ms(5)).map(|d| (d.payload, d.sojourn)), Some((1, Dur(2_000_000))));
    assert_eq!((queue.dequeue(ms(9)), queue.next_event()), (None, None));
}

/// Every algorithm by name, with the thresholds that have no defaults.
fn configs() -> Vec<Config> {
    let thresholds = [("l_th", 5.0), ("l_minus", 10.0), ("l_plus", 20.0), ("p_plus", 0.5), ("p_minus", 0.25)];
    let all = catalogue().into_iter().map(|entry| {
        let config = Config::new(entry.name, Rate(8_000_000)).buffer(Limit::Packets(30)).keep_dropped();
        let given = thresholds.iter().filter(|(name, _)| entry.params.iter().any(|spec| spec.name == *name));
        given.fold(config, |config, (name, value)| config.set(name, *value))
    });
    all.collect()
}

#[test]
fn every_packet_comes_out_once_whatever_the_clock_and_the_flows() {
    let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    for config in configs() {
        let mut queue: PacketQueue<u32> = config.queue().unwrap();
        let (mut rng, mut now, mut out) = (Rng::named(1, "calls"), 1_u64 << 50, Vec::new());
        for i in 0..500 {
            // Backwards, still, forwards; once into the far future.
            now = if i == 250 { u64::MAX - (1 << 40) } else { now + rng.bits() % 3_000_000 - 500_000 };
            let flow = [0, 7, u32::MAX][rng.below(3) as usize];
            let bytes = [1, 1500, Header::MAX_BYTES][rng.below(3) as usize];
            queue.enqueue(Time(now), Header::new(bytes, flow, ecn[rng.below(4) as usize]), i);
            if rng.uniform() < 0.6 {
                out.extend(queue.dequeue(Time(now)).map(|d| d.payload));
            }
        }
        while !queue.is_empty() {
            out.extend(queue.dequeue(queue.next_event().unwrap_or(Time(now))).map(|d| d.payload));
        }
        out.extend(queue.take_dropped().into_iter().map(|d| d.payload));
        out.sort_unstable();
        assert!(out.into_iter().eq(0..500), "{config:?}");
        let Counters { arrivals, departures, .. } = *queue.counters();
        assert_eq!(arrivals, departures + queue.counters().dropped());
        assert!(queue.variables().iter().all(|(_, _, value)| value.is_finite()));
    }
}

#[test]
fn mistakes_are_named() {
    let refused = |config: Config| {
        let error: ParamError = config.queue::<()>().map(drop).unwrap_err();
        let same = config.bottleneck::<()>().map(drop).unwrap_err();
        assert_eq!(error, same);
        error.to_string()
    };
    let codel = || Config::new("codel", Rate(1_000_000));
    assert!(refused(Config::new("codle", Rate(1))).starts_with("name: got \"codle\", expected one of droptail, red"));
    assert_eq!(refused(Config::new("codel", Rate(0))), "rate: got 0 bit/s, expected 1 to 1000000000000000");
    assert_eq!(refused(codel().mean_packet(Bytes(0))), "mean_packet: got 0 bytes, expected 1 to 2097152");
    assert_eq!(refused(codel().delay(Dur(u64::MAX))), "delay: got 18446744073709551615 ns, expected at most an hour");
    assert!(refused(codel().set("target", f64::NAN)).starts_with("target: got NaN, expected a number between"));
    assert!(refused(codel().set("target", "5 ms")).starts_with("target: got \"5 ms\", expected a number"));
    assert!(refused(codel().set("aim", Value::Flag(true))).starts_with("aim: unknown parameter"));
    let mut link: Bottleneck<()> = codel().signal(Signal::Drop).bottleneck().unwrap();
    assert!(link.set_rate(Time(0), Rate(u64::MAX)).is_err());
}

#[test]
#[should_panic(expected = "got a packet of 0 bytes")]
fn a_packet_without_bytes_is_a_bug() {
    Config::new("droptail", Rate(1)).queue().unwrap().enqueue(Time(0), Header::new(0, 0, Ecn::NotEct), ());
}
