//! RFC 9438, sections 4.1 to 4.8, transcribed step by step under the RFC's names and as slowly as it reads. Windows are
//! in segments, times in seconds.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

/// The constants and the switch of section 4.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    pub c: f64,
    pub beta_cubic: f64,
    pub fast_convergence: bool,
}

/// A congestion event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    Loss,
    Ece,
    Timeout,
    /// Of a segment that a timeout has already retransmitted: RFC 5681, section 3.1, holds ssthresh.
    RepeatedTimeout,
}

/// What an acknowledgement of new data brings.
#[derive(Clone, Copy, Debug)]
pub struct NewAck {
    pub t_current: f64,
    pub segments_acked: f64,
    /// Smoothed round-trip time.
    pub rtt: f64,
    /// The sender had less outstanding than cwnd allows (5.8).
    pub application_limited: bool,
}

/// A departure of the implementation that an acknowledgement came upon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Departure {
    /// 4.3 would lower cwnd to W_est.
    LowersToWEst,
    /// The stage begins above W_max, for which 4.2 has no K.
    BeginsAboveWMax,
}

/// Section 4.1.2.
#[derive(Clone, Debug)]
pub struct Cubic {
    pub constants: Constants,
    pub cwnd: f64,
    pub ssthresh: f64,
    cwnd_prior: f64,
    w_max: Option<f64>,
    k: f64,
    t_epoch: Option<f64>,
    w_est: f64,
    /// Time within the stage in which cwnd was not updated for lack of use.
    limited_time: f64,
    t_last_ack: f64,
}

impl Cubic {
    pub fn new(constants: Constants, cwnd: f64, ssthresh: f64) -> Cubic {
        Cubic {
            constants,
            cwnd,
            ssthresh,
            cwnd_prior: 0.0,
            w_max: None,
            k: 0.0,
            t_epoch: None,
            w_est: 0.0,
            limited_time: 0.0,
            t_last_ack: 0.0,
        }
    }

    /// Equation 1.
    fn w_cubic(&self, t: f64) -> f64 {
        let d = t - self.k;
        self.constants.c * d * d * d + self.w_max.expect("set when the stage began")
    }

    /// The stage of congestion avoidance begins: 4.2, 4.3, and after a timeout or a first slow start 4.8 and 4.10.
    fn begin_stage(&mut self, t_current: f64) -> Option<Departure> {
        let cwnd_epoch = self.cwnd;
        self.t_epoch = Some(t_current);
        self.limited_time = 0.0;
        self.w_est = cwnd_epoch;
        match self.w_max {
            None => {
                self.k = 0.0;
                self.w_max = Some(cwnd_epoch);
                None
            }
            Some(w_max) if w_max < cwnd_epoch => {
                self.k = 0.0;
                self.w_max = Some(cwnd_epoch);
                Some(Departure::BeginsAboveWMax)
            }
            Some(w_max) => {
                self.k = ((w_max - cwnd_epoch) / self.constants.c).powf(1.0 / 3.0); // equation 2
                None
            }
        }
    }

    /// An acknowledgement of new data that carries no ECE, outside loss recovery.
    pub fn on_new_ack(&mut self, ack: NewAck) -> Option<Departure> {
        let since_last = ack.t_current - self.t_last_ack;
        self.t_last_ack = ack.t_current;
        if ack.application_limited {
            // 5.8 and 4.2: neither cwnd nor t moves.
            self.limited_time += since_last;
            return None;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd += ack.segments_acked.min(1.0); // RFC 5681, equation 2
            return None;
        }
        let mut departure = None;
        if self.t_epoch.is_none() {
            departure = self.begin_stage(ack.t_current);
        }
        let t = ack.t_current - self.t_epoch.expect("the stage has begun") - self.limited_time;
        // 4.3, equation 4.
        let beta = self.constants.beta_cubic;
        let mut alpha_cubic = 3.0 * (1.0 - beta) / (1.0 + beta);
        if self.w_est >= self.cwnd_prior {
            alpha_cubic = 1.0;
        }
        self.w_est += alpha_cubic * (ack.segments_acked / self.cwnd);
        if self.w_cubic(t) < self.w_est {
            if self.w_est < self.cwnd {
                return Some(Departure::LowersToWEst);
            }
            self.cwnd = self.w_est;
            return departure;
        }
        // 4.2, 4.4 and 4.5.
        let ahead = self.w_cubic(t + ack.rtt);
        let target = if ahead < self.cwnd {
            self.cwnd
        } else if ahead > 1.5 * self.cwnd {
            1.5 * self.cwnd
        } else {
            ahead
        };
        self.cwnd += (target - self.cwnd) / self.cwnd;
        departure
    }

    /// Sections 4.6 to 4.8. FlightSize is bounded by cwnd, so that no event raises the window; RFC 8511, section 3.1, has
    /// the bound.
    pub fn on_congestion(&mut self, event: Event, flight_size: f64) {
        if event == Event::RepeatedTimeout {
            self.cwnd = 1.0;
            self.t_epoch = None;
            self.w_max = None;
            return;
        }
        let beta = self.constants.beta_cubic;
        // 4.7, before the reduction.
        let declines = self.w_max.is_some_and(|w_max| self.cwnd < w_max);
        self.w_max =
            Some(if declines && self.constants.fast_convergence { self.cwnd * (1.0 + beta) / 2.0 } else { self.cwnd });
        self.cwnd_prior = self.cwnd;
        // 4.6.
        self.ssthresh = if event == Event::Ece { flight_size.min(self.cwnd) } else { flight_size } * beta;
        self.cwnd = match event {
            Event::Loss => self.ssthresh.max(2.0),
            Event::Ece => self.ssthresh.max(1.0),
            Event::Timeout | Event::RepeatedTimeout => 1.0,
        };
        self.ssthresh = self.ssthresh.max(2.0);
        self.t_epoch = None;
        if event == Event::Timeout {
            self.w_max = None; // 4.8
        }
    }
}
