//! SCReAMv2, self-clocked rate adaptation for multimedia: draft-ietf-ccwg-rfc8298bis-screamv2 (the working group's text
//! after -01, August 2026), which shall replace RFC 8298. Names are those of its pseudocode.
//!
//! The rate of the encoder is ref_wnd / s_rtt, less a margin of a sixth and more. A reference window, in bytes: in a round trip
//! it grows by an MSS, at most 2 % of itself more after 100 round trips without congestion, and shrinks by the factor
//! .7 after loss, .8 after a classic mark, 1 - l4s_alpha / 2 after L4S marks, where l4s_alpha is the averaged share of
//! marked packets; likewise for a queueing delay from half of the target on, as if marks came with a probability that
//! reaches 1 at the target. Changes are slower near the window of the last congestion. At most 1.5 to 3 times the window is in
//! flight, and packets are paced at 1.5 times the rate.
//!
//! It sees for each report: packets and bytes that arrived, those marked, whether packets were lost, the queueing delay
//! (one-way, RFC 6817) and the smoothed round-trip time; for each frame, how long the oldest packet has waited in the
//! sender and the frame's size.
//!
//! Not here: what the draft calls additional (clock drift: there is one clock; a threshold of loss; policers; undershoot;
//! competing flows, so that beside senders that fill a queue it keeps little), and discarding frames that wait, which it
//! leaves to applications. Where the draft is silent: times of congestion count from the start of the flow; a share of
//! marks is taken only where packets have arrived.

use super::control::{Control, Delivered, Stream};
use marqueue_core::{Dur, Time};

marqueue_core::params! {
    /// Parameters of SCReAMv2.
    pub struct Params {
        /// The queueing delay at which it answers as to a mark of each packet; from half of it on, to fewer marks.
        qdelay_target: f64 { unit: Seconds, range: 0.001 => 10.0, default: 0.06, source: "draft: QDELAY_TARGET_LO" },
        /// What a loss leaves of the window.
        beta_loss: f64 { unit: Fraction, range: 0.01 => 0.99, default: 0.7, source: "draft: BETA_LOSS" },
        /// What a classic ECN mark leaves of the window.
        beta_ecn: f64 { unit: Fraction, range: 0.01 => 0.99, default: 0.8, source: "draft: BETA_ECN" },
        /// The smallest window, with which it begins.
        min_ref_wnd: f64 { unit: Bytes, range: 100.0 => 1e9, default: 3000.0, source: "draft: MIN_REF_WND" },
        /// Share of the window by which it may grow more in a round trip, long after congestion.
        mul_increase: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.02, source: "draft: MUL_INCREASE_FACTOR" },
        /// Round trips after congestion in which that share grows from zero.
        post_congestion_delay: f64 { unit: One, range: 1.0 => 1e6, default: 100.0, source: "draft: POST_CONGESTION_DELAY_RTT" },
        /// Round-trip time below which flows grow as if they had this one.
        virtual_rtt: f64 { unit: Seconds, range: 0.001 => 1.0, default: 0.025, source: "draft: VIRTUAL_RTT" },
        /// The window grows only to this multiple of what was in flight.
        in_flight_headroom: f64 { unit: One, range: 1.0 => 10.0, default: 1.5, source: "draft: BYTES_IN_FLIGHT_HEAD_ROOM" },
        /// What may be in flight, as a multiple of the window, while the delay varies.
        overhead_min: f64 { unit: One, range: 1.0 => 10.0, default: 1.5, source: "draft: REF_WND_OVERHEAD_MIN" },
        /// What may be in flight, as a multiple of the window, while the delay is constant, and without `reduce_jitter`.
        overhead_max: f64 { unit: One, range: 1.0 => 10.0, default: 3.0, source: "draft: REF_WND_OVERHEAD_MAX" },
        /// Pacing rate, as a multiple of the encoder's rate.
        pacing_headroom: f64 { unit: One, range: 1.0 => 10.0, default: 1.5, source: "draft: PACKET_PACING_HEADROOM" },
        /// By how much more it is paced at the highest rate.
        relaxed_pacing: f64 { unit: One, range: 1.0 => 100.0, default: 4.0, source: "draft: MAX_RELAXED_PACING_FACTOR" },
        /// Answer less to marks, grow less and keep less in flight while the queueing delay varies.
        reduce_jitter: bool { default: false, source: "draft: REDUCE_JITTER" },
    }
}

