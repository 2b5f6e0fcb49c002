//! Flows whose ends are outside the simulator: their packets take the same time and find the same queues as those of
//! models, and each has exactly one fate.

use marqueue_aqm::{Limit, Signal};
use marqueue_core::params::{ParamValues, PolicySpec, Value};
use marqueue_core::{Bytes, Dur, Ecn, Flags, Rate, Time};
use marqueue_sim::external::{Direction, ExternalPacket, Fate, PacketFate, Reached};
use marqueue_sim::plan::*;
use marqueue_sim::{Control, Run, RunError};

/// Two links with a queue of 5 packets on the way forward, and one wire back. A packet of 1000 bytes takes 1 ms.
fn plan(policy: PolicySpec) -> Plan {
    let link = |name: &str, queue| LinkPlan {
        name: name.into(),
        rate: Rate(8_000_000),
        delay: Dur(10_000_000),
        queue,
        schedule: Vec::new(),
        delivery_opportunities: Vec::new(),
        medium: None,
        trace: false,
        pipe: PipePlan::default(),
        per_flow: None,
        model: None,
        cpu: None,
    };
    let queue =
        QueuePlan { policy, limit: Limit::Packets(5), signal: Signal::Ecn, mean_packet: Bytes(1000), router: None };
    let stack = StackPlan { kernel: "outside".into(), congestion_control: "cubic".into(), sysctl: Default::default() };
    Plan {
        duration: Time(2_000_000_000),
        boundaries: vec![Time(500_000_000)],
        sample: Dur(100_000_000),
        links: vec![link("forward", Some(queue)), link("back", None)],
        routes: vec![RoutePlan { forward: vec![0], reverse: vec![1] }],
        transports: vec![TransportPlan { preset: "linux".into(), params: ParamValues::new(), stack: Some(stack) }],
        traffic: vec![TrafficPlan {
            name: "outside".into(),
            dscp: 0,
            class: 0,
            kind: TrafficKind::Tcp {
                transport: 0,
                route: 0,
                count: 1,
                start: Time::ZERO,
                jitter: Dur::ZERO,
                stop: None,
                size: None,
                trace: false,
                write: None,
                sample_cwnd: false,
            },
        }],
        reuse_slots_above: Plan::reuse_slots_above(),
    }
}

fn droptail() -> PolicySpec {
    PolicySpec { name: "droptail".into(), params: ParamValues::new() }
}

fn packet(direction: Direction, ecn: Ecn) -> ExternalPacket {
    ExternalPacket { flow: 0, direction, bytes: 1000, ecn, flags: Flags::NONE, seq: 1 }
}

/// Advances to the end; all fates on the way.
fn to_the_end(run: &mut Run) -> Vec<PacketFate> {
    let mut fates = Vec::new();
    while run.advance_to_fate(Time::NEVER, 1000) != Reached::End {
        run.engine().take_fates(&mut fates);
    }
    fates
}

#[test]
fn packets_arrive_after_transmission_and_propagation_and_the_buffer_overflows_as_for_models() {
    let mut run = Run::with_external_ends(&plan(droptail()), 1).expect("a plan");
    let at = Time(3_000_000);
    assert_eq!(run.advance_to_fate(Time(at.0 - 1), 100), Reached::Time);
    let frames: Vec<u32> = (0..8).map(|_| run.engine().inject(at, &packet(Direction::Data, Ecn::NotEct))).collect();
    let fates = to_the_end(&mut run);
    let mut each_once = frames.clone();
    each_once.sort_unstable();
    each_once.dedup();
    assert_eq!(each_once.len(), 8, "a lost packet keeps its number until its fate is taken");
    let lost: Vec<u32> = fates.iter().filter(|f| f.fate == Fate::Lost).map(|f| f.frame).collect();
    assert_eq!(lost, frames[6..], "one in transmission and five in the buffer");
    let arrived: Vec<(Time, u32)> =
        fates.iter().filter(|f| f.fate == Fate::AtReceiver).map(|f| (f.at, f.frame)).collect();
    let expected: Vec<(Time, u32)> =
        (1..=6).map(|k| (Time(at.0 + k * 1_000_000 + 10_000_000), frames[k as usize - 1])).collect();
    assert_eq!(arrived, expected);
}

#[test]
fn acknowledgements_take_the_way_back_to_the_sender() {
    let mut run = Run::with_external_ends(&plan(droptail()), 1).expect("a plan");
    let frame = run.engine().inject(Time(0), &packet(Direction::Acknowledgement, Ecn::NotEct));
    let fates = to_the_end(&mut run);
    let expected = PacketFate { at: Time(11_000_000), flow: 0, frame, marked: false, fate: Fate::AtSender };
    assert_eq!(fates, [expected]);
}

#[test]
fn a_mark_is_reported_for_packets_that_are_capable_of_it_and_others_are_dropped() {
    let params = ParamValues::from([
        ("min_th".to_string(), Value::Number(0.0)),
        ("max_th".to_string(), Value::Number(1.6)),
        ("w_q".to_string(), Value::Number(0.999)),
        ("max_p".to_string(), Value::Number(1.0)),
        ("wait".to_string(), Value::Flag(false)),
    ]);
    let red = PolicySpec { name: "red".into(), params };
    let fates = |ecn| {
        let mut run = Run::with_external_ends(&plan(red.clone()), 1).expect("a plan");
        // The fourth takes the average above the threshold. The fifth finds three: the probability is 1.
        for _ in 0..5 {
            run.engine().inject(Time(0), &packet(Direction::Data, ecn));
        }
        to_the_end(&mut run)
    };
    let marked = fates(Ecn::Ect0);
    assert!(marked.iter().any(|f| f.marked && f.fate == Fate::AtReceiver), "{marked:?}");
    let dropped = fates(Ecn::NotEct);
    assert!(dropped.iter().all(|f| !f.marked) && dropped.iter().any(|f| f.fate == Fate::Lost), "{dropped:?}");
    assert_eq!((marked.len(), dropped.len()), (5, 5), "each packet has one fate");
}

#[test]
fn what_the_caller_counts_is_in_the_result() {
    let mut run = Run::with_external_ends(&plan(droptail()), 1).expect("a plan");
    for at in [0, 600_000_000] {
        run.advance_to_fate(Time(at), 1000);
        run.engine().inject(Time(at), &packet(Direction::Data, Ecn::NotEct));
        while run.advance_to_fate(Time(at + 100_000_000), 1000) != Reached::Fate {}
        run.engine().take_fates(&mut Vec::new());
        run.engine().count_delivered(0, 948 + at / 100_000_000);
    }
    run.engine().complete(0, Time(700_000_000));
    run.engine().external_counts(0).sent = 2;
    to_the_end(&mut run);
    let flows = run.finish().flows;
    assert_eq!((flows.delivered, flows.sent), (vec![948, 954], vec![2]));
    assert_eq!(flows.end, [Time(700_000_000)]);
}

#[test]
fn without_somebody_at_the_ends_such_a_plan_is_refused() {
    let Err(RunError::Invalid(error)) = marqueue_sim::run(&plan(droptail()), 1, &Control::default()) else {
        panic!("it must be refused")
    };
    assert_eq!(error.path, "transports[0].stack");
}
