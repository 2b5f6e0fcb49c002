//! Whole runs for profiling: `speed i|ii|iii`.
#[path = "../tests/common/mod.rs"]
mod common;
use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::{ParamValues, Value};
use marqueue_sim::plan::*;

fn red(lo: f64, hi: f64) -> ParamValues {
    let mut v = values(&[("min_th", lo), ("max_th", hi), ("w_q", 0.002)]);
    v.insert("gentle".into(), Value::Flag(true));
    v
}
fn main() {
    let which = std::env::args().nth(1).unwrap();
    let (rate, access, q, rec, ecn, seg, n, jit, dur) = match which.as_str() {
        "i" => (
            100_000_000,
            1_000_000_000,
            queue("red", red(100., 300.), 500, Signal::Ecn),
            "reno",
            true,
            500.,
            200u32,
            5.,
            50.,
        ),
        "ii" => (
            1_000_000_000,
            10_000_000_000,
            queue("red", red(500., 1500.), 2500, Signal::Drop),
            "sack",
            false,
            1000.,
            200,
            5.,
            20.,
        ),
        _ => (
            10_000_000,
            1_000_000_000,
            queue(
                "avq",
                {
                    let mut v = values(&[("initial", 0.8)]);
                    v.insert("mode".into(), Value::Choice("packets".into()));
                    v
                },
                100,
                Signal::EcnOnly,
            ),
            "reno",
            true,
            1000.,
            36,
            1.,
            200.,
        ),
    };
    let mut q = q;
    q.mean_packet.0 = seg as u64;
    let mut p = Dumbbell {
        rate,
        access,
        bottleneck_delay: 5.0,
        destination_delay: 5.0,
        rtts: vec![40., 60., 80., 100., 130.],
        queue: q,
    }
    .plan(dur);
    p.transports = vec![ns2(rec, ecn)];
    p.transports[0].params.insert("segment".into(), Value::Number(seg));
    p.traffic = (0..5).map(|c| tcp(&format!("long {c}"), c, n, jit)).collect();
    let t0 = std::time::Instant::now();
    let r = go(&p, 1);
    let w = &r.links[0].windows[0];
    let c = &w.counters;
    let dt = t0.elapsed().as_secs_f64();
    println!("{which}: delivered {} in {:.3} s = {:.3} M/s, {:.0} ns a packet; events {} ({:.2} a packet) U {:.4} q {:.1} drops {} marks {}", c.departures, dt, c.departures as f64 / dt / 1e6, dt * 1e9 / c.departures as f64, r.events, r.events as f64 / c.departures as f64, utilization(w), mean_queue(w), c.dropped(), c.marked());
}
