//! The clock, and the settings of a thread that must keep time.

use crate::polling::Processor;
use marqueue_core::{Dur, Time};
use rustix::process::setpriority_process;
use rustix::thread::nanosleep;
use rustix::thread::{sched_getaffinity, sched_setaffinity, set_current_timer_slack, CpuSet};
use rustix::time::{clock_gettime, ClockId, Timespec};
use std::num::NonZeroU64;

/// Priority of a link among real-time threads: in the middle, so that users can choose higher and lower ones for theirs.
pub const LINK_PRIORITY: i32 = 50;
/// Priority of senders: below that of the link.
pub const SENDER_PRIORITY: i32 = 40;
/// The nice value of a thread with a processor of its own: it goes first, but is no real-time thread.
const FIRST: i32 = -20;

/// A clock that counts from a chosen instant.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Zero of this clock on the monotonic clock, ns.
    start: u64,
}

impl Clock {
    /// A clock that is zero now.
    pub fn start() -> Clock {
        Clock { start: monotonic() }
    }

    /// The clock that was zero at `epoch` on the system's monotonic clock, s.
    pub fn since(epoch: f64) -> Clock {
        Clock { start: Dur::from_secs(epoch).0 }
    }

    /// The time since the clock was zero; zero before.
    #[inline]
    pub fn now(&self) -> Time {
        Time(monotonic().saturating_sub(self.start))
    }

    /// The time on the system's monotonic clock at which this clock was zero, s.
    pub fn epoch(&self) -> f64 {
        Dur(self.start).secs()
    }
}

#[inline]
fn monotonic() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// CPU time of the calling thread.
pub fn thread_cpu_time() -> Dur {
    Dur(nanoseconds(clock_gettime(ClockId::ThreadCPUTime)))
}

fn nanoseconds(t: Timespec) -> u64 {
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Converts a duration for system calls.
pub fn to_timespec(d: Dur) -> Timespec {
    Timespec { tv_sec: (d.0 / 1_000_000_000) as _, tv_nsec: (d.0 % 1_000_000_000) as _ }
}

/// Sleeps for `d`.
pub fn pause(d: Dur) {
    // A signal may end it earlier, which does no harm.
    let _ = nanosleep(&to_timespec(d));
}

/// What a link's thread was granted.
#[derive(Clone, Copy, Debug)]
pub struct Granted {
    /// Has it real-time priority?
    pub realtime: bool,
    /// Who else runs on its processor.
    pub processor: Processor,
}

/// Prepares the calling thread for a link: pins it to the last of its processors if it has several, which senders and
/// receivers leave free, and as [`prepare_timers`].
pub fn prepare_thread() -> Granted {
    let mut processor = Processor::Only;
    if let Ok(allowed) = sched_getaffinity(None) {
        let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu));
        if let (Some(last), true) = (last, allowed.count() > 1) {
            let mut one = CpuSet::new();
            one.set(last);
            // On failure the thread may migrate, which costs little.
            let _ = sched_setaffinity(None, &one);
            processor = Processor::Shared;
        }
    }
    Granted { realtime: prepare_timers(LINK_PRIORITY), processor }
}

/// Prepares the calling thread for a link, if its processor is isolated for it. It is not given real-time priority: no
/// thread but those of the kernel that belong to the processor is there to be preempted, and these must run now and then,
/// for some microseconds, while Linux would take the processor from a real-time thread that never sleeps for much longer.
pub fn prepare_thread_of_own_processor() -> Granted {
    // On Linux this is the nice value of the calling thread. Without it it waits for those threads for longer.
    let _ = setpriority_process(None, FIRST);
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    Granted { realtime: false, processor: Processor::Own }
}

/// Minimises the timer slack of the calling thread and requests real-time priority. Returns true if it was granted.
pub fn prepare_timers(priority: i32) -> bool {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    request_realtime_priority(priority)
}

/// rustix has no safe wrapper of sched_setscheduler.
#[allow(unsafe_code)]
fn request_realtime_priority(priority: i32) -> bool {
    // SAFETY: zero is a valid value of this plain C structure, and the call only reads it; 0 is the calling thread.
    unsafe {
        let mut param: libc::sched_param = std::mem::zeroed();
        param.sched_priority = priority;
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &param) == 0
    }
}

/// How often the calling thread was preempted; `None` if Linux does not report it.
pub fn preemptions() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}
