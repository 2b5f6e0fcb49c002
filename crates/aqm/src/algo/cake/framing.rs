//! The size of a packet on a link behind this one: overhead, smallest size, and the cells or blocks it is cut into.
//!
//! tc-cake(8), "OVERHEAD COMPENSATION PARAMETERS"; Linux's sch_cake.

use marqueue_core::Dur;

marqueue_core::choice! {
    /// How a link frames packets.
    pub enum Framing {
        /// As they are.
        None = "none",
        /// ATM: cells of 53 bytes with 48 bytes of a packet each (ADSL).
        Atm = "atm",
        /// PTM: one byte more for each 64, or part of them (VDSL2).
        Ptm = "ptm",
    }
}

/// The compensation of one link.
#[derive(Clone, Copy, Debug)]
pub struct Overhead {
    /// Bytes added to each packet.
    pub overhead: i64,
    /// Smallest size, bytes.
    pub mpu: i64,
    /// Its framing.
    pub framing: Framing,
}

impl Overhead {
    /// What a packet of `bytes` takes of the link, bytes.
    #[inline]
    pub fn size(&self, bytes: u32) -> u32 {
        let with_overhead = (i64::from(bytes) + self.overhead).max(self.mpu).max(1) as u32;
        match self.framing {
            Framing::None => with_overhead,
            Framing::Atm => with_overhead.div_ceil(48) * 53,
            Framing::Ptm => with_overhead + with_overhead.div_ceil(64),
        }
    }
}

/// Takes `bytes` at a rate of `rate` bit/s.
pub fn duration(bytes: u32, rate: f64) -> Dur {
    Dur::from_secs(f64::from(bytes) * 8.0 / rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_manual() {
        let size = |overhead, mpu, framing, bytes| Overhead { overhead, mpu, framing }.size(bytes);
        assert_eq!(size(0, 0, Framing::None, 1500), 1500);
        // Ethernet with its preamble, gap and checksum: 38 bytes, at least 84.
        assert_eq!([46, 1500].map(|bytes| size(38, 84, Framing::None, bytes)), [84, 1538]);
        // PPPoE over ATM, 40 bytes: 1540 bytes are 33 cells; 48 bytes are one cell, 49 are two.
        assert_eq!(size(40, 0, Framing::Atm, 1500), 33 * 53);
        assert_eq!([48, 49].map(|bytes| size(0, 0, Framing::Atm, bytes)), [53, 106]);
        // PTM: 1522 bytes are 24 blocks of 64, the last in part.
        assert_eq!(size(22, 0, Framing::Ptm, 1500), 1522 + 24);
        assert_eq!(size(-14, 0, Framing::None, 10), 1);
    }
}
