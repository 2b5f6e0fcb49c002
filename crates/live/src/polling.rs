//! How a link's thread waits: how long it polls the clock before a packet is due, and when it must rest.
//!
//! A thread that sleeps until a packet is due wakes up late. So it sleeps until shortly before, and polls for the rest.
//! Linux takes the processor from a real-time thread that never sleeps, for 50 ms of every second (sched(7),
//! sched_rt_runtime_us), and other threads of that processor need it too. So a thread that shares its processor sleeps
//! now and then, for much less than that, however much there is to do.

use marqueue_core::{Dur, Time};

/// The longest time before a packet is due in which a thread polls, if nothing is known of the machine.
pub const DEFAULT_LONGEST_POLL: Dur = Dur(40_000);
/// How long a thread sleeps that must. It does not choose to sleep for less.
pub const REST: Dur = Dur(20_000);
/// CPU time that going to sleep and waking up may take, on a virtual machine.
const SWITCH: Dur = Dur(10_000);
/// Most time awake without a rest: half of what Linux allows in a second.
const MOST_AWAKE: Dur = Dur(475_000_000);
/// Time awake for a time asleep, where senders and receivers have processors of their own.
const AWAKE_PER_REST: u64 = 7;
/// The same where they have not.
const AWAKE_PER_REST_ALONE: u64 = 1;

/// Who else runs on the processor of a link's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// Any thread of the machine, and senders and receivers if there is no other processor.
    Only,
    /// Any thread of the machine, but neither senders nor receivers.
    Shared,
    /// Nobody: it is isolated for this thread, which never sleeps.
    Own,
}

/// The time that a thread may still be awake.
#[derive(Debug)]
pub struct Polling {
    /// Does it never sleep?
    always: bool,
    /// The longest time before a packet is due in which the thread polls.
    longest: Dur,
    /// Time awake that is allowed for a time asleep.
    awake_per_rest: u64,
    /// What was left when the thread last woke up.
    left: Dur,
    /// When the thread last woke up.
    awake_since: Time,
}

impl Polling {
    /// A thread that wakes up at time zero. It polls for `longest`: about as late as this machine wakes it up. But where
    /// that is more than half of `packet_time`, the time between packets, it polls for half of it, and not for less than
    /// [`DEFAULT_LONGEST_POLL`]; else it would have to rest instead, at times that it cannot choose.
    pub fn new(longest: Dur, packet_time: Option<Dur>, processor: Processor) -> Polling {
        let longest = match packet_time {
            Some(time) => longest.min(Dur(time.0 / 2).max(DEFAULT_LONGEST_POLL)),
            None => longest,
        };
        let awake_per_rest = match processor {
            Processor::Only => AWAKE_PER_REST_ALONE,
            Processor::Shared | Processor::Own => AWAKE_PER_REST,
        };
        let left = Dur(REST.0 * awake_per_rest);
        Polling { always: processor == Processor::Own, longest, awake_per_rest, left, awake_since: Time::ZERO }
    }

    /// How long a thread that has nothing to do at `now` sleeps if the next packet is due at `due`; `None` if it polls.
    pub fn sleep(&self, now: Time, due: Time) -> Option<Dur> {
        Some(due.since(now + self.longest)).filter(|&sleep| sleep >= REST && !self.always)
    }

    /// Must the thread sleep at `now`, for [`REST`], whatever there is to do?
    pub fn must_rest(&self, now: Time) -> bool {
        !self.always && now.since(self.awake_since) >= self.left
    }

    /// The thread has slept from `start` to `end`.
    pub fn slept(&mut self, start: Time, end: Time) {
        let spent = start.since(self.awake_since) + SWITCH;
        let earned = end.since(start + SWITCH).0.saturating_mul(self.awake_per_rest);
        self.left = Dur(self.left.0.saturating_add(earned).saturating_sub(spent.0)).min(MOST_AWAKE);
        self.awake_since = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that would never sleep rests for its share of the time, in short pieces.
    #[test]
    fn a_busy_thread_rests_for_its_share() {
        for (processor, share) in [(Processor::Only, 1.0 / 2.0), (Processor::Shared, 1.0 / 8.0)] {
            let mut polling = Polling::new(DEFAULT_LONGEST_POLL, None, processor);
            let (mut now, mut asleep) = (Time::ZERO, 0);
            while now < Time(1_000_000_000) {
                if polling.must_rest(now) {
                    let end = now + REST + SWITCH;
                    polling.slept(now, end);
                    (now, asleep) = (end, asleep + REST.0);
                } else {
                    now += Dur(1_000);
                }
            }
            // Going to sleep and waking up is time awake, as Linux counts it.
            let rested = asleep as f64 / now.secs() / 1e9;
            assert!((rested / share - 1.0).abs() < 0.01, "{processor:?} rests for {rested}, not {share}");
        }
    }

    #[test]
    fn who_has_slept_long_may_be_awake_for_a_while_and_no_longer() {
        let mut polling = Polling::new(DEFAULT_LONGEST_POLL, None, Processor::Shared);
        let woke = Time(3_600_000_000_000);
        polling.slept(Time::ZERO, woke);
        assert!(!polling.must_rest(Time(woke.0 + MOST_AWAKE.0 - 1)));
        assert!(polling.must_rest(Time(woke.0 + MOST_AWAKE.0)));
    }

    #[test]
    fn a_thread_with_a_processor_of_its_own_never_sleeps() {
        let polling = Polling::new(DEFAULT_LONGEST_POLL, None, Processor::Own);
        for now in [Time::ZERO, Time(3_600_000_000_000)] {
            assert!(!polling.must_rest(now));
            assert_eq!(polling.sleep(now, Time::NEVER), None);
        }
    }

    #[test]
    fn polling_starts_at_most_so_long_before_a_packet_is_due() {
        let now = Time(1_000_000);
        let sleep = |packet_time: Option<Dur>, due| {
            Polling::new(Dur(100_000), packet_time, Processor::Shared).sleep(now, now + due)
        };
        assert_eq!(sleep(None, Dur(160_000)), Some(Dur(60_000)));
        assert_eq!(sleep(None, Dur(110_000)), None, "too short to be worth it");
        assert_eq!(sleep(Some(Dur(120_000)), Dur(110_000)), Some(Dur(50_000)));
        assert_eq!(sleep(Some(Dur(20_000)), Dur(110_000)), Some(Dur(70_000)));
    }
}
