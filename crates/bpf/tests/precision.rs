//! Compares AVQ in integers with AVQ in floating point, on random links and arrivals.

use marqueue_aqm::{Discipline, EnqueueOutcome, Env, Limit, Qdisc, Signal};
use marqueue_bpf::fixed_point::{Arrival, Avq, AvqParams, FRACTION};
use marqueue_core::math::{powf, powi};
use marqueue_core::{Bytes, Dur, Ecn, Packet, PolicySpec, Rate, Rng, Time, Value};
use proptest::prelude::*;

/// Allowed error of the integers as a share of C and of B. In 20,000 cases the largest was 4e-5 of both, from rounding
/// alpha near 0.01 /s to 2^-20 /s, apart from packets that just fit into one queue and not into the other.
const TOLERANCE: f64 = 1e-3;

const MEAN: u64 = 1000;

#[derive(Debug)]
struct Link {
    rate: u64,
    gamma: f64,
    alpha: f64,
    initial: f64,
    packets: u64,
    drops: bool,
}

fn link() -> impl Strategy<Value = Link> {
    let rate = (5.0..11.0).prop_map(|exponent: f64| powf(10.0, exponent) as u64);
    let alpha = (-2.0..2.0).prop_map(|exponent: f64| powf(10.0, exponent));
    (rate, 0.0..=1.0, alpha, 0.0..=1.0, 10..1000u64, any::<bool>())
        .prop_map(|(rate, gamma, alpha, initial, packets, drops)| Link { rate, gamma, alpha, initial, packets, drops })
}

/// The size of each packet, bytes, and the time since the previous one in transmission times at the full rate.
fn arrivals() -> impl Strategy<Value = Vec<(u32, f64)>> {
    let gap = prop_oneof![4 => 0.0..2.0, 4 => 0.0..0.5, 1 => 0.0..1e6, 1 => Just(0.0)];
    prop::collection::vec((40..9000u32, gap), 1..400)
}

fn float(link: &Link) -> Discipline {
    let number = |value: f64| Value::Number(value);
    let params = [
        ("gamma", number(link.gamma)),
        ("alpha", number(link.alpha)),
        ("initial", number(link.initial)),
        ("buffer", number(link.packets as f64)),
    ];
    let params = params.map(|(name, value)| (name.to_string(), value)).into_iter().collect();
    let env = Env {
        rate: Rate(link.rate),
        mean_packet: Bytes(MEAN),
        limit: Limit::Bytes(u64::MAX),
        delay: Dur(0),
        signal: if link.drops { Signal::Drop } else { Signal::Ecn },
        densities: None,
    };
    let spec = PolicySpec { name: "avq".into(), params };
    Discipline::build(&spec, env, Rng::named(1, "precision")).expect("valid parameters")
}

proptest! {
    #[test]
    fn integers_follow_floating_point(link in link(), arrivals in arrivals()) {
        let mut real = float(&link);
        let buffer = link.packets * MEAN;
        let law = AvqParams::new(link.rate, link.gamma, link.alpha, link.initial, buffer).expect("within the integers");
        let mut fixed = Avq::default();
        let mut now = 0u64;
        let unit = powi(2.0, FRACTION as i32);
        for (seq, (bytes, gap)) in arrivals.into_iter().enumerate() {
            now += (gap * f64::from(bytes) * 8e9 / link.rate as f64) as u64;
            let signalled =
                fixed.arrival(&law, Arrival { now, bytes: bytes.into(), segments: 1, loses: link.drops });
            let packet = Packet::data(0, seq as u32, bytes).with_ecn(Ecn::Ect0);
            let fate = real.enqueue(Time(now), packet);
            let _ = real.drain_dropped().count();
            if signalled != (fate != EnqueueOutcome::Queued) {
                // Verdicts may differ only for a packet that just fits. The queues differ from then on.
                let left = buffer as f64 - fixed.level as f64 / unit;
                let free = if signalled { left } else { left + f64::from(bytes) };
                prop_assert!(
                    (free - f64::from(bytes)).abs() < TOLERANCE * buffer as f64,
                    "{signalled} against {fate:?}: {free} bytes are free for {bytes}"
                );
                break;
            }
            let mut probes = Vec::new();
            real.probe(Time(now), &mut probes);
            let (share, queue) = (probes[1], probes[2] * MEAN as f64);
            let off = (
                (fixed.virtual_capacity as f64 / law.capacity as f64 - share).abs(),
                (fixed.level as f64 / unit - queue).abs() / buffer as f64,
            );
            prop_assert!(off.0 < TOLERANCE && off.1 < TOLERANCE, "C~ and VQ are off by {off:?}");
        }
    }
}
