//! AVQ in integers: what the program in `c/avq.bpf.c` computes, word for word.
//!
//! Kunniyur and Srikant, "An Adaptive Virtual Queue (AVQ) Algorithm for Active Queue Management",
//! IEEE/ACM ToN 12(2), 2004, section II. The kernel has no floating point: bytes and bytes/s are counted in
//! units of 2^-20, time in nanoseconds, and what a division leaves over is carried to the next one, so that
//! nothing is lost however close packets come. `tests/equality.rs` holds this against the program, and
//! `tests/precision.rs` against the algorithm of `marqueue_aqm`.
//!
//! Departures: no real buffer is seen, so that a packet which overflows it counts in the arrival rate (as in
//! ns-2.35's Queue/Vq); of a segmented packet as many segments enter the virtual queue as fit, and the whole
//! of it is signalled if not all do.

/// Binary digits of the fraction of a byte.
pub const FRACTION: u32 = 20;

const SECOND: u64 = 1_000_000_000;

/// The largest value of any word of a [`Law`]: sums of two stay below 2^64.
const LARGEST: f64 = (1u64 << 62) as f64;

/// What is given: C, alpha, gamma, B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Law {
    /// C, 2^-20 bytes/s.
    pub capacity: u64,
    /// alpha gamma C, 2^-20 bytes/s^2.
    pub growth: u64,
    /// alpha, 2^-20 /s.
    pub cost: u64,
    /// C~ before the first packet, 2^-20 bytes/s.
    pub initial: u64,
    /// B, 2^-20 bytes.
    pub buffer: u64,
}

impl Law {
    /// A link of `rate` bit/s, `gamma`, `alpha` in 1/s, C~ at first a fraction `initial` of C, B of `buffer`
    /// bytes. C~ earns in proportion to alpha as rounded, so that it rests where arrivals are gamma C exactly.
    ///
    /// # Errors
    /// If alpha, or alpha times the rate, is larger than the integers can hold, or so small that it rounds to 0.
    pub fn new(rate: u64, gamma: f64, alpha: f64, initial: f64, buffer: u64) -> Result<Law, String> {
        let one = f64::from(1u32 << FRACTION);
        let capacity = rate as f64 / 8.0 * one;
        let cost = (alpha * one).round();
        if alpha > 0.0 && cost == 0.0 {
            return Err(format!("alpha: got {alpha} /s, expected 0 or at least {} /s", 1.0 / one));
        }
        // A packet of 2^20 bytes at most, so that what it costs fits.
        let growth = cost * gamma * (capacity / one);
        if cost >= LARGEST / one || growth >= LARGEST {
            return Err(format!("alpha: got {alpha} /s, expected alpha times {rate} bit/s below 3.5e13"));
        }
        let words = [capacity, growth, cost, initial * capacity, buffer as f64 * one];
        if words.iter().any(|word| !(0.0..LARGEST).contains(word)) {
            return Err(format!(
                "got {rate} bit/s and {buffer} bytes, expected less than 3.5e13 bit/s and 4.4e12 bytes"
            ));
        }
        let [capacity, growth, cost, initial, buffer] = words.map(|word| word.round() as u64);
        Ok(Law { capacity, growth, cost, initial, buffer })
    }
}

/// A packet as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When, ns.
    pub now: u64,
    /// Its size on the wire with the headers of all its segments, at most 2^20.
    pub bytes: u64,
    /// Of how many segments it is; 1 for a plain packet.
    pub segments: u64,
    /// Would a mark on it be a loss?
    pub loses: bool,
}

/// The state of AVQ, in the order of the program's `struct state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Avq {
    /// Has a packet counted?
    pub started: bool,
    /// VQ, 2^-20 bytes.
    pub level: u64,
    /// What of a unit has drained, 10^-9 units.
    pub level_rest: u64,
    /// C~, 2^-20 bytes/s.
    pub virtual_capacity: u64,
    /// What of a unit has been earned, 10^-9 units.
    pub capacity_rest: u64,
    /// Up to when VQ has drained, ns.
    pub drained: u64,
    /// s: when the last packet that counted arrived, ns.
    pub last: u64,
}

impl Avq {
    /// A packet arrives; is it signalled?
    pub fn arrival(&mut self, law: &Law, packet: Arrival) -> bool {
        if !self.started {
            self.virtual_capacity = law.initial;
        }
        self.virtual_capacity = self.virtual_capacity.min(law.capacity);
        self.drain(packet.now);
        let fits = self.offer(law, packet);
        if fits || !packet.loses {
            self.admit(law, packet.now, packet.bytes);
        }
        !fits
    }

    /// VQ <- max(VQ - C~ (t - s), 0). A packet stamped earlier than the one before it finds that no time has
    /// passed: on several CPUs the later one may come first.
    fn drain(&mut self, now: u64) {
        if now <= self.drained {
            return;
        }
        let gone = made(self.virtual_capacity, now - self.drained, self.level, &mut self.level_rest);
        self.drained = now;
        if gone < self.level {
            self.level -= gone;
        } else {
            self.level = 0;
            self.level_rest = 0;
        }
    }

    /// Segments enter as long as they fit; a packet that will be lost enters whole or not at all.
    fn offer(&mut self, law: &Law, packet: Arrival) -> bool {
        let size = packet.bytes << FRACTION;
        let room = law.buffer.saturating_sub(self.level);
        if size <= room {
            self.level += size;
            return true;
        }
        if packet.segments > 1 && !packet.loses {
            let each = packet.bytes.div_ceil(packet.segments) << FRACTION;
            self.level += room / each * each;
        }
        false
    }

    /// C~ <- max(min(C~ + alpha gamma C (t - s), C) - alpha b, 0)
    fn admit(&mut self, law: &Law, now: u64, bytes: u64) {
        if self.started && now > self.last {
            self.virtual_capacity += made(law.growth, now - self.last, law.capacity, &mut self.capacity_rest);
            if self.virtual_capacity >= law.capacity {
                self.virtual_capacity = law.capacity;
                self.capacity_rest = 0;
            }
        }
        if !self.started || now > self.last {
            self.last = now;
        }
        self.started = true;
        self.virtual_capacity = self.virtual_capacity.saturating_sub(law.cost * bytes);
    }
}

/// What `rate` a second makes in `dt` ns, and of a unit what `rest` says; `enough` if it is more than that.
fn made(rate: u64, mut dt: u64, enough: u64, rest: &mut u64) -> u64 {
    let mut whole = 0;
    if dt >= SECOND {
        let seconds = dt / SECOND;
        if rate > enough / seconds {
            *rest = 0;
            return enough;
        }
        whole = rate * seconds;
        dt %= SECOND;
    }
    // In two halves, or the product would not fit into 64 bits.
    let high = (rate >> 32) * dt;
    let carry = ((high % SECOND) << 32) + (rate & 0xffff_ffff) * dt + *rest;
    *rest = carry % SECOND;
    whole + ((high / SECOND) << 32) + carry / SECOND
}

#[cfg(test)]
mod tests {
    use super::made;
    use proptest::prelude::*;

    proptest! {
        /// Whatever time is cut into, nothing is lost and nothing comes of it.
        #[test]
        fn what_is_left_over_is_carried(rate in 0..1u64 << 62, cuts in prop::collection::vec(1..3_000_000_000u64, 1..50)) {
            let (mut rest, mut sum, mut time) = (0, 0u128, 0u128);
            for dt in cuts {
                sum += u128::from(made(rate, dt, u64::MAX, &mut rest));
                time += u128::from(dt);
            }
            prop_assert_eq!(sum, u128::from(rate) * time / 1_000_000_000);
        }
    }
}
