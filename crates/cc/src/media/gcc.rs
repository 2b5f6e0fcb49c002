//! Google Congestion Control: draft-ietf-rmcat-gcc-02, the control of WebRTC as its authors described it.
//!
//! Two controls, of which the lower rate holds.
//!
//! **By delay** (section 5). Packets sent within 5 ms are a group. The delay variation between two groups,
//! d = (t2 - t1) - (T2 - T1) with times of arrival t and of sending T, is filtered by a Kalman filter to m. If `scale` m
//! exceeds an adaptive threshold for 10 ms and does not fall, the path is overused; below its negative it is underused. Overuse:
//! the rate becomes `beta` times the received rate. Then it is held until the signal is normal, and grows: by 8 % a second
//! while far from the rate at which overuse was found last, and by half a packet in a response time (100 ms
//! and a round trip) near it. It never exceeds 1.5 times the received rate.
//!
//! **By loss** (section 6). In each `loss_interval`: above 10 % lost the rate falls by half that share, though not below TCP's rate
//! (RFC 5348, 3.1); below 2 % it grows by 5 % and 1 kbit/s; between them it stays.
//!
//! Marks are not looked at: the draft knows no ECN, and packets are sent as Not-ECT. There is no window.
//!
//! The draft compares m itself with the threshold (`scale` = 1), which needs a queue that grows by 12.5 ms from one group to the
//! next. libwebrtc, whose thresholds these are, compares the growth over 60 groups; so does this by default.
//!
//! Where the draft is silent: the filter's noise takes the shortest time between the latest 60 groups for its highest
//! rate; the deviation of the rate at overuse starts at 5 % of it and stays between 2 and 5 %, about what
//! libwebrtc allows at 1 Mbit/s; the received rate counts after one window; packets are paced at
//! `pacing` times the rate, because at the draft's 1 frames of varying size would wait without bound; the least growth
//! near a rate, 1 kbit/s, is that of a response time, not of a report. Arrival times are those of RFC 8888's reports,
//! to 1/1024 s.
//!
//! Not here: probes for a higher rate and the trend line that libwebrtc has in place of the filter since 2016; both are
//! outside the draft.

use super::control::{Arrival, Control, Delivered, Stream};
use marqueue_core::math::powf;
use marqueue_core::{Dur, Time};
use std::collections::VecDeque;

marqueue_core::params! {
    /// Parameters of Google Congestion Control.
    pub struct Params {
        /// What overuse leaves of the received rate.
        beta: f64 { unit: Fraction, range: 0.1 => 0.99, default: 0.85, source: "draft: beta" },
        /// Growth a second, far from the last overuse.
        eta: f64 { unit: One, range: 1.001 => 2.0, default: 1.08, source: "draft: eta" },
        /// Packets sent within this time are a group.
        burst_time: f64 { unit: Seconds, range: 0.0 => 0.1, default: 0.005, source: "draft: burst_time" },
        /// Variance of the change of m between two groups, ms^2.
        q: f64 { unit: One, range: 1e-9 => 1.0, default: 1e-3, source: "draft: q" },
        /// Weight of a new deviation in the variance of the noise, at 30 groups a second.
        chi: f64 { unit: Fraction, range: 0.001 => 0.1, default: 0.01, source: "draft: 0.001 to 0.1" },
        /// Threshold at the start.
        threshold: f64 { unit: Seconds, range: 0.006 => 0.6, default: 0.0125, source: "draft: del_var_th(0)" },
        /// Number of groups whose growth of the delay is compared with the threshold.
        scale: f64 { unit: One, range: 1.0 => 1000.0, default: 60.0, source: "libwebrtc; the draft has 1" },
        /// How fast the threshold rises to a larger delay growth, 1/ms.
        k_u: f64 { unit: One, range: 0.0 => 1.0, default: 0.01, source: "draft: K_u" },
        /// How fast it falls to a smaller one, 1/ms.
        k_d: f64 { unit: One, range: 0.0 => 1.0, default: 0.00018, source: "draft: K_d" },
        /// How long it must exceed the threshold.
        overuse_time: f64 { unit: Seconds, range: 0.0 => 1.0, default: 0.01, source: "draft: overuse_time_th" },
        /// Time over which the received rate is measured.
        window: f64 { unit: Seconds, range: 0.05 => 5.0, default: 0.5, source: "draft: T, 0.5 to 1 s" },
        /// Time over which the share of lost packets is taken.
        loss_interval: f64 { unit: Seconds, range: 0.05 => 10.0, default: 0.5, source: "marqueue; without loss it grows faster than by delay" },
        /// Rate of the pacer, as a multiple of the target.
        pacing: f64 { unit: One, range: 1.0 => 10.0, default: 2.5, source: "libwebrtc; the draft has 1" },
    }
}

