//! Stops an event loop from another thread.

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{eventfd, EventfdFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Result;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Stops an event loop from another thread. Clones stop the same loop.
#[derive(Clone, Debug)]
pub struct StopHandle(Arc<(AtomicBool, OwnedFd)>);

impl StopHandle {
    /// A handle for one loop.
    ///
    /// # Errors
    /// If the system has no file descriptors left.
    pub fn new() -> Result<StopHandle> {
        Ok(StopHandle(Arc::new((AtomicBool::new(false), eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))))
    }

    /// Stops the loop.
    pub fn stop(&self) {
        self.0 .0.store(true, Ordering::Relaxed);
        // Wakes the thread from epoll. If the write fails, the flag is seen after the present sleep.
        let _ = rustix::io::write(&self.0 .1, &1u64.to_ne_bytes());
    }

    /// Was the loop stopped?
    pub fn is_set(&self) -> bool {
        self.0 .0.load(Ordering::Relaxed)
    }

    /// Makes `epoll` wake up when the loop is stopped.
    ///
    /// # Errors
    /// If the system has no memory left.
    pub fn wake(&self, epoll: impl AsFd) -> Result<()> {
        epoll::add(epoll, &self.0 .1, EventData::new_u64(0), EventFlags::IN)
    }
}
