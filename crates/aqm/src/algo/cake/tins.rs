//! Tins: which code points share one, and the share of the rate that each tin may use with priority.
//!
//! Linux's sch_cake; RFC 4594 and RFC 8622 describe the code points.

use alloc::vec::Vec;
use marqueue_core::Dscp;

marqueue_core::choice! {
    /// Which code points share a tin.
    pub enum Diffserv {
        /// All.
        Besteffort = "besteffort",
        /// Bulk (LE, CS1), best effort, voice (CS7, CS6, EF, VA, TOS4).
        Diffserv3 = "diffserv3",
        /// Bulk, best effort, video (AF4x, AF3x, AF2x, CS3, CS2, TOS4), voice (CS7 to CS4, EF, VA).
        Diffserv4 = "diffserv4",
        /// Eight tins, from LE to CS7 and CS6.
        Diffserv8 = "diffserv8",
        /// The former IP precedence: the first three bits of the code point.
        Precedence = "precedence",
    }
}

const LE: u8 = 1;
const TOS2: u8 = 2;
const TOS4: u8 = 4;
const VA: u8 = 44;
const EF: u8 = 46;

const fn cs(class: u8) -> u8 {
    8 * class
}

/// Is it AFx1, AFx2 or AFx3 of this class?
fn is_af(dscp: u8, class: u8) -> bool {
    dscp >> 3 == class && matches!(dscp & 7, 2 | 4 | 6)
}

fn diffserv3(dscp: u8) -> u8 {
    match dscp {
        LE => 1,
        TOS4 | VA | EF => 2,
        _ if dscp == cs(1) => 1,
        _ if dscp == cs(6) || dscp == cs(7) => 2,
        _ => 0,
    }
}

fn diffserv4(dscp: u8) -> u8 {
    match dscp {
        LE => 1,
        VA | EF => 3,
        TOS4 => 2,
        _ if dscp == cs(1) => 1,
        _ if (4..=7).any(|class| dscp == cs(class)) => 3,
        _ if dscp == cs(2) || dscp == cs(3) || (2..=4).any(|class| is_af(dscp, class)) => 2,
        _ => 0,
    }
}

fn diffserv8(dscp: u8) -> u8 {
    match dscp {
        LE => 0,
        TOS2 => 1,
        TOS4 => 4,
        VA | EF => 6,
        _ if dscp == cs(1) || is_af(dscp, 1) => 1,
        _ if dscp == cs(2) => 5,
        _ if is_af(dscp, 2) => 4,
        _ if dscp == cs(3) || is_af(dscp, 3) || is_af(dscp, 4) => 3,
        _ if dscp == cs(4) || dscp == cs(5) => 6,
        _ if dscp == cs(6) || dscp == cs(7) => 7,
        _ => 2,
    }
}

/// The share and the weight of a tin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Fraction of the shaper's rate up to which the tin has priority.
    pub rate: f64,
    /// Byte credits of a turn while no shaper limits the rate.
    pub quantum: i64,
}

impl Diffserv {
    /// The tin of a code point.
    pub fn tin(self, dscp: Dscp) -> u8 {
        let dscp = dscp.value();
        match self {
            Diffserv::Besteffort => 0,
            Diffserv::Diffserv3 => diffserv3(dscp),
            Diffserv::Diffserv4 => diffserv4(dscp),
            Diffserv::Diffserv8 => diffserv8(dscp),
            Diffserv::Precedence => dscp >> 3,
        }
    }

    /// The tins, from the lowest priority.
    pub fn shares(self) -> Vec<Share> {
        let of = |quantum: i64, divisors: &[i64]| {
            divisors.iter().map(|&d| Share { rate: 1.0 / d as f64, quantum: quantum / d }).collect()
        };
        match self {
            Diffserv::Besteffort => of(65_535, &[1]),
            Diffserv::Diffserv3 => of(1024, &[1, 16, 4]),
            Diffserv::Diffserv4 => of(1024, &[1, 16, 2, 4]),
            // Each tin has 7/8 of the one before.
            Diffserv::Diffserv8 | Diffserv::Precedence => {
                let first = Share { rate: 1.0, quantum: 256 };
                let next = |s: &Share| Some(Share { rate: s.rate * 0.875, quantum: s.quantum * 7 / 8 });
                core::iter::successors(Some(first), next).take(8).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tin(mode: Diffserv, name: &str) -> u8 {
        mode.tin(Dscp::parse(name).unwrap())
    }

    #[test]
    fn code_points_are_in_the_tins_of_the_manual() {
        for (name, [three, four, eight, precedence]) in [
            ("LE", [1, 1, 0, 0]),
            ("DF", [0, 0, 2, 0]),
            ("CS1", [1, 1, 1, 1]),
            ("AF11", [0, 0, 1, 1]),
            ("CS2", [0, 2, 5, 2]),
            ("AF21", [0, 2, 4, 2]),
            ("CS3", [0, 2, 3, 3]),
            ("AF33", [0, 2, 3, 3]),
            ("CS4", [0, 3, 6, 4]),
            ("AF41", [0, 2, 3, 4]),
            ("CS5", [0, 3, 6, 5]),
            ("VA", [2, 3, 6, 5]),
            ("EF", [2, 3, 6, 5]),
            ("CS6", [2, 3, 7, 6]),
            ("CS7", [2, 3, 7, 7]),
        ] {
            let tins = [Diffserv::Diffserv3, Diffserv::Diffserv4, Diffserv::Diffserv8, Diffserv::Precedence]
                .map(|mode| tin(mode, name));
            assert_eq!((tins, tin(Diffserv::Besteffort, name)), ([three, four, eight, precedence], 0), "{name}");
        }
    }

    #[test]
    fn every_code_point_has_a_tin_that_exists() {
        for mode in [Diffserv::Besteffort, Diffserv::Diffserv3, Diffserv::Diffserv4, Diffserv::Diffserv8, Diffserv::Precedence] {
            let tins = mode.shares().len();
            assert!((0..64).all(|dscp| usize::from(mode.tin(Dscp::from_bits(dscp))) < tins), "{mode:?}");
        }
    }
}