const L4S_AVG_G_UP: f64 = 1.0 / 8.0;
const L4S_AVG_G_DOWN: f64 = 1.0 / 128.0;
/// Least time between two updates of l4s_alpha, s.
const L4S_ALPHA_INTERVAL: f64 = 0.01;
const QDELAY_AVG_G: f64 = 1.0 / 4.0;
const QDELAY_MIN_MAX_AVG_G: f64 = 1.0 / 16.0;
const QDELAY_DEV_AVG_G: f64 = 1.0 / 32.0;
const QDELAY_DEV_THRESHOLD: f64 = 0.01;
const RATE_PACE_MIN: f64 = 50_000.0;
const RELAXED_PACING_LIMIT_LOW: f64 = 0.8;
const PACKET_OVERHEAD: f64 = 20.0;
const RATE_ADJUST_GAIN: f64 = 1.0 / 16.0;
const FRAME_SIZE_DEV_ALPHA: f64 = 1.0 / 64.0;

/// State of the control.
#[derive(Clone, Debug)]
pub struct Scream {
    params: Params,
    stream: Stream,
    ref_wnd: f64,
    ref_wnd_i: f64,
    ref_wnd_i_update_allowed: bool,
    s_rtt: f64,
    qdelay: f64,
    qdelay_avg: f64,
    qdelay_max_avg: f64,
    qdelay_min_avg: f64,
    qdelay_dev_avg: f64,
    ref_wnd_delay_scale: f64,
    last_update_qdelay_avg: Time,
    l4s_alpha: f64,
    last_update_l4s_alpha: Time,
    delivered_this_rtt: u32,
    marked_this_rtt: u32,
    /// Since the last reaction to congestion.
    loss_detected: bool,
    data_units_marked: bool,
    last_congestion_detected: Time,
    last_reaction: Time,
    max_bytes_in_flight: f64,
    max_bytes_in_flight_prev: f64,
    round_began: Time,
    rate_adjust_factor: f64,
    frame_size_dev: f64,
    target_bitrate: f64,
}

impl Control for Scream {
    const NAME: &'static str = "scream";
    const SUMMARY: &'static str =
        "A window grows by a packet a round trip and shrinks by loss, share of marks or delay";
    const SOURCE: &'static str = "SCReAMv2: draft-ietf-ccwg-rfc8298bis-screamv2";
    const ANSWERS_MARKS: bool = true;
    type Params = Params;

    fn new(params: Params, stream: Stream, start: Time) -> Scream {
        Scream {
            ref_wnd: params.min_ref_wnd,
            ref_wnd_i: 1.0,
            ref_wnd_i_update_allowed: true,
            s_rtt: 0.0,
            qdelay: 0.0,
            qdelay_avg: 0.0,
            qdelay_max_avg: params.qdelay_target,
            qdelay_min_avg: 0.0,
            qdelay_dev_avg: 0.0,
            ref_wnd_delay_scale: 1.0,
            last_update_qdelay_avg: start,
            l4s_alpha: 0.0,
            last_update_l4s_alpha: start,
            delivered_this_rtt: 0,
            marked_this_rtt: 0,
            loss_detected: false,
            data_units_marked: false,
            last_congestion_detected: start,
            last_reaction: start,
            max_bytes_in_flight: 0.0,
            max_bytes_in_flight_prev: 0.0,
            round_began: start,
            rate_adjust_factor: 0.0,
            frame_size_dev: 0.0,
            target_bitrate: stream.min_rate,
            params,
            stream,
        }
    }

    fn target_bitrate(&self) -> f64 {
        self.target_bitrate
    }

    /// The reference window, bytes.
    fn window(&self) -> f64 {
        self.ref_wnd
    }

    fn share_of_marks(&self) -> f64 {
        self.l4s_alpha
    }

    fn most_in_flight(&self) -> f64 {
        let (least, most) = (self.params.overhead_min, self.params.overhead_max);
        self.ref_wnd * (least + (most - least).max(0.0) * self.ref_wnd_delay_scale)
    }

