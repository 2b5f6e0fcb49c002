//! Tests of the packet-level chain: the effect of each assumption, in cases that can be computed by hand.

use marqueue_core::curve::{MarkingCurve, ScaledCurve};
use marqueue_theory::packet_level_chain::{Class, PacketLevelChain, QueueModel, SendingModel, Service, Setup};

/// Marks no packet.
const NEVER: &str = "red:1000000:2000000:0.1";
/// Marks every packet that does not find the queue empty.
const BUSY: &str = "points:0,0;0.001,1";
const SHARED: QueueModel = QueueModel::Shared { service: Service::Constant, adds_delay: false };

fn setup(curve: &str, flows: u32, rtt: f64, sending: SendingModel, queue_model: QueueModel) -> Setup {
    let curve = ScaledCurve::new(MarkingCurve::parse(curve).expect("a curve"), f64::from(flows), 0.2, 0.3, 1e6);
    Setup { curve, classes: vec![Class { flows, rtt }], ct: 1e3, max_window: 1e4, sending, queue_model }
}

#[test]
fn unmarked_windows_grow_by_a_packet_a_round_trip() {
    for sending in [SendingModel::Rounds, SendingModel::Poisson, SendingModel::AckClocked] {
        for rtt in [0.5, 2.0] {
            let mut flows = PacketLevelChain::new(setup(NEVER, 20, rtt, sending, SHARED), 1, "test");
            flows.run(4.0);
            let before = flows.total_window();
            flows.run(24.0);
            let growth = (flows.total_window() - before) / 20.0;
            // The number of acknowledgements is the window of a round trip ago, smaller by one packet of 10 or more.
            assert!((0.9..1.01).contains(&(growth * rtt / 20.0)), "{sending:?}, {rtt} T: {growth} packets in 20 T");
        }
    }
}

#[test]
fn marks_halve_windows_once_a_round_trip_down_to_one_packet() {
    // Round trips of T/100 overload the link even at windows of 1, so the queue is never empty.
    for sending in [SendingModel::Rounds, SendingModel::Poisson, SendingModel::AckClocked] {
        let setup = Setup { ct: 32.0, ..setup(BUSY, 64, 0.01, sending, SHARED) };
        let mut flows = PacketLevelChain::new(setup, 1, "test");
        let mut last: Vec<f64> = flows.windows().collect();
        assert!(last.iter().any(|w| *w > 60.0));
        // Windows are compared a round trip apart. Two halvings are at least a round trip apart, so at most two fall
        // into the interval.
        for round in 1..30 {
            flows.run(f64::from(round) * 0.01);
            let now: Vec<f64> = flows.windows().collect();
            assert!(now.iter().zip(&last).all(|(now, last)| *now >= (last / 4.0).floor().max(1.0)), "{sending:?}");
            last = now;
        }
        flows.run(1.0);
        assert!(flows.windows().all(|w| w == 1.0), "{sending:?}");
        assert_eq!(flows.total_window(), 64.0);
    }
}

#[test]
fn ack_clocked_flows_keep_a_window_in_flight() {
    // Without marks and with windows that cannot grow, each flow sends w packets a round trip.
    let constant = Setup { max_window: 8.0, ct: 8.0, ..setup(NEVER, 5, 1.0, SendingModel::AckClocked, SHARED) };
    let mut flows = PacketLevelChain::new(constant, 1, "test");
    flows.run(50.0);
    assert_eq!(flows.total_window(), 40.0);
    let before = flows.entered();
    flows.run(60.0);
    assert_eq!(flows.entered() - before, 400);
}

#[test]
fn queueing_delay_lengthens_the_round_trip() {
    // 5 flows of 16 packets over a link of 40 packets a T: with queueing delay the rate is that of the link.
    for (adds_delay, packets) in [(false, 800), (true, 400)] {
        let queue_model = QueueModel::Shared { service: Service::Constant, adds_delay };
        let full = Setup { max_window: 16.0, ct: 8.0, ..setup(NEVER, 5, 1.0, SendingModel::AckClocked, queue_model) };
        let mut flows = PacketLevelChain::new(full, 1, "test");
        flows.run(50.0);
        let before = flows.entered();
        flows.run(60.0);
        assert!((flows.entered() - before).abs_diff(packets) <= 1, "{adds_delay}: {}", flows.entered() - before);
    }
}

#[test]
fn draws_depend_on_name_and_seed_only() {
    let run = |seed| {
        let busy = Setup { ct: 5.0, ..setup("red:2:10:0.2", 30, 1.0, SendingModel::Poisson, QueueModel::Stationary) };
        let mut flows = PacketLevelChain::new(busy, seed, "test");
        flows.run(30.0);
        flows.windows().collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
