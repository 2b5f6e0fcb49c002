//! Runs that are cut off have the same measurements up to that time as the whole run.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::ParamValues;
use marqueue_core::{Dur, Time};
use marqueue_sim::plan::Plan;
use marqueue_sim::result::RunResult;
use marqueue_sim::{run, Control};

fn plan() -> Plan {
    let queue = queue("red", ParamValues::new(), 40, Signal::Drop);
    let rtts = vec![40.0, 90.0];
    let setup =
        Dumbbell { rate: 2_000_000, access: 100_000_000, bottleneck_delay: 5.0, destination_delay: 5.0, rtts, queue };
    let mut plan = setup.plan(6.0);
    plan.links[0].trace = true;
    plan.boundaries = vec![secs(2.0), secs(4.0)];
    plan.transports = vec![ns2("newreno", false)];
    plan.traffic = vec![tcp("long", 0, 3, 0.5), tcp("other", 1, 3, 0.5)];
    plan
}

fn cut_after(events: u64) -> RunResult {
    run(&plan(), 1, &Control::with_max_events(Some(events))).expect("a run that is cut off has a result")
}

#[test]
fn a_run_ends_exactly_at_its_limit_of_events() {
    let whole = go(&plan(), 1);
    assert_eq!(whole.ended, plan().duration);
    for events in [1, whole.events / 3, whole.events - 1] {
        let cut = cut_after(events);
        assert_eq!(cut.events, events);
        assert!(cut.ended < whole.ended);
    }
    assert_eq!(format!("{:?}", cut_after(whole.events)), format!("{whole:?}"), "a limit that is not reached");
}

#[test]
fn a_run_that_is_cut_off_equals_the_start_of_the_whole_run() {
    let whole = go(&plan(), 1);
    let cut = cut_after(whole.events / 2);
    let (long, short) = (&whole.links[0], &cut.links[0]);
    let trace = |r: &RunResult| r.traces.first().expect("the link is traced").1.rows.clone();
    let (all, first) = (trace(&whole), trace(&cut));
    assert!(first.len() > 1000);
    assert_eq!(format!("{:?}", &all[..first.len()]), format!("{first:?}"));
    let complete = short.windows.len() - 1;
    assert_eq!(complete, 1, "half of the events are in the second window of three");
    assert_eq!(format!("{:?}", &long.windows[..complete]), format!("{:?}", &short.windows[..complete]));
    let waited: u64 = short.windows.iter().map(|w| w.queue_times.total()).sum();
    assert_eq!(Time::ZERO + Dur(waited), cut.ended, "the last window ends with the run");
}

#[test]
fn a_run_that_is_stopped_at_once_has_no_measurements() {
    let control = Control::default();
    control.stop();
    let stopped = run(&plan(), 1, &control).expect("a run that is stopped has a result");
    assert_eq!((stopped.events, stopped.ended, stopped.links[0].windows.len()), (0, Time::ZERO, 0));
}