    /// t_pace.
    fn pace(&self, bytes: f64) -> Dur {
        let nominal = self.target_bitrate / self.stream.max_rate;
        let relaxed = ((nominal - RELAXED_PACING_LIMIT_LOW) / (1.0 - RELAXED_PACING_LIMIT_LOW)).min(1.0);
        let scale = (1.0 - relaxed).max(1.0 / self.params.relaxed_pacing).min(1.0);
        let rate = self.target_bitrate.max(RATE_PACE_MIN) * self.params.pacing_headroom / scale;
        Dur::from_secs(bytes * 8.0 / rate)
    }

    fn on_sent(&mut self, now: Time, in_flight: f64) {
        if (now - self.round_began).secs() >= self.s_rtt && self.s_rtt > 0.0 {
            self.max_bytes_in_flight_prev = self.max_bytes_in_flight;
            self.max_bytes_in_flight = 0.0;
            self.round_began = now;
        }
        self.max_bytes_in_flight = self.max_bytes_in_flight.max(in_flight);
    }

    fn on_frame(&mut self, media_qdelay: f64, bytes: f64) {
        let period = self.stream.frame_period;
        let error = (media_qdelay - period / 4.0) / period;
        self.rate_adjust_factor = (self.rate_adjust_factor + error * RATE_ADJUST_GAIN).clamp(0.0, 0.5);
        let nominal = self.target_bitrate * period / 8.0;
        let deviation = ((bytes - nominal) / nominal).max(0.0);
        let average = (1.0 - FRAME_SIZE_DEV_ALPHA) * self.frame_size_dev + FRAME_SIZE_DEV_ALPHA * deviation;
        self.frame_size_dev = average.min(0.2);
        self.update_target();
    }

    fn on_feedback(&mut self, now: Time, report: &Delivered) {
        (self.s_rtt, self.qdelay) = (report.s_rtt, report.qdelay);
        self.loss_detected |= report.units_lost > 0;
        self.data_units_marked |= report.units_ce > 0;
        self.update_l4s_alpha(now, report);
        self.update_qdelay(now);
        let away = 8.0 * (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i;
        let scl = (away * away).clamp(0.1, 1.0);
        if self.loss_detected || self.data_units_marked {
            self.last_congestion_detected = now;
        }
        self.reduce(now, scl);
        self.increase(now, scl, report.bytes - report.bytes_ce);
        self.update_target();
    }
}

impl Scream {
    fn update_l4s_alpha(&mut self, now: Time, report: &Delivered) {
        self.delivered_this_rtt += report.units;
        self.marked_this_rtt += report.units_ce;
        let due = (now - self.last_update_l4s_alpha).secs() >= L4S_ALPHA_INTERVAL.min(self.s_rtt);
        if !due || self.delivered_this_rtt == 0 {
            return;
        }
        let marked = f64::from(self.marked_this_rtt) / f64::from(self.delivered_this_rtt);
        self.l4s_alpha = if marked >= self.l4s_alpha {
            L4S_AVG_G_UP * marked + (1.0 - L4S_AVG_G_UP) * self.l4s_alpha
        } else {
            (1.0 - L4S_AVG_G_DOWN) * self.l4s_alpha
        };
        self.last_update_l4s_alpha = now;
        (self.delivered_this_rtt, self.marked_this_rtt) = (0, 0);
    }

    fn update_qdelay(&mut self, now: Time) {
        let jitter = self.params.reduce_jitter;
        if jitter {
            self.qdelay_max_avg = self.qdelay.max(self.qdelay_max_avg).min(self.params.qdelay_target);
            self.qdelay_min_avg = self.qdelay.min(self.qdelay_min_avg);
        }
        if (now - self.last_update_qdelay_avg).secs() < self.params.virtual_rtt.min(self.s_rtt) {
            return;
        }
        self.qdelay_avg = if self.qdelay < self.qdelay_avg {
            self.qdelay
        } else {
            QDELAY_AVG_G * self.qdelay + (1.0 - QDELAY_AVG_G) * self.qdelay_avg
        };
        if jitter {
            self.qdelay_max_avg *= 1.0 - QDELAY_MIN_MAX_AVG_G;
            self.qdelay_min_avg += QDELAY_MIN_MAX_AVG_G * (self.qdelay_max_avg - self.qdelay_min_avg);
            let spread = self.qdelay_max_avg - self.qdelay_min_avg;
            self.qdelay_dev_avg += QDELAY_DEV_AVG_G * (spread - self.qdelay_dev_avg);
            self.ref_wnd_delay_scale = (1.0 - self.qdelay_dev_avg / QDELAY_DEV_THRESHOLD).clamp(0.0, 1.0);
        }
        self.last_update_qdelay_avg = now;
    }

