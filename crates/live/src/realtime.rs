//! The clock, and a thread that keeps it.

use marqueue_core::{Dur, Time};
use rustix::thread::{sched_getaffinity, sched_setaffinity, set_current_timer_slack, CpuSet};
use rustix::time::{clock_gettime, ClockId, Timespec};
use std::num::NonZeroU64;

/// Priority among real-time threads: in the middle, so that a user can be above and below.
const PRIORITY: i32 = 50;

/// Time since some instant.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: u64,
}

impl Clock {
    /// A clock that is at zero now.
    pub fn start() -> Clock {
        Clock { start: monotonic() }
    }

    /// The time.
    #[inline]
    pub fn now(&self) -> Time {
        Time(monotonic() - self.start)
    }

    /// Where it started, on the system's monotonic clock, in seconds.
    pub fn epoch(&self) -> f64 {
        Dur(self.start).secs()
    }
}

#[inline]
fn monotonic() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// CPU time of the calling thread.
pub fn thread_time() -> Dur {
    Dur(nanoseconds(clock_gettime(ClockId::ThreadCPUTime)))
}

fn nanoseconds(t: Timespec) -> u64 {
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// How long the system may sleep for at most `d`.
pub fn timeout(d: Dur) -> Timespec {
    Timespec { tv_sec: (d.0 / 1_000_000_000) as _, tv_nsec: (d.0 % 1_000_000_000) as _ }
}

/// Puts the calling thread on the last of its processors, if it has several, makes its timers exact, and
/// asks for real-time priority. Says whether it got that.
pub fn prepare_thread() -> bool {
    if let Ok(mine) = sched_getaffinity(None) {
        let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| mine.is_set(cpu));
        if let (Some(last), true) = (last, mine.count() > 1) {
            let mut one = CpuSet::new();
            one.set(last);
            // Without it the thread may move, which costs some time, no more.
            let _ = sched_setaffinity(None, &one);
        }
    }
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    ask_for_priority()
}

/// The one call that no safe library has.
#[allow(unsafe_code)]
fn ask_for_priority() -> bool {
    // SAFETY: all zero is a valid value of this plain C structure, which the call only reads; 0 is the
    // calling thread.
    unsafe {
        let mut param: libc::sched_param = std::mem::zeroed();
        param.sched_priority = PRIORITY;
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &param) == 0
    }
}

/// How often the calling thread was put aside for another, as Linux tells it.
pub fn interrupted() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}
