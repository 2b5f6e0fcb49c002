//! The pseudocode of draft-ietf-ccwg-rfc8298bis-screamv2, statement by statement, with times in seconds. Functions are its
//! blocks; the order in which a report runs them is that of the text: l4s_alpha, qdelay_avg, reduction, increase, rate.

#![allow(non_snake_case, reason = "names are those of the draft")]
#![allow(clippy::manual_clamp, reason = "statements are those of the draft")]

pub struct Sender {
    pub ref_wnd: f64,
    pub ref_wnd_i: f64,
    pub ref_wnd_i_update_allowed: bool,
    pub l4s_alpha: f64,
    pub last_update_l4s_alpha_time: f64,
    pub data_units_delivered_this_rtt: f64,
    pub data_units_marked_this_rtt: f64,
    pub qdelay_avg: f64,
    pub qdelay_max_avg: f64,
    pub qdelay_min_avg: f64,
    pub qdelay_dev_avg: f64,
    pub ref_wnd_delay_scale: f64,
    pub last_update_qdelay_avg_time: f64,
    pub last_congestion_detected_time: f64,
    pub last_reaction_to_congestion_time: f64,
    pub loss_detected: bool,
    pub data_units_marked: bool,
    pub max_bytes_in_flight: f64,
    pub max_bytes_in_flight_prev: f64,
    pub rate_adjust_factor: f64,
    pub frame_size_dev: f64,
    pub target_bitrate: f64,
    pub MSS: f64,
    pub frame_period: f64,
    pub TARGET_BITRATE_MIN: f64,
    pub TARGET_BITRATE_MAX: f64,
    pub IS_L4S: bool,
    pub REDUCE_JITTER: bool,
}

const QDELAY_TARGET: f64 = 0.06;
const VIRTUAL_RTT: f64 = 0.025;
const MIN_REF_WND: f64 = 3000.0;

impl Sender {
    fn ref_wnd_ratio(&self) -> f64 {
        f64::min(1.0, self.MSS / self.ref_wnd)
    }

    pub fn alpha(&mut self, now: f64, s_rtt: f64, data_units_acked: f64, data_units_acked_ce: f64) {
        self.data_units_delivered_this_rtt += data_units_acked;
        self.data_units_marked_this_rtt += data_units_acked_ce;
        if now - self.last_update_l4s_alpha_time >= f64::min(0.01, s_rtt) {
            // The text divides by what was delivered, which may be nothing.
            if self.data_units_delivered_this_rtt == 0.0 {
                return;
            }
            let fraction_marked_t = self.data_units_marked_this_rtt / self.data_units_delivered_this_rtt;
            if fraction_marked_t >= self.l4s_alpha {
                self.l4s_alpha = 1.0 / 8.0 * fraction_marked_t + (1.0 - 1.0 / 8.0) * self.l4s_alpha;
            } else {
                self.l4s_alpha *= 1.0 - 1.0 / 128.0;
            }
            self.last_update_l4s_alpha_time = now;
            self.data_units_delivered_this_rtt = 0.0;
            self.data_units_marked_this_rtt = 0.0;
        }
    }

    pub fn delay(&mut self, now: f64, s_rtt: f64, qdelay: f64) {
        if self.REDUCE_JITTER {
            self.qdelay_max_avg = f64::min(QDELAY_TARGET, f64::max(qdelay, self.qdelay_max_avg));
            self.qdelay_min_avg = f64::min(qdelay, self.qdelay_min_avg);
        }
        if now - self.last_update_qdelay_avg_time >= f64::min(VIRTUAL_RTT, s_rtt) {
            if qdelay < self.qdelay_avg {
                self.qdelay_avg = qdelay;
            } else {
                self.qdelay_avg = 1.0 / 4.0 * qdelay + (1.0 - 1.0 / 4.0) * self.qdelay_avg;
            }
            if self.REDUCE_JITTER {
                self.qdelay_max_avg *= 1.0 - 1.0 / 16.0;
                self.qdelay_min_avg = self.qdelay_min_avg * (1.0 - 1.0 / 16.0) + self.qdelay_max_avg * 1.0 / 16.0;
                self.qdelay_dev_avg =
                    (1.0 - 1.0 / 32.0) * self.qdelay_dev_avg + 1.0 / 32.0 * (self.qdelay_max_avg - self.qdelay_min_avg);
                self.ref_wnd_delay_scale = f64::max(0.0, f64::min(1.0, 1.0 - self.qdelay_dev_avg / 0.01));
            }
            self.last_update_qdelay_avg_time = now;
        }
    }

