//! A sender that is told anything at all: it keeps to its windows, sends nothing that was sacked, and
//! ends once it is told the truth.

mod common;
#[path = "common/sender_watch.rs"]
mod sender_watch;

use common::{config_of, needs_ecn, way_of, WAYS};
use marqueue_cc::law_list::Law;
use marqueue_core::Dur;
use proptest::prelude::*;
use sender_watch::Watch;

/// Numbers are counted from the oldest segment outstanding.
#[derive(Clone, Debug)]
enum Step {
    Ack { ack: i64, ece: bool, blocks: Vec<(i64, i64)> },
    TimeOut,
    Wait { ms: u64 },
    Stop,
}

fn step() -> impl Strategy<Value = Step> {
    let near = || prop_oneof![8 => 0i64..20, 2 => -20i64..200, 1 => any::<i32>().prop_map(i64::from)];
    let ack = prop_oneof![3 => Just(0i64), 3 => 0i64..8, 1 => near()];
    let blocks = prop::collection::vec((near(), -1i64..12), 0..4);
    prop_oneof![
        12 => (ack, any::<bool>(), blocks).prop_map(|(ack, ece, blocks)| Step::Ack { ack, ece, blocks }),
        1 => Just(Step::TimeOut),
        2 => (0u64..3000).prop_map(|ms| Step::Wait { ms }),
        1 => Just(Step::Stop),
    ]
}

fn follow(watch: &mut Watch, step: &Step) {
    let una = i64::from(watch.sender.core().una);
    let number = |n: i64| (una + n).clamp(0, i64::from(u32::MAX)) as u32;
    match step {
        Step::Ack { ack, ece, blocks } => {
            let blocks: Vec<_> = blocks.iter().map(|&(start, len)| (number(start), number(start + len))).collect();
            watch.ack(number(*ack), *ece, &blocks);
        }
        Step::TimeOut => drop(watch.time_out()),
        Step::Wait { ms } => watch.wait(Dur(ms * 1_000_000)),
        Step::Stop => watch.stop(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn it_keeps_to_its_windows_and_ends(
        steps in prop::collection::vec(step(), 1..80),
        way in 0..WAYS.len(),
        control in prop::sample::select(Law::NAMES),
        ecn in any::<bool>(),
        limited_transmit in any::<bool>(),
        size in 1u32..300,
        windows in (1u32..12, 1u32..60),
        dupthresh in 1u32..6,
    ) {
        let (preset, recovery) = way_of(way, control);
        let numbers = [
            ("initial_window", f64::from(windows.0)),
            ("max_window", f64::from(windows.1)),
            ("dupthresh", f64::from(dupthresh)),
        ];
        let flags = [("ecn", (ecn && control != "bbr3") || needs_ecn(control)), ("limited_transmit", limited_transmit)];
        let config = config_of(preset, &[("recovery", recovery), ("control", control)], &numbers, &flags);
        let mut watch = Watch::new(config, Some(size), 0.5);
        for step in &steps {
            if watch.sender.is_done() {
                break;
            }
            follow(&mut watch, step);
        }
        watch.finish();
    }
}

/// ns-2's Sack1 counts its `pipe` down by one at every acknowledgement in recovery, whatever that says.
/// Duplicates that it has nothing to send for are made up for as soon as it has: in one go, beyond its
/// window. ns-2.35 does the same (tcp-sack1.cc), so this is no fault of the sender.
#[test]
fn ns2_sack1_makes_up_for_duplicates_it_could_not_answer() {
    let numbers = [("initial_window", 60.0)];
    let mut watch = Watch::new(config_of("ns2", &[("recovery", "sack")], &numbers, &[]), Some(60), 0.5);
    watch.ack(1, false, &[]);
    for end in 3..=5 {
        watch.ack(1, false, &[(2, end)]);
    }
    assert_eq!(watch.sender.core().counts.retransmits, 1);
    for _ in 0..100 {
        watch.ack(1, false, &[]);
    }
    assert_eq!((watch.sender.core().window.cwnd, watch.sender.core().counts.retransmits), (30.0, 1));
    watch.ack(1, false, &[(59, 61)]);
    assert_eq!(watch.sender.core().counts.retransmits, 1 + 54, "segments 5 to 58 at a window of 30");
    watch.finish();
}

/// A partial acknowledgement covers some of the segments that limited transmit has sent: only the others are outstanding
/// when an ECN echo reduces the window.
#[test]
fn a_partial_acknowledgement_covers_segments_of_limited_transmit() {
    let numbers = [("initial_window", 2.0), ("max_window", 5.0), ("dupthresh", 4.0)];
    let flags = [("ecn", true), ("limited_transmit", true)];
    let chosen = [("recovery", "newreno"), ("control", "dctcp")];
    let mut watch = Watch::new(config_of("ns2", &chosen, &numbers, &flags), Some(12), 0.5);
    let ack = |ack, ece| Step::Ack { ack, ece, blocks: Vec::new() };
    let before = [(1, true), (0, false), (0, false), (0, false)].map(|(n, ece)| ack(n, ece));
    let after =
        [(4, true), (1, false), (1, false), (0, false), (0, false), (0, false), (0, false), (4, false), (2, true)];
    before.iter().for_each(|step| follow(&mut watch, step));
    follow(&mut watch, &Step::TimeOut);
    for (n, ece) in after {
        follow(&mut watch, &ack(n, ece));
        let core = watch.sender.core();
        assert!(core.limited <= core.flight());
    }
    watch.finish();
}