/// Bounds of the threshold, ms, and the largest excess of |m| that still moves it (section 5.4).
const THRESHOLDS: (f64, f64) = (6.0, 600.0);
const LARGEST_EXCESS: f64 = 15.0;
/// The received rate may be exceeded by this factor.
const MOST_OF_RECEIVED: f64 = 1.5;
/// Weight of a new rate at overuse in their average.
const RATE_WEIGHT: f64 = 0.05;
/// Bounds of their deviation, as shares of the average.
const DEVIATIONS: (f64, f64) = (0.02, 0.05);
/// Shares of lost packets below which the rate grows, and above which it falls.
const LOSSES: (f64, f64) = (0.02, 0.10);
/// Groups of which the shortest distance is taken.
const DISTANCES: usize = 60;

/// Packets that were sent together.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// When its first and its last packet were sent.
    began: Time,
    sent: Time,
    /// When its last packet arrived.
    arrived: Time,
}

/// What the detector says of the path.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Signal {
    Overuse,
    Normal,
    Underuse,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Hold,
    Increase,
    Decrease,
}

/// Section 5.3: the filter of delay variations. Times in ms.
#[derive(Clone, Debug)]
struct Filter {
    m: f64,
    e: f64,
    variance: f64,
    /// Times between the sending of the latest groups.
    distances: VecDeque<f64>,
}

impl Filter {
    /// A delay variation `d` between groups sent `distance` apart.
    fn update(&mut self, d: f64, distance: f64, params: &Params) {
        if self.distances.len() == DISTANCES {
            self.distances.pop_front();
        }
        self.distances.push_back(distance);
        let shortest = self.distances.iter().copied().fold(f64::INFINITY, f64::min);
        let alpha = powf(1.0 - params.chi, 30.0 * shortest / 1000.0);
        let z = d - self.m;
        let bound = 3.0 * self.variance.sqrt();
        let limited = z.clamp(-bound, bound);
        self.variance = (alpha * self.variance + (1.0 - alpha) * limited * limited).max(1.0);
        let predicted = self.e + params.q;
        let gain = predicted / (self.variance + predicted);
        self.m += limited * gain;
        self.e = (1.0 - gain) * predicted;
    }
}

/// State of the control.
#[derive(Clone, Debug)]
pub struct Gcc {
    params: Params,
    stream: Stream,
    /// The rate by delay and by loss, bit/s.
    by_delay: f64,
    by_loss: f64,
    state: State,
    signal: Signal,
    filter: Filter,
    /// ms.
    threshold: f64,
    /// For how long m has exceeded the threshold, ms.
    over: f64,
    current: Option<Group>,
    previous: Option<Group>,
    /// Arrivals of the latest window, and their bytes.
    received: VecDeque<(Time, u32)>,
    received_bytes: u64,
    first_arrival: Option<Time>,
    /// Average and variance of the received rate at overuse.
    at_overuse: Option<(f64, f64)>,
    updated: Time,
    loss_began: Time,
    arrived: u32,
    lost: u32,
}

fn ms(from: Time, to: Time) -> f64 {
    (to.0 as f64 - from.0 as f64) / 1e6
}

/// TCP's rate, bit/s, for packets of `bytes`, a round-trip time of `rtt` s and a share `p` of loss events (RFC 5348, 3.1).
fn tcp_rate(bytes: f64, rtt: f64, p: f64) -> f64 {
    let timeouts = 4.0 * rtt * (3.0 * (3.0 * p / 8.0).sqrt()) * p * (1.0 + 32.0 * p * p);
    8.0 * bytes / (rtt * (2.0 * p / 3.0).sqrt() + timeouts)
}

