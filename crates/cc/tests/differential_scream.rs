//! SCReAMv2 beside a transcription of its draft, over random reports, marks, losses and frames.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

#[path = "pseudocode/screamv2.rs"]
mod screamv2;

use marqueue_cc::media::control::{Delivered, Stream};
use marqueue_cc::media::scream::Params;
use marqueue_cc::media::{Control, Scream};
use marqueue_core::params::{ParamSet, Value};
use marqueue_core::{Rng, Time};

const STREAM: Stream = Stream { mss: 1172.0, frame_period: 0.04, min_rate: 2e5, max_rate: 8e6, l4s: true };

fn transcribed(l4s: bool, jitter: bool) -> screamv2::Sender {
    screamv2::Sender {
        ref_wnd: 3000.0,
        ref_wnd_i: 1.0,
        ref_wnd_i_update_allowed: true,
        l4s_alpha: 0.0,
        last_update_l4s_alpha_time: 0.0,
        data_units_delivered_this_rtt: 0.0,
        data_units_marked_this_rtt: 0.0,
        qdelay_avg: 0.0,
        qdelay_max_avg: 0.06,
        qdelay_min_avg: 0.0,
        qdelay_dev_avg: 0.0,
        ref_wnd_delay_scale: 1.0,
        last_update_qdelay_avg_time: 0.0,
        last_congestion_detected_time: 0.0,
        last_reaction_to_congestion_time: 0.0,
        loss_detected: false,
        data_units_marked: false,
        max_bytes_in_flight: 0.0,
        max_bytes_in_flight_prev: 0.0,
        rate_adjust_factor: 0.0,
        frame_size_dev: 0.0,
        target_bitrate: STREAM.min_rate,
        MSS: STREAM.mss,
        frame_period: STREAM.frame_period,
        TARGET_BITRATE_MIN: STREAM.min_rate,
        TARGET_BITRATE_MAX: STREAM.max_rate,
        IS_L4S: l4s,
        REDUCE_JITTER: jitter,
    }
}

fn near(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-9 * theirs.abs() + 1e-12, "{ours} here, {theirs} in the draft");
}

#[test]
fn window_rate_and_pace_are_those_of_the_draft() {
    let (mut fell, mut rose, mut at_most) = (0, 0, 0);
    for seed in 0..200 {
        let mut rng = Rng::named(seed, "scream");
        let (l4s, jitter) = (seed % 3 != 0, seed % 2 == 0);
        let values = [("reduce_jitter".into(), Value::Flag(jitter))].into_iter().collect();
        let params = Params::from_values(&values).unwrap();
        let mut ours = Scream::new(params, Stream { l4s, ..STREAM }, Time::ZERO);
        let mut draft = transcribed(l4s, jitter);
        // Calm, congested and slow stretches.
        let (mut now, mut s_rtt, mut calm) = (0_u64, 0.02, true);
        for _ in 0..500 {
            if rng.uniform() < 0.02 {
                calm = !calm;
                s_rtt = 0.005 + 0.1 * rng.uniform();
            }
            now += 1_000_000 + (rng.uniform() * 2e7) as u64;
            if rng.uniform() < 0.002 {
                now += 8_000_000_000;
            }
            let t = Time(now).secs();
            let in_flight = draft.ref_wnd * (0.3 + 2.0 * rng.uniform());
            // A round trip of zero: all packets are one round trip.
            ours.on_sent(Time::ZERO, in_flight);
            draft.max_bytes_in_flight = draft.max_bytes_in_flight.max(in_flight);
            let units = rng.below(16) + 1;
            let units_ce = if calm { 0 } else { rng.below(units + 1) };
            let report = Delivered {
                units,
                units_ce,
                bytes: f64::from(units) * 1000.0,
                bytes_ce: f64::from(units_ce) * 1000.0,
                units_lost: u32::from(!calm && rng.uniform() < 0.05),
                qdelay: if calm { 0.002 } else { 0.09 } * rng.uniform(),
                s_rtt,
            };
            let before = draft.ref_wnd;
            ours.on_feedback(Time(now), &report);
            draft.loss_detected |= report.units_lost > 0;
            draft.data_units_marked |= units_ce > 0;
            draft.alpha(t, s_rtt, units.into(), units_ce.into());
            draft.delay(t, s_rtt, report.qdelay);
            draft.window(t, s_rtt, report.qdelay, report.bytes, report.bytes_ce);
            draft.rate(s_rtt);
            near(ours.window(), draft.ref_wnd);
            near(ours.share_of_marks(), draft.l4s_alpha);
            near(ours.target_bitrate(), draft.target_bitrate);
            if rng.uniform() < 0.3 {
                let (waited, bytes) = (0.03 * rng.uniform(), 40_000.0 * rng.uniform());
                ours.on_frame(waited, bytes);
                draft.frame(waited, bytes);
                draft.rate(s_rtt);
                near(ours.target_bitrate(), draft.target_bitrate);
            }
            near(ours.most_in_flight(), draft.send_wnd());
            let pace = ours.pace(1172.0).secs();
            assert!((pace - draft.t_pace(1172.0)).abs() < 2e-9);
            fell += u32::from(draft.ref_wnd < before);
            rose += u32::from(draft.ref_wnd > before);
            at_most += u32::from(draft.target_bitrate == STREAM.max_rate);
        }
    }
    assert!(fell > 5000 && rose > 5000 && at_most > 500, "fell {fell}, rose {rose}, at most {at_most}");
}
