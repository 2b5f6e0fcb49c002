//! A queue outside the simulator, played by the test: the link sends what is made ready, in that order, and measures
//! the time from arrival to transmission.

use marqueue_aqm::{Limit, Signal};
use marqueue_core::params::{ParamValues, PolicySpec};
use marqueue_core::{Bytes, Dur, Rate, Time};
use marqueue_sim::external::{QueueNews, Reached};
use marqueue_sim::plan::*;
use marqueue_sim::result::RunResult;
use marqueue_sim::{check, run, Control, Run, RunError};

const MS: u64 = 1_000_000;

/// A packet of 1000 bytes each 2 ms into a link where it takes 1 ms, for 19.5 ms: they arrive at 0, 2, ..., 18 ms.
fn plan() -> Plan {
    let router = RouterPlan { kernel: "outside".into(), tc: Vec::new(), byte_queue_limit: None };
    let queue = QueuePlan {
        policy: PolicySpec { name: "linux:pfifo".into(), params: ParamValues::new() },
        limit: Limit::Packets(5),
        signal: Signal::Ecn,
        mean_packet: Bytes(1000),
        router: Some(router),
    };
    Plan {
        duration: Time(39 * MS / 2),
        boundaries: Vec::new(),
        sample: Dur(5 * MS),
        links: vec![LinkPlan {
            name: "link".into(),
            rate: Rate(8_000_000),
            delay: Dur(10 * MS),
            queue: Some(queue),
            schedule: Vec::new(),
            delivery_opportunities: Vec::new(),
            medium: None,
            trace: true,
            pipe: PipePlan::default(),
            per_flow: None,
            model: None,
            cpu: None,
        }],
        routes: vec![RoutePlan { forward: vec![0], reverse: vec![] }],
        transports: Vec::new(),
        traffic: vec![TrafficPlan {
            name: "udp".into(),
            dscp: 0,
            class: 0,
            kind: TrafficKind::Cbr {
                route: 0,
                count: 1,
                rate: Rate(4_000_000),
                packet: Bytes(1000),
                start: Time::ZERO,
                jitter: Dur::ZERO,
                stop: None,
                ecn: EcnField::Ect,
            },
        }],
        reuse_slots_above: Plan::reuse_slots_above(),
    }
}

/// The result, and when transmissions ended. `queue` says what the queue outside does at a time with the packets that
/// have arrived so far, by their numbers.
fn play(mut queue: impl FnMut(&mut Run, Time, &[u32])) -> (RunResult, Vec<Time>) {
    let mut run = Run::with_external_ends(&plan(), 1).expect("a plan");
    let (mut news, mut ended, mut arrived) = (Vec::new(), Vec::new(), Vec::new());
    while run.advance_to_fate(Time::NEVER, 1000) != Reached::End {
        let now = run.now();
        run.engine().take_queue_news(&mut news);
        for each in news.drain(..) {
            match each {
                QueueNews::Sent { link: 0 } => ended.push(now),
                QueueNews::Entered { link: 0, number, packet } => {
                    assert_eq!(packet.bytes(), 1000);
                    arrived.push(number);
                    queue(&mut run, now, &arrived);
                }
                other => panic!("{other:?} at a link that there is not"),
            }
        }
    }
    (run.finish(), ended)
}

#[test]
fn a_packet_that_is_ready_at_once_waits_for_no_other() {
    let (result, ended) = play(|run, now, arrived| {
        let last = arrived[arrived.len() - 1];
        assert!(run.engine().make_ready(now, 0, last, false));
    });
    let window = &result.links[0].windows[0];
    assert_eq!((window.counters.arrivals, window.counters.departures), (10, 10));
    assert_eq!(window.delay_sum, 0.0);
    assert_eq!(window.used, 10.0 * 8000.0);
    let expected: Vec<Time> = (0..10).map(|n| Time((2 * n + 1) * MS)).collect();
    assert_eq!(ended, expected);
}

#[test]
fn packets_that_are_held_are_the_queue_and_leave_in_the_order_in_which_they_are_ready() {
    // Every third packet lets out its two predecessors, the later one first, and itself.
    let (result, ended) = play(|run, now, arrived| {
        if let [.., first, second, third] = *arrived {
            if arrived.len() % 3 == 0 {
                for (number, marked) in [(second, true), (first, false), (third, false)] {
                    assert!(run.engine().make_ready(now, 0, number, marked));
                }
                assert!(!run.engine().make_ready(now, 0, third, false), "a copy");
            }
        }
    });
    let window = &result.links[0].windows[0];
    // Of 0, 2, 4 ms: sent at 4 ms (that of 2), 5 (of 0) and 6 (of 4). The tenth packet is left.
    assert!((window.delay_sum - 3.0 * (2.0 + 5.0 + 2.0) * 1e-3).abs() < 1e-12, "{}", window.delay_sum);
    assert_eq!((window.counters.departures, window.counters.marked(), window.counters.dropped()), (9, 3, 0));
    assert_eq!(ended[..3], [Time(5 * MS), Time(6 * MS), Time(7 * MS)]);
    // At 5 ms the third one waits, at 10 ms those of 6 and 10 ms.
    assert_eq!(result.links[0].series.queue[..2], [1, 2]);
}

#[test]
fn a_packet_that_is_dropped_outside_is_counted_and_lost_once() {
    let (result, _) = play(|run, now, arrived| {
        let number = arrived[arrived.len() - 1];
        if arrived.len() % 2 == 1 {
            assert!(run.engine().drop_outside(now, 0, number));
            assert!(!run.engine().drop_outside(now, 0, number));
            assert!(!run.engine().make_ready(now, 0, number, false));
        } else {
            assert!(run.engine().make_ready(now, 0, number, false));
            assert!(!run.engine().drop_outside(now, 0, number), "it is in transmission");
        }
    });
    let counters = &result.links[0].windows[0].counters;
    assert_eq!((counters.arrivals, counters.departures, counters.dropped()), (10, 5, 5));
    assert_eq!(counters.drops[marqueue_aqm::Reason::Kernel as usize], 5);
}

#[test]
fn a_run_without_a_kernel_and_a_link_with_a_delivery_trace_refuse_a_queue_outside() {
    let path = |refused: Result<(), RunError>| match refused {
        Err(RunError::Invalid(error)) => error.path,
        other => panic!("{other:?}"),
    };
    assert_eq!(path(run(&plan(), 1, &Control::default()).map(drop)), "links[0].queue.policy");
    let mut traced = plan();
    traced.links[0].delivery_opportunities = vec![Dur(MS)];
    assert_eq!(path(check(&traced).map(drop)), "links[0].queue.policy");
}
