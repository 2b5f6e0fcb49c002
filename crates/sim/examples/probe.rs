#[path = "../tests/common/mod.rs"]
mod common;
use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::{ParamValues, Value};
use marqueue_sim::plan::*;

fn dumbbell(q: QueuePlan, d: f64) -> Plan {
    Dumbbell {
        rate: 10_000_000,
        access: 1_000_000_000,
        bottleneck_delay: 5.0,
        destination_delay: 5.0,
        rtts: vec![40., 60., 80., 100., 130.],
        queue: q,
    }
    .plan(d)
}
fn scheme(s: &str) -> QueuePlan {
    let pk = |mut v: ParamValues| {
        v.insert("mode".into(), Value::Choice("packets".into()));
        v
    };
    match s {
        "DropTail" => queue("droptail", ParamValues::new(), 99, Signal::Drop),
        "RED" => queue(
            "red",
            {
                let mut v = values(&[("min_th", 37.), ("max_th", 75.), ("w_q", 0.002)]);
                v.insert("gentle".into(), Value::Flag(true));
                v
            },
            100,
            Signal::Ecn,
        ),
        "REM" => queue("rem", values(&[("q_ref", 50.)]), 99, Signal::EcnOnly),
        "PI" => queue("pi", values(&[("q_ref", 50.)]), 100, Signal::Ecn),
        "GK" => queue("gkvq", values(&[]), 99, Signal::EcnOnly),
        "AVQ" => queue("avq", pk(values(&[("initial", 0.8), ("buffer", 100.)])), 50, Signal::EcnOnly),
        "AVQ100" => queue("avq", pk(values(&[("initial", 0.8)])), 100, Signal::EcnOnly),
        "AVQvb50" => queue("avq", pk(values(&[("initial", 0.8)])), 50, Signal::EcnOnly),
        _ => panic!(),
    }
}
fn main() {
    for s in ["AVQ", "AVQ100", "AVQvb50", "RED", "REM", "PI", "GK", "DropTail"] {
        for n in [20u32, 60, 180] {
            print!("{s} {n}");
            for seed in 1..=3 {
                let mut p = dumbbell(scheme(s), 150.);
                p.boundaries = vec![secs(50.)];
                p.transports = vec![ns2("reno", true)];
                p.traffic = (0..5).map(|c| tcp(&format!("long {c}"), c, n / 5, 1.0)).collect();
                let r = go(&p, seed);
                let w = &r.links[0].windows[1];
                let c = &w.counters;
                print!(
                    " U{:.4} q{:.1} l{:.5} m{:.3}|",
                    utilization(w),
                    mean_queue(w),
                    c.dropped() as f64 / c.arrivals as f64,
                    c.marked() as f64 / c.departures as f64
                );
            }
            println!();
        }
    }
    for seed in 1..=3 {
        let mut p = dumbbell(scheme("AVQ100"), 200.);
        p.boundaries = [20., 50., 100., 120., 150.].map(secs).to_vec();
        p.transports = vec![ns2("reno", true)];
        p.traffic = (0..5).map(|c| tcp(&format!("long {c}"), c, 36, 1.0)).collect();
        p.traffic.push(TrafficPlan {
            name: "short".into(),
            kind: TrafficKind::Poisson {
                transport: 0,
                routes: vec![0, 1, 2, 3, 4],
                rate: 30.,
                start: secs(100.),
                stop: secs(200.),
                size: 20,
            },
        });
        let r = go(&p, seed);
        for w in &r.links[0].windows {
            let c = &w.counters;
            print!(
                " U{:.4} q{:.1} l{:.5} d{}|",
                utilization(w),
                mean_queue(w),
                c.dropped() as f64 / c.arrivals as f64,
                c.dropped()
            );
        }
        println!();
    }
}