impl Gcc {
    /// The received rate of the latest window, bit/s; `None` in the first.
    fn received_rate(&self) -> Option<f64> {
        let (newest, first) = (self.received.back()?.0, self.first_arrival?);
        ((newest - first).secs() >= self.params.window).then(|| self.received_bytes as f64 * 8.0 / self.params.window)
    }

    /// A group is complete. Compares it with the one before.
    fn on_group(&mut self, group: Group) {
        let Some(previous) = self.previous.replace(group) else { return };
        let (sent, arrived) = (ms(previous.sent, group.sent), ms(previous.arrived, group.arrived));
        let before = self.filter.m;
        self.filter.update(arrived - sent, sent, &self.params);
        self.detect(before, arrived);
    }

    /// Section 5.4, for groups that arrived `elapsed` ms apart; `before` is m at the last one.
    fn detect(&mut self, before: f64, elapsed: f64) {
        let (m, before) = (self.params.scale * self.filter.m, self.params.scale * before);
        self.signal = if m > self.threshold {
            self.over += elapsed;
            let lasts = self.over >= self.params.overuse_time * 1e3 && m >= before;
            if lasts {
                Signal::Overuse
            } else {
                Signal::Normal
            }
        } else {
            self.over = 0.0;
            if m < -self.threshold {
                Signal::Underuse
            } else {
                Signal::Normal
            }
        };
        let excess = m.abs() - self.threshold;
        if excess <= LARGEST_EXCESS {
            let k = if excess < 0.0 { self.params.k_d } else { self.params.k_u };
            self.threshold = (self.threshold + elapsed * k * excess).clamp(THRESHOLDS.0, THRESHOLDS.1);
        }
    }

    /// Is a received rate within three deviations of those at overuse? A higher one says that they are of the past.
    fn is_near(&mut self, received: f64) -> bool {
        let Some((average, variance)) = self.at_overuse else { return false };
        if received > average + 3.0 * variance.sqrt() {
            self.at_overuse = None;
            return false;
        }
        received >= average - 3.0 * variance.sqrt()
    }

    fn note_overuse(&mut self, received: f64) {
        let known = self.at_overuse.filter(|(average, variance)| (received - average).abs() <= 3.0 * variance.sqrt());
        let (average, variance) = match known {
            Some((average, variance)) => {
                let error = received - average;
                (average + RATE_WEIGHT * error, (1.0 - RATE_WEIGHT) * variance + RATE_WEIGHT * error * error)
            }
            None => (received, f64::INFINITY),
        };
        let bound = |share: f64| (share * average) * (share * average);
        self.at_overuse = Some((average, variance.clamp(bound(DEVIATIONS.0), bound(DEVIATIONS.1))));
    }

    /// Section 5.5.
    fn update_by_delay(&mut self, now: Time, s_rtt: f64) {
        self.state = match (self.signal, self.state) {
            (Signal::Overuse, _) => State::Decrease,
            (Signal::Underuse, _) | (Signal::Normal, State::Decrease) => State::Hold,
            (Signal::Normal, State::Hold | State::Increase) => State::Increase,
        };
        let received = self.received_rate();
        let elapsed = (now - self.updated).secs();
        self.updated = now;
        let is_near = self.state == State::Increase && received.is_some_and(|rate| self.is_near(rate));
        match (self.state, received) {
            (State::Increase, _) if is_near => {
                let responses = (elapsed / (0.1 + s_rtt)).min(1.0);
                let frame = self.by_delay * self.stream.frame_period;
                let packet = frame / (frame / (8.0 * self.stream.mss)).ceil().max(1.0);
                self.by_delay += responses * (0.5 * packet).max(1000.0);
            }
            (State::Increase, _) => self.by_delay *= powf(self.params.eta, elapsed.min(1.0)),
            (State::Decrease, Some(received)) => {
                self.note_overuse(received);
                self.by_delay = self.by_delay.min(self.params.beta * received);
            }
            (State::Decrease, None) => self.by_delay *= self.params.beta,
            (State::Hold, _) => {}
        }
        if let Some(received) = received {
            self.by_delay = self.by_delay.min(MOST_OF_RECEIVED * received);
        }
        self.by_delay = self.by_delay.clamp(self.stream.min_rate, self.stream.max_rate);
    }

