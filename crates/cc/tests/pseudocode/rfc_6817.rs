//! RFC 6817, section 2.4.2, transcribed step by step under the RFC's names, in segments and seconds. FILTER() is the
//! minimum. A minute without a sample stores infinity, as the prose of the section says.

pub const BASE_HISTORY: usize = 10;
pub const CURRENT_FILTER: usize = 4;
const TARGET: f64 = 0.1;
const MIN_CWND: f64 = 2.0;
const ALLOWED_INCREASE: f64 = 1.0;

pub struct Sender {
    pub cwnd: f64,
    current_delays: Vec<f64>,
    base_delays: Vec<f64>,
    last_rollover: Option<f64>,
}

fn least(list: &[f64]) -> f64 {
    list.iter().copied().fold(f64::INFINITY, f64::min)
}

impl Sender {
    pub fn new(cwnd: f64) -> Sender {
        Sender {
            cwnd,
            current_delays: vec![f64::INFINITY; CURRENT_FILTER],
            base_delays: vec![f64::INFINITY; BASE_HISTORY],
            last_rollover: None,
        }
    }

    fn append_base(&mut self, delay: f64) {
        self.base_delays.remove(0);
        self.base_delays.push(delay);
    }

    fn update_base_delay(&mut self, now: f64, delay: f64) {
        let minute = |t: f64| (t / 60.0).floor();
        let passed = self.last_rollover.map_or(1.0, |last| minute(now) - minute(last));
        if passed > 0.0 {
            for _ in 1..passed as usize {
                self.append_base(f64::INFINITY);
            }
            self.last_rollover = Some(now);
            self.append_base(delay);
        } else {
            let tail = self.base_delays.last_mut().expect("a base delay is noted before");
            *tail = tail.min(delay);
        }
    }

    pub fn on_acknowledgement(&mut self, now: f64, delay: f64, newly_acked: f64, flightsize: f64) {
        self.update_base_delay(now, delay);
        self.current_delays.remove(0);
        self.current_delays.push(delay);
        // Section 4.2: it is not negative. It would be where a filter holds delays from before a pause, and 2.5 forbids
        // such a filter.
        let queuing_delay = (least(&self.current_delays) - least(&self.base_delays)).max(0.0);
        let off_target = (TARGET - queuing_delay) / TARGET;
        self.cwnd += off_target * newly_acked / self.cwnd;
        self.cwnd = self.cwnd.min(flightsize + ALLOWED_INCREASE).max(MIN_CWND);
    }

    pub fn on_data_loss(&mut self) {
        self.cwnd = self.cwnd.min((self.cwnd / 2.0).max(MIN_CWND));
    }
}
