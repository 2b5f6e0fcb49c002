//! Flows packet by packet: what each assumption means, where it can be said by hand.

use marqueue_core::curve::{MarkingCurve, ScaledCurve};
use marqueue_theory::packet_level_chain::{Class, PacketLevelChain, QueueModel, SendingModel, Service, Setup};

const NEVER: &str = "red:1000000:2000000:0.1";
/// All that find a packet.
const BUSY: &str = "points:0,0;0.001,1";
const ONE: QueueModel = QueueModel::Common { service: Service::Constant, waits: false };

fn setup(curve: &str, flows: u32, rtt: f64, sending: SendingModel, queue_model: QueueModel) -> Setup {
    let curve = ScaledCurve::new(MarkingCurve::parse(curve).expect("a curve"), f64::from(flows), 0.2, 0.3, 1e6);
    Setup { curve, classes: vec![Class { flows, rtt }], ct: 1e3, greatest: 1e4, sending, queue_model }
}

#[test]
fn nobody_who_is_not_marked_gains_other_than_a_packet_a_round_trip() {
    for sending in [SendingModel::Rounds, SendingModel::Echoes, SendingModel::Clock] {
        for rtt in [0.5, 2.0] {
            let mut flows = PacketLevelChain::new(setup(NEVER, 20, rtt, sending, ONE), 1, "test");
            flows.run(4.0);
            let before = flows.windows();
            flows.run(24.0);
            let each = (flows.windows() - before) / 20.0;
            // Answers are as many as the window a round trip before, which was a packet less: of 10 and more.
            assert!((0.9..1.01).contains(&(each * rtt / 20.0)), "{sending:?}, {rtt} T: {each} packets in 20 T");
        }
    }
}

#[test]
fn marks_halve_windows_once_a_round_trip_down_to_one_packet() {
    // Round trips of T/100 overload the link even at windows of 1, so that there always is a queue.
    for sending in [SendingModel::Rounds, SendingModel::Echoes, SendingModel::Clock] {
        let setup = Setup { ct: 32.0, ..setup(BUSY, 64, 0.01, sending, ONE) };
        let mut flows = PacketLevelChain::new(setup, 1, "test");
        let mut last: Vec<f64> = flows.each().collect();
        assert!(last.iter().any(|w| *w > 60.0));
        // Looks are a round trip apart; a halving may fall on either side of one, two need a round trip between.
        for look in 1..30 {
            flows.run(f64::from(look) * 0.01);
            let now: Vec<f64> = flows.each().collect();
            assert!(now.iter().zip(&last).all(|(now, last)| *now >= (last / 4.0).floor().max(1.0)), "{sending:?}");
            last = now;
        }
        flows.run(1.0);
        assert!(flows.each().all(|w| w == 1.0), "{sending:?}");
        assert_eq!(flows.windows(), 64.0);
    }
}

#[test]
fn the_clock_keeps_a_window_on_its_way_and_no_more() {
    // No mark, windows that cannot grow: w packets a round trip, to the packet.
    let still = Setup { greatest: 8.0, ct: 8.0, ..setup(NEVER, 5, 1.0, SendingModel::Clock, ONE) };
    let mut flows = PacketLevelChain::new(still, 1, "test");
    flows.run(50.0);
    assert_eq!(flows.windows(), 40.0);
    let before = flows.entered();
    flows.run(60.0);
    assert_eq!(flows.entered() - before, 400);
}

#[test]
fn who_waits_has_a_longer_round_trip() {
    // 5 flows of 16 packets over a link of 40 packets a T: the rest waits, and the link is full.
    for (waits, packets) in [(false, 800), (true, 400)] {
        let queue_model = QueueModel::Common { service: Service::Constant, waits };
        let full = Setup { greatest: 16.0, ct: 8.0, ..setup(NEVER, 5, 1.0, SendingModel::Clock, queue_model) };
        let mut flows = PacketLevelChain::new(full, 1, "test");
        flows.run(50.0);
        let before = flows.entered();
        flows.run(60.0);
        assert!((flows.entered() - before).abs_diff(packets) <= 1, "{waits}: {}", flows.entered() - before);
    }
}

#[test]
fn the_same_name_and_seed_draw_the_same() {
    let run = |seed| {
        let busy = Setup { ct: 5.0, ..setup("red:2:10:0.2", 30, 1.0, SendingModel::Echoes, QueueModel::Own) };
        let mut flows = PacketLevelChain::new(busy, seed, "test");
        flows.run(30.0);
        flows.each().collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
