//! One flow over a 10 Mbit/s, 104 ms bottleneck, event by event against ns-2.35.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::{ParamValues, Value};
use marqueue_sim::result::TraceKind;

#[test]
fn probe() {
    for recovery in ["reno", "newreno", "sack"] {
        for q in ["dt", "red"] {
            let mut red = values(&[("min_th", 5.0), ("max_th", 15.0), ("w_q", 0.002)]);
            red.insert("gentle".into(), Value::Flag(true));
            let queue = match q {
                "dt" => queue("droptail", ParamValues::new(), 29, Signal::Drop),
                _ => queue("red", red, 30, Signal::Ecn),
            };
            let mut plan = Dumbbell {
                rate: 10_000_000,
                access: 100_000_000,
                bottleneck_delay: 50.0,
                destination_delay: 1.0,
                rtts: vec![104.0],
                queue,
            }
            .plan(30.0);
            plan.transports = vec![ns2(recovery, q != "dt")];
            plan.traffic = vec![tcp("one", 0, 1, 0.0)];
            if let marqueue_sim::plan::TrafficKind::Tcp { trace, .. } = &mut plan.traffic[0].kind {
                *trace = true;
            }
            plan.links[0].trace = true;
            let r = go(&plan, 1);
            let trace = r.links[0].trace.as_ref().unwrap();
            let arr = trace.iter().filter(|x| x.kind != TraceKind::Depart).count();
            println!("== {recovery} {q}: arrivals {arr} events {}", r.events);
            let mut bursts: Vec<(f64, u32)> = vec![];
            let mut last = -1.0;
            for x in trace.iter().filter(|x| x.kind == TraceKind::Drop) {
                let t = x.t.secs();
                if t - last > 0.5 {
                    bursts.push((t, 1));
                } else {
                    bursts.last_mut().unwrap().1 += 1;
                }
                last = t;
            }
            println!(" drops {bursts:?}");
            let mut ce: Vec<(f64, u32)> = vec![];
            let mut last = -1.0;
            for x in trace.iter().filter(|x| x.kind == TraceKind::Mark) {
                let t = x.t.secs();
                if t - last > 0.5 {
                    ce.push((t, 1));
                } else {
                    ce.last_mut().unwrap().1 += 1;
                }
                last = t;
            }
            println!(" ce {ce:?}");
            let rows = &r.cwnd[0].rows;
            let cuts: Vec<_> =
                rows.windows(2).filter(|w| w[1].1 < w[0].1).map(|w| (w[1].0.secs(), w[0].1, w[1].1)).collect();
            println!(" cuts {cuts:.2?}");
        }
    }
}