    /// Reference Window Reduction.
    fn reduce(&mut self, now: Time, scl: f64) {
        let (target, virtual_rtt) = (self.params.qdelay_target, self.params.virtual_rtt);
        let since = (now - self.last_reaction).secs();
        if since < virtual_rtt.min(self.s_rtt) {
            return;
        }
        let is_delayed = self.qdelay_avg > target / 2.0;
        if !(self.loss_detected || self.data_units_marked || is_delayed) {
            return;
        }
        if self.ref_wnd_i_update_allowed {
            self.ref_wnd_i = self.ref_wnd;
            self.ref_wnd_i_update_allowed = false;
        }
        // Congestion may be answered every virtual_rtt, less than a round trip.
        let long = (self.s_rtt / virtual_rtt).max(1.0);
        if self.loss_detected {
            self.ref_wnd *= self.params.beta_loss;
        } else if self.data_units_marked && self.stream.l4s {
            let mut backoff = self.l4s_alpha / 2.0 / long;
            if self.qdelay < target * 0.25 {
                backoff *= scl.max(0.25) * self.ref_wnd_delay_scale.max(0.25);
            }
            if since > 100.0 * virtual_rtt.max(self.s_rtt) {
                self.ref_wnd = self.ref_wnd.min(self.max_bytes_in_flight_prev);
            }
            self.ref_wnd *= 1.0 - backoff;
        } else if self.data_units_marked {
            self.ref_wnd *= self.params.beta_ecn;
        } else {
            let l4s_alpha_v = ((self.qdelay_avg - target / 2.0) / (target / 2.0)).clamp(0.0, 1.0);
            self.ref_wnd *= 1.0 - l4s_alpha_v / 2.0 / long;
        }
        self.ref_wnd = self.ref_wnd.max(self.params.min_ref_wnd);
        self.last_reaction = now;
        (self.loss_detected, self.data_units_marked) = (false, false);
    }

    /// Reference Window Increase, for bytes that arrived without a mark.
    fn increase(&mut self, now: Time, scl: f64, bytes: f64) {
        let round = self.params.virtual_rtt.max(self.s_rtt);
        let calm = (now - self.last_congestion_detected).secs() / (self.params.post_congestion_delay * round);
        let more = self.params.mul_increase * self.ref_wnd / self.stream.mss;
        let mut increment = bytes * self.ref_wnd_ratio();
        increment *= (self.s_rtt / self.params.virtual_rtt).min(1.0);
        increment *= scl.max(0.25) * self.ref_wnd_delay_scale.max(0.1);
        increment *= 1.0 + more * calm.clamp(0.0, 1.0) * scl;
        let in_flight = self.max_bytes_in_flight.max(self.max_bytes_in_flight_prev);
        let most = self.stream.mss + in_flight * self.params.in_flight_headroom;
        if increment > 0.0 && self.ref_wnd + increment <= most && self.target_bitrate < self.stream.max_rate {
            self.ref_wnd += increment;
            self.ref_wnd_i_update_allowed = true;
        }
    }

    fn update_target(&mut self) {
        if self.s_rtt <= 0.0 {
            return;
        }
        let small = 1.0 - (self.ref_wnd_ratio() - 0.1).clamp(0.0, 0.2);
        let headers = self.stream.mss / (self.stream.mss + PACKET_OVERHEAD);
        let margin = 1.2 + self.rate_adjust_factor + self.frame_size_dev;
        let rate = small * headers / margin * 8.0 * self.ref_wnd / self.s_rtt;
        self.target_bitrate = rate.max(self.stream.min_rate).min(self.stream.max_rate);
    }

    fn ref_wnd_ratio(&self) -> f64 {
        (self.stream.mss / self.ref_wnd).min(1.0)
    }
}