    pub fn window(&mut self, now: f64, s_rtt: f64, qdelay: f64, bytes_newly_acked: f64, bytes_newly_acked_ce: f64) {
        // Reference Window Reduction
        let mut scl_t = (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i;
        scl_t *= 8.0;
        scl_t *= scl_t;
        scl_t = f64::max(0.1, f64::min(1.0, scl_t));
        if self.loss_detected || self.data_units_marked {
            self.last_congestion_detected_time = now;
        }
        let (mut is_loss_t, mut is_ce_t, mut is_virtual_ce_t, mut l4s_alpha_v_t) = (false, false, false, 0.0);
        if now - self.last_reaction_to_congestion_time >= f64::min(VIRTUAL_RTT, s_rtt) {
            if self.loss_detected {
                is_loss_t = true;
            } else if self.data_units_marked {
                is_ce_t = true;
            } else if self.qdelay_avg > QDELAY_TARGET / 2.0 && !(is_ce_t || is_loss_t) {
                let over = (self.qdelay_avg - QDELAY_TARGET / 2.0) / (QDELAY_TARGET / 2.0);
                l4s_alpha_v_t = f64::min(1.0, f64::max(0.0, over));
                is_virtual_ce_t = true;
            }
        }
        if (is_loss_t || is_ce_t || is_virtual_ce_t) && self.ref_wnd_i_update_allowed {
            self.ref_wnd_i = self.ref_wnd;
            self.ref_wnd_i_update_allowed = false;
        }
        if is_loss_t {
            self.ref_wnd *= 0.7;
        }
        if is_ce_t {
            if self.IS_L4S {
                let mut backoff_t = self.l4s_alpha / 2.0;
                backoff_t /= f64::max(1.0, s_rtt / VIRTUAL_RTT);
                if qdelay < QDELAY_TARGET * 0.25 {
                    backoff_t *= f64::max(0.25, scl_t);
                    backoff_t *= f64::max(0.25, self.ref_wnd_delay_scale);
                }
                if now - self.last_reaction_to_congestion_time > 100.0 * f64::max(VIRTUAL_RTT, s_rtt) {
                    self.ref_wnd = f64::min(self.ref_wnd, self.max_bytes_in_flight_prev);
                }
                self.ref_wnd *= 1.0 - backoff_t;
            } else {
                self.ref_wnd *= 0.8;
            }
        }
        if is_virtual_ce_t {
            let mut backoff_t = l4s_alpha_v_t / 2.0;
            backoff_t /= f64::max(1.0, s_rtt / VIRTUAL_RTT);
            self.ref_wnd *= 1.0 - backoff_t;
        }
        self.ref_wnd = f64::max(MIN_REF_WND, self.ref_wnd);
        if is_loss_t || is_ce_t || is_virtual_ce_t {
            self.last_reaction_to_congestion_time = now;
            // "since last_reaction_to_congestion_time"
            (self.loss_detected, self.data_units_marked) = (false, false);
        }

        // Reference Window Increase
        let post_congestion_scale_t = f64::max(
            0.0,
            f64::min(1.0, (now - self.last_congestion_detected_time) / (100.0 * f64::max(VIRTUAL_RTT, s_rtt))),
        );
        let ref_wnd_scale_factor_t = 1.0 + (0.02 * self.ref_wnd) / self.MSS;
        let bytes_newly_acked_minus_ce_t = bytes_newly_acked - bytes_newly_acked_ce;
        let mut increment_t = bytes_newly_acked_minus_ce_t * self.ref_wnd_ratio();
        let mut tmp_t = f64::min(1.0, s_rtt / VIRTUAL_RTT);
        increment_t *= tmp_t;
        increment_t *= f64::max(0.25, scl_t);
        increment_t *= f64::max(0.1, self.ref_wnd_delay_scale);
        tmp_t = ref_wnd_scale_factor_t;
        if tmp_t > 1.0 {
            tmp_t = 1.0 + (tmp_t - 1.0) * post_congestion_scale_t * scl_t;
        }
        increment_t *= tmp_t;
        let ref_wnd_prev_ = self.ref_wnd;
        let max_allowed_t = self.MSS + f64::max(self.max_bytes_in_flight, self.max_bytes_in_flight_prev) * 1.5;
        let ref_wnd_t = self.ref_wnd + increment_t;
        if ref_wnd_t <= max_allowed_t && self.target_bitrate < self.TARGET_BITRATE_MAX {
            self.ref_wnd = ref_wnd_t;
        }
        if self.ref_wnd > ref_wnd_prev_ {
            self.ref_wnd_i_update_allowed = true;
        }
    }

    pub fn frame(&mut self, media_qdelay: f64, frame_size: f64) {
        let error = (media_qdelay - self.frame_period / 4.0) / self.frame_period;
        self.rate_adjust_factor += error * (1.0 / 16.0);
        self.rate_adjust_factor = f64::min(0.5, f64::max(0.0, self.rate_adjust_factor));
        let frame_size_nom = self.target_bitrate * self.frame_period / 8.0;
        let deviation = f64::max(0.0, (frame_size - frame_size_nom) / frame_size_nom);
        self.frame_size_dev = f64::min(0.2, (1.0 - 1.0 / 64.0) * self.frame_size_dev + 1.0 / 64.0 * deviation);
    }

    pub fn rate(&mut self, s_rtt: f64) {
        let mut tmp_t = 1.0;
        tmp_t *= 1.0 - f64::min(0.2, f64::max(0.0, self.ref_wnd_ratio() - 0.1));
        tmp_t *= self.MSS / (self.MSS + 20.0);
        tmp_t /= 1.2 + self.rate_adjust_factor + self.frame_size_dev;
        self.target_bitrate = tmp_t * 8.0 * self.ref_wnd / s_rtt;
        self.target_bitrate = f64::min(self.TARGET_BITRATE_MAX, f64::max(self.TARGET_BITRATE_MIN, self.target_bitrate));
    }

    pub fn t_pace(&self, data_unit_size: f64) -> f64 {
        let mut pace_bitrate = f64::max(50_000.0, self.target_bitrate) * 1.5;
        let nominal_rate_t = self.target_bitrate / self.TARGET_BITRATE_MAX;
        let mut pace_rate_scale_t = f64::min(1.0, (nominal_rate_t - 0.8) / (1.0 - 0.8));
        pace_rate_scale_t = f64::min(1.0, f64::max(1.0 / 4.0, 1.0 - pace_rate_scale_t));
        pace_bitrate /= pace_rate_scale_t;
        data_unit_size * 8.0 / pace_bitrate
    }

    pub fn send_wnd(&self) -> f64 {
        self.ref_wnd * (1.5 + (3.0 - 1.5) * self.ref_wnd_delay_scale)
    }
}
