//! What a watcher sees of a run, and that the run does not depend on it.

mod common;

use common::parts::*;
use common::*;
use marqueue_aqm::{catalogue, Signal};
use marqueue_sim::plan::Plan;
use marqueue_sim::result::{LinkResult, LinkWindow, RunResult};
use marqueue_sim::{digest, run, Control, LinkSoFar, SoFar, Watcher};
use std::sync::{Arc, Mutex};

/// Looks again after so many events, and cuts the run off at its last look.
#[derive(Debug)]
struct Every {
    events: u64,
    looks: usize,
    seen: Mutex<Vec<SoFar>>,
}

impl Watcher for Every {
    fn look(&self, so_far: &SoFar) -> Option<u64> {
        let mut seen = self.seen.lock().expect("nothing panics meanwhile");
        seen.push(so_far.clone());
        (seen.len() < self.looks).then_some(so_far.events + self.events)
    }
}

fn watched(plan: &Plan, events: u64, looks: usize) -> (RunResult, Vec<SoFar>) {
    let watcher = Arc::new(Every { events, looks, seen: Mutex::default() });
    let result = run(plan, 1, &Control::default().with_watcher(watcher.clone())).expect("the plan is valid");
    let seen = watcher.seen.lock().expect("nothing panics meanwhile").clone();
    (result, seen)
}

/// A sum over the windows of a link.
fn sum(link: &LinkResult, of: impl Fn(&LinkWindow) -> f64) -> f64 {
    link.windows.iter().map(of).sum()
}

fn assert_close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} and {b}");
}

#[test]
fn a_run_does_not_depend_on_it() {
    for name in catalogue().into_iter().map(|entry| entry.name) {
        let mut plan = with_ends(parking_lot(3, &queue(name, values(&[]), 30, Signal::Ecn)));
        plan.duration = secs(2.5);
        plan.boundaries = vec![secs(1.0)];
        plan.links[0].pipe.loss = Some(policy("random", values(&[("probability", 0.01)])));
        plan.links[0].pipe.jitter = Some(values(&[("mean", 0.002)]));
        plan.links[1].trace = true;
        let alone = digest(&go(&plan, 1));
        for events in [1, 97] {
            let (result, seen) = watched(&plan, events, usize::MAX);
            assert_eq!(digest(&result), alone, "{name}, every {events} events");
            assert!(seen.len() as u64 > result.events / events, "{name}: {} looks", seen.len());
        }
    }
}

#[test]
fn it_looks_before_the_first_event_after_as_many_as_it_asks_for_and_at_the_end() {
    let plan = dumbbell("sack", red());
    let (result, seen) = watched(&plan, 700, usize::MAX);
    let events: Vec<u64> = seen.iter().map(|so_far| so_far.events).collect();
    let whole = result.events / 700;
    assert!(whole > 3 && result.events % 700 > 0);
    assert_eq!(events, (0..=whole).map(|n| n * 700).chain([result.events]).collect::<Vec<_>>());
    assert_eq!((seen[0].flows, seen[0].samples), (15, 0));
    assert!(seen[0].links.iter().all(|link| (link.arrivals, link.left, link.used) == (0, 0, 0.0)));
}

#[test]
fn at_the_end_it_sees_the_sums_of_the_result() {
    let (result, seen) = watched(&parking_lot(2, &red()), 10_000, usize::MAX);
    let end = seen.last().expect("it looks at the end");
    assert_eq!(end.now, result.ended);
    assert_eq!(end.links.len(), result.links.len());
    for (seen, link) in end.links.iter().zip(&result.links) {
        assert_eq!(seen.link, link.link);
        assert_eq!(seen.arrivals as f64, sum(link, |w| w.counters.arrivals as f64));
        assert_eq!(seen.left as f64, sum(link, |w| (w.counters.departures + w.counters.dropped()) as f64));
        assert_close(seen.used, sum(link, |w| w.used));
        assert_close(seen.capacity, sum(link, |w| w.capacity));
    }
    let columns = |link: &LinkResult| 5 + link.series.probes.len();
    let at_least: usize = result.links.iter().map(|link| link.series.t.len() * columns(link) * 4).sum();
    assert!((at_least..=3 * at_least).contains(&end.samples));
}

#[test]
fn it_sees_what_a_run_that_is_cut_off_there_has_done() {
    let plan = dumbbell("newreno", red());
    let (result, seen) = watched(&plan, 700, 4);
    assert_eq!((seen.len(), result.events), (4, 2_100), "the last look cuts the run off");
    let LinkSoFar { arrivals, left, used, capacity, .. } = seen[3].links[0];
    let cut = &result.links[0];
    assert_eq!(arrivals as f64, sum(cut, |w| w.counters.arrivals as f64));
    assert_eq!(left as f64, sum(cut, |w| (w.counters.departures + w.counters.dropped()) as f64));
    assert_close(used, sum(cut, |w| w.used));
    assert_close(capacity, sum(cut, |w| w.capacity));
    assert!(left < arrivals && used < capacity);
}
