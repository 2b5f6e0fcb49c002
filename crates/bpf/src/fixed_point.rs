//! Arithmetic in integers that the AQMs of this crate share, equal bit for bit to `c/fixed_point.h`. BPF has no floating
//! point.

/// Binary digits of the fraction of a byte.
pub const FRACTION: u32 = 20;

/// Probability 1.
pub const ONE: u64 = 1 << 32;

/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;

/// The largest parameter: sums of two stay below 2^64.
pub const LARGEST: f64 = (1u64 << 62) as f64;

/// A value in units of 2^-20 as a number.
pub fn units(value: u64) -> f64 {
    value as f64 / f64::from(1u32 << FRACTION)
}

/// The amount that `rate` a second produces in `dt` ns, plus the remainder `rest`; at most `enough`.
pub fn produced(rate: u64, mut dt: u64, enough: u64, rest: &mut u64) -> u64 {
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
    // In two halves, because the product would not fit into 64 bits.
    let high = (rate >> 32) * dt;
    let carry = ((high % SECOND) << 32) + (rate & 0xffff_ffff) * dt + *rest;
    *rest = carry % SECOND;
    whole + ((high / SECOND) << 32) + carry / SECOND
}

/// a b 2^-32, rounded down; it must fit into 64 bits.
pub fn scaled(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 32) as u64
}

/// The smaller of a b and `most`.
pub fn product(a: u64, b: u64, most: u64) -> u64 {
    a.checked_mul(b).map_or(most, |exact| exact.min(most))
}

/// The power of a probability.
pub fn power(mut base: u64, mut exponent: u32) -> u64 {
    let mut result = ONE;
    for _ in 0..u32::BITS {
        if exponent & 1 == 1 {
            result = (result * (base >> 1)) >> 31;
        }
        base = ((base >> 1) * base) >> 31;
        exponent >>= 1;
    }
    result
}

/// A random number made of another: the end of MurmurHash3.
pub fn mixed(random: u32, number: u32) -> u32 {
    let mut x = random.wrapping_add(number.wrapping_mul(0x9e37_79b9));
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests {
    use super::produced;
    use proptest::prelude::*;

    proptest! {
        /// The amount produced does not depend on how the time is divided.
        #[test]
        fn remainders_are_carried(rate in 0..1u64 << 62, cuts in prop::collection::vec(1..3_000_000_000u64, 1..50)) {
            let (mut rest, mut sum, mut time) = (0, 0u128, 0u128);
            for dt in cuts {
                sum += u128::from(produced(rate, dt, u64::MAX, &mut rest));
                time += u128::from(dt);
            }
            prop_assert_eq!(sum, u128::from(rate) * time / 1_000_000_000);
        }
    }
}
