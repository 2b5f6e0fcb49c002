//! A virtual queue, which only counts bytes, and AVQ's virtual capacity, which adapts to the arrival rate.
//!
//! Kunniyur and Srikant, "An Adaptive Virtual Queue (AVQ) Algorithm for Active Queue Management",
//! IEEE/ACM ToN 12(2), 2004, section II: the pseudocode and the token bucket of Fig. 3.

use marqueue_core::Time;

/// A virtual queue: only its length is kept. It drains continuously.
#[derive(Clone, Debug)]
pub struct FluidQueue {
    /// VQ, bytes.
    level: f64,
    /// Time up to which it has drained.
    drained: Time,
}

impl FluidQueue {
    /// An empty queue.
    pub fn new(now: Time) -> FluidQueue {
        FluidQueue { level: 0.0, drained: now }
    }

    /// Drains at `capacity` bytes/s until `now`: VQ <- max(VQ - capacity (t - s), 0).
    #[inline]
    pub fn drain(&mut self, now: Time, capacity: f64) {
        self.level = self.level_at(now, capacity);
        self.drained = now;
    }

    /// Adds `bytes` if they fit into `buffer`. Returns whether they fit.
    #[inline]
    pub fn offer(&mut self, bytes: f64, buffer: f64) -> bool {
        let fits = self.level + bytes <= buffer;
        if fits {
            self.level += bytes;
        }
        fits
    }

    /// Is it empty?
    pub fn is_empty(&self) -> bool {
        self.level <= 0.0
    }

    /// Its length at `now` if nothing arrives before, bytes.
    #[inline]
    pub fn level_at(&self, now: Time, capacity: f64) -> f64 {
        (self.level - capacity * now.since(self.drained).secs()).max(0.0)
    }
}

/// AVQ's virtual capacity as a token bucket: tokens arrive at alpha gamma C up to C, each packet of b bytes takes
/// alpha b. The level of the bucket is C~.
#[derive(Clone, Debug)]
pub struct VirtualCapacity {
    /// Smoothing, 1/s.
    alpha: f64,
    /// alpha gamma, with gamma the desired utilization.
    alpha_gamma: f64,
    /// C~, bytes/s.
    level: f64,
    /// s: the time of the last update; [`Time::NEVER`] before the first packet, so that no time has passed since.
    last: Time,
    /// Packets an update.
    every: u32,
    /// Packets that counted since the last update, and their bytes.
    pending: (u32, f64),
}

impl VirtualCapacity {
    /// A virtual capacity of `initial` bytes/s until the first update, which is made every `every` packets.
    pub fn new(gamma: f64, alpha: f64, initial: f64, every: u32) -> VirtualCapacity {
        VirtualCapacity {
            alpha,
            alpha_gamma: alpha * gamma,
            level: initial,
            last: Time::NEVER,
            every,
            pending: (0, 0.0),
        }
    }

    /// C~ in bytes/s.
    #[inline]
    pub fn get(&self) -> f64 {
        self.level
    }

    /// A packet that counts as `bytes` arrived at a link of capacity `c` bytes/s. Every K packets, b bytes in all:
    /// C~ <- max(min(C~ + alpha gamma C (t - s), C) - alpha b, 0).
    #[inline]
    pub fn admit(&mut self, now: Time, c: f64, bytes: f64) {
        let (packets, waiting) = self.pending;
        let bytes = waiting + bytes;
        if packets + 1 < self.every {
            self.pending = (packets + 1, bytes);
            return;
        }
        self.pending = (0, 0.0);
        let earned = self.alpha_gamma * c * now.since(self.last).secs();
        self.level = (lesser(self.level + earned, c) - self.alpha * bytes).max(0.0);
        self.last = now;
    }

    /// Restores C~ <= C for a link of `c` bytes/s.
    #[inline]
    pub fn bound(&mut self, c: f64) {
        self.level = lesser(self.level, c);
    }
}

/// The lesser of two numbers. [`f64::min`] takes five instructions more, for one that is no number.
#[inline(always)]
fn lesser(a: f64, b: f64) -> f64 {
    if a < b {
        a
    } else {
        b
    }
}
