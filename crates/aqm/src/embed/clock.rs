//! The program's clock, as the disciplines need it: from zero, never backwards, without leaps that take long to make up for.

use marqueue_core::{Dur, Time};

/// The longest silence: periodic timers that were due in it are run one by one.
const LONGEST_SILENCE: Dur = Dur(3_600_000_000_000);

/// Translates the program's time. A discipline's time begins at the first time that is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// The program's time less the discipline's.
    offset: Option<u64>,
    last: Time,
}

impl Clock {
    /// The discipline's time at the program's `given`. A time before the last one is the last one; between two times there is
    /// an hour at most, as if the clock had stood still for the rest.
    pub(super) fn read(&mut self, given: Time) -> Time {
        let offset = self.offset.get_or_insert(given.0);
        let now = given.0.saturating_sub(*offset).max(self.last.0);
        let leap = (now - self.last.0).saturating_sub(LONGEST_SILENCE.0);
        *offset += leap;
        self.last = Time(now - leap);
        self.last
    }

    /// The discipline's time that was read last.
    pub(super) fn last(&self) -> Time {
        self.last
    }

    /// The program's time at the discipline's `time`; `None` if that is never.
    pub(super) fn given(&self, time: Time) -> Option<Time> {
        let offset = self.offset?;
        (time != Time::NEVER).then(|| Time(time.0.saturating_add(offset)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_begins_with_the_first_reading_and_never_turns_back() {
        let mut clock = Clock::default();
        assert_eq!(clock.given(Time(5)), None);
        assert_eq!([1_000, 1_007, 1_002, 0, 1_008].map(|t| clock.read(Time(t)).0), [0, 7, 7, 7, 8]);
        assert_eq!(clock.given(Time(8)), Some(Time(1_008)));
        assert_eq!(clock.given(Time::NEVER), None);
    }

    #[test]
    fn a_silence_of_centuries_is_one_of_an_hour() {
        let mut clock = Clock::default();
        clock.read(Time(0));
        assert_eq!(clock.read(Time(u64::MAX)), Time::ZERO + LONGEST_SILENCE);
        assert_eq!(clock.read(Time(u64::MAX)), Time::ZERO + LONGEST_SILENCE);
        assert_eq!(clock.given(Time(LONGEST_SILENCE.0)), Some(Time(u64::MAX)));
    }
}