    /// Section 6.
    fn update_by_loss(&mut self, now: Time, report: &Delivered) {
        self.arrived += report.units;
        self.lost += report.units_lost;
        if (now - self.loss_began).secs() < self.params.loss_interval || self.arrived + self.lost == 0 {
            return;
        }
        let p = f64::from(self.lost) / f64::from(self.arrived + self.lost);
        // From the rate that holds: what the other control forbids is not saved up.
        let rate = self.target_bitrate();
        let next = if p > LOSSES.1 && report.s_rtt > 0.0 {
            (rate * (1.0 - 0.5 * p)).max(rate.min(tcp_rate(self.stream.mss, report.s_rtt, p)))
        } else if p < LOSSES.0 {
            1.05 * (rate + 1000.0)
        } else {
            rate
        };
        self.by_loss = next.clamp(self.stream.min_rate, self.stream.max_rate);
        self.loss_began = now;
        (self.arrived, self.lost) = (0, 0);
    }
}

impl Control for Gcc {
    const NAME: &'static str = "gcc";
    const SUMMARY: &'static str = "WebRTC's: a rate that falls when one-way delay grows or a tenth is lost";
    const SOURCE: &'static str = "draft-ietf-rmcat-gcc-02; Carlucci et al., IEEE/ACM Trans. Netw. 25(5), 2017";
    const ANSWERS_MARKS: bool = false;
    type Params = Params;

    fn new(params: Params, stream: Stream, start: Time) -> Gcc {
        Gcc {
            by_delay: stream.min_rate,
            by_loss: stream.min_rate,
            state: State::Increase,
            signal: Signal::Normal,
            filter: Filter { m: 0.0, e: 0.1, variance: 1.0, distances: VecDeque::new() },
            threshold: params.threshold * 1e3,
            over: 0.0,
            current: None,
            previous: None,
            received: VecDeque::new(),
            received_bytes: 0,
            first_arrival: None,
            at_overuse: None,
            updated: start,
            loss_began: start,
            arrived: 0,
            lost: 0,
            params,
            stream,
        }
    }

    fn target_bitrate(&self) -> f64 {
        self.by_delay.min(self.by_loss)
    }

    fn window(&self) -> f64 {
        0.0
    }

    fn most_in_flight(&self) -> f64 {
        f64::INFINITY
    }

    fn pace(&self, bytes: f64) -> Dur {
        Dur::from_secs(bytes * 8.0 / (self.target_bitrate() * self.params.pacing))
    }

    fn on_arrival(&mut self, packet: Arrival) {
        self.first_arrival.get_or_insert(packet.arrived);
        self.received.push_back((packet.arrived, packet.bytes));
        self.received_bytes += u64::from(packet.bytes);
        let window = Dur::from_secs(self.params.window);
        while let Some((_, bytes)) = self.received.pop_front_if(|(at, _)| packet.arrived > *at + window) {
            self.received_bytes -= u64::from(bytes);
        }
        let Some(group) = &mut self.current else {
            self.current = Some(Group { began: packet.sent, sent: packet.sent, arrived: packet.arrived });
            return;
        };
        let burst = self.params.burst_time * 1e3;
        let gap = ms(group.arrived, packet.arrived);
        let is_burst = gap < burst && gap - ms(group.sent, packet.sent) < 0.0;
        if ms(group.began, packet.sent) <= burst || is_burst {
            (group.sent, group.arrived) = (packet.sent.max(group.sent), packet.arrived.max(group.arrived));
            return;
        }
        let complete = *group;
        *group = Group { began: packet.sent, sent: packet.sent, arrived: packet.arrived };
        self.on_group(complete);
    }

    fn on_feedback(&mut self, now: Time, report: &Delivered) {
        self.update_by_delay(now, report.s_rtt);
        self.update_by_loss(now, report);
    }
}
