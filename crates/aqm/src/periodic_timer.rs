//! The periodic timer of a policy. It pauses while the queue is empty and ticks change nothing.
//!
//! At an empty queue the next state of a policy depends on its last state alone. Once a tick has changed nothing, no
//! later tick changes anything before a packet arrives. The timer pauses until then and resumes in phase.

use marqueue_core::{Dur, Time};

/// A timer with a fixed period.
#[derive(Clone, Debug)]
pub struct PeriodicTimer {
    period: Dur,
    next: Time,
    paused: bool,
}

impl PeriodicTimer {
    /// A timer that starts at `now` with `period` > 0.
    pub fn new(now: Time, period: Dur) -> PeriodicTimer {
        PeriodicTimer { period, next: now + period, paused: false }
    }

    /// When it is due; never while it is paused.
    #[inline]
    pub fn due(&self) -> Time {
        if self.paused {
            Time::NEVER
        } else {
            self.next
        }
    }

    /// The timer was due. `unchanged`: the queue is empty and the tick did not change the state.
    #[inline]
    pub fn tick(&mut self, unchanged: bool) {
        self.next += self.period;
        self.paused = unchanged;
    }

    /// A packet arrives at `now`: resumes the timer if it is paused. Whatever was due by `now` has happened.
    #[inline]
    pub fn resume(&mut self, now: Time) {
        if self.paused {
            self.paused = false;
            if self.next <= now {
                let missed = (now - self.next).0 / self.period.0 + 1;
                self.next += Dur(missed * self.period.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_rest_it_is_in_step() {
        let mut timer = PeriodicTimer::new(Time(5), Dur(10));
        assert_eq!(timer.due(), Time(15));
        timer.tick(false);
        assert_eq!(timer.due(), Time(25));
        timer.tick(true);
        assert_eq!(timer.due(), Time::NEVER);
        // 35 and 45 have passed; so has 55, which comes before an arrival at 55.
        for (now, due) in [(Time(34), Time(35)), (Time(54), Time(55)), (Time(55), Time(65))] {
            let mut resumed = timer.clone();
            resumed.resume(now);
            assert_eq!(resumed.due(), due);
            resumed.resume(Time(1000));
            assert_eq!(resumed.due(), due, "it does not rest");
        }
    }
}
