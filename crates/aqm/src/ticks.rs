//! The regular timer of a policy, which rests while nothing can come of it.
//!
//! At an empty queue a policy's next state follows from its last one alone. Once a tick has changed
//! nothing, no tick will before a packet arrives: until then there is no timer, however long it takes,
//! and then it goes on in step with what it was.

use marqueue_core::{Dur, Time};

/// A timer that is due every period.
#[derive(Clone, Debug)]
pub struct Ticks {
    period: Dur,
    next: Time,
    rests: bool,
}

impl Ticks {
    /// A timer that runs from `now` on, every `period` > 0.
    pub fn new(now: Time, period: Dur) -> Ticks {
        Ticks { period, next: now + period, rests: false }
    }

    /// When it is due; never, while it rests.
    #[inline]
    pub fn due(&self) -> Time {
        if self.rests {
            Time::NEVER
        } else {
            self.next
        }
    }

    /// It was due. `still`: the queue is empty, and the state is what it was.
    #[inline]
    pub fn tick(&mut self, still: bool) {
        self.next += self.period;
        self.rests = still;
    }

    /// A packet arrives at `now`, after whatever was due by then.
    #[inline]
    pub fn wake(&mut self, now: Time) {
        if self.rests {
            self.rests = false;
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
        let mut ticks = Ticks::new(Time(5), Dur(10));
        assert_eq!(ticks.due(), Time(15));
        ticks.tick(false);
        assert_eq!(ticks.due(), Time(25));
        ticks.tick(true);
        assert_eq!(ticks.due(), Time::NEVER);
        // 35 and 45 have passed; so has 55, which comes before an arrival at 55.
        for (now, due) in [(Time(34), Time(35)), (Time(54), Time(55)), (Time(55), Time(65))] {
            let mut woken = ticks.clone();
            woken.wake(now);
            assert_eq!(woken.due(), due);
            woken.wake(Time(1000));
            assert_eq!(woken.due(), due, "it does not rest");
        }
    }
}
