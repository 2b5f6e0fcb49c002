//! Rate-based flows on sockets of the loopback interface.

use marqueue_cc::rate_based::AnyRateLaw;
use marqueue_core::params::{ParamValues, PolicySpec};
use marqueue_core::{Bytes, Time};
use marqueue_live::clock::Clock;
use marqueue_live::paced_flows::{FlowSpec, PacedFlows};
use marqueue_live::stop_handle::StopHandle;

const MS: u64 = 1_000_000;

fn flow(port: u16, law: &str, rate: f64, stop: Time) -> FlowSpec {
    let law = PolicySpec { name: law.into(), params: ParamValues::new() };
    FlowSpec {
        near: ([127, 0, 0, 1], port).into(),
        far: ([127, 0, 0, 1], 30_000 + port / 10).into(),
        law: AnyRateLaw::build(&law, Bytes(200)).expect("a law without required parameters"),
        rate,
        bytes: 200,
        start: Time(10 * MS),
        stop,
        ecn: true,
        dscp: 10,
        trace: true,
    }
}

#[test]
fn packets_are_sent_at_the_rate_of_their_law_and_counted_where_they_arrive() {
    let stop = Time(210 * MS);
    // Without a price the rate stays as it is.
    let flows = vec![flow(29_010, "emkc", 1000.0, stop), flow(29_011, "emkc", 200.0, stop)];
    let edges = vec![Time::ZERO, Time(1000 * MS)];
    let paced = PacedFlows::open(flows, None, None, edges, StopHandle::new().unwrap()).expect("free ports");
    let outcome = paced.run(Clock::start()).unwrap();
    for (record, most) in outcome.flows.iter().zip([200, 40]) {
        // A thread that is not woken between the last packets and the stop does not send them.
        let sent = record.counts.sent;
        assert!((1..=most).contains(&sent), "{sent} packets, expected {most}");
        assert_eq!(record.received, [0, u64::from(sent) * 200]);
        assert!(record.rates.iter().all(|row| row.1 .1.is_none()), "no router has sent a price");
    }
    assert!(outcome.late.is_some());
}

#[test]
fn flows_that_are_stopped_end_at_once() {
    let stop = StopHandle::new().unwrap();
    let flows = vec![flow(29_020, "aimd", 1000.0, Time::NEVER)];
    let paced = PacedFlows::open(flows, None, None, vec![Time(3_600_000 * MS)], stop.clone()).expect("free ports");
    stop.stop();
    let outcome = paced.run(Clock::start()).unwrap();
    assert_eq!((outcome.flows[0].counts.sent, outcome.late), (0, None));
}

#[test]
fn a_port_in_use_is_an_error() {
    let flows = || vec![flow(29_030, "aimd", 1.0, Time::NEVER)];
    let open = || PacedFlows::open(flows(), None, None, vec![Time(MS)], StopHandle::new().unwrap());
    let _first = open().expect("free ports");
    assert!(open().is_err());
}
