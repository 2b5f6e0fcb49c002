//! Functions whose last digit the standard library leaves to the platform. Here they are the same bits everywhere, natively
//! and in WebAssembly: a result is a function of scenario, seed and version, not of the machine's mathematical library.
//! The methods of `f64` are forbidden elsewhere (`clippy.toml`). Those that IEEE 754 rounds exactly, such as `sqrt`,
//! are allowed.
//!
//! The functions are those of the crate `libm`, a port of musl's that Rust itself uses where a platform has none.

/// e^x.
#[inline]
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// e^x - 1, exact near zero.
#[inline]
pub fn exp_m1(x: f64) -> f64 {
    libm::expm1(x)
}

/// The natural logarithm.
#[inline]
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// ln(1 + x), exact near zero.
#[inline]
pub fn ln_1p(x: f64) -> f64 {
    libm::log1p(x)
}

/// x^y.
#[inline]
pub fn powf(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// The cube root.
#[inline]
pub fn cbrt(x: f64) -> f64 {
    libm::cbrt(x)
}

/// The sine and the cosine.
#[inline]
pub fn sin_cos(x: f64) -> (f64, f64) {
    libm::sincos(x)
}

/// The angle of the point (x, y), in (-pi, pi].
#[inline]
pub fn atan2(y: f64, x: f64) -> f64 {
    libm::atan2(y, x)
}

/// The length of (x, y), without overflow.
#[inline]
pub fn hypot(x: f64, y: f64) -> f64 {
    libm::hypot(x, y)
}

/// The square root. IEEE 754 rounds it exactly, as it does the three below: with the feature `std` they are instructions,
/// without it functions of `libm`, and the bits are the same.
#[inline]
pub fn sqrt(x: f64) -> f64 {
    #[cfg(feature = "std")]
    return x.sqrt();
    #[cfg(not(feature = "std"))]
    return libm::sqrt(x);
}

/// The largest whole number that is not above x.
#[inline]
pub fn floor(x: f64) -> f64 {
    #[cfg(feature = "std")]
    return x.floor();
    #[cfg(not(feature = "std"))]
    return libm::floor(x);
}

/// The smallest whole number that is not below x.
#[inline]
pub fn ceil(x: f64) -> f64 {
    #[cfg(feature = "std")]
    return x.ceil();
    #[cfg(not(feature = "std"))]
    return libm::ceil(x);
}

/// The nearest whole number; halves go away from zero.
#[inline]
pub fn round(x: f64) -> f64 {
    #[cfg(feature = "std")]
    return x.round();
    #[cfg(not(feature = "std"))]
    return libm::round(x);
}

/// x^n by repeated squaring, in the order of compiler-rt's `__powidf2`.
#[inline]
pub fn powi(x: f64, n: i32) -> f64 {
    let (mut square, mut left, mut power) = (x, n.unsigned_abs(), 1.0);
    loop {
        if left & 1 == 1 {
            power *= square;
        }
        left >>= 1;
        if left == 0 {
            break;
        }
        square *= square;
    }
    if n < 0 {
        1.0 / power
    } else {
        power
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums of the bits of each function at a few arguments: another `libm` that changes results is noticed.
    #[test]
    fn bits_are_those_of_every_platform() {
        let x = [0.1, 0.7, 1.3, 2.9, 17.0];
        let bits = |f: fn(f64) -> f64| x.map(|x| f(x).to_bits()).into_iter().fold(0, u64::wrapping_add);
        let found = [exp, exp_m1, ln, ln_1p, cbrt, |x| powf(x, 0.3), |x| powi(x, -5)].map(bits);
        let known = [
            0x41a8_5b73_a11f_aa06,
            0x4158_b551_748c_3ff2,
            0x3fa1_bd82_3ea4_1fcd,
            0x3f80_ee63_2ed3_6ec9,
            0x3fb6_f7e4_3318_539f,
            0x3fb6_d6ae_5494_e0be,
            0x3efd_0d78_7697_05c4,
        ];
        assert_eq!(found, known, "{found:#x?}");
    }

    #[test]
    fn they_are_the_functions_that_they_are_called() {
        let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-15 * b.abs(), "{a} {b}");
        near(exp(1.0), core::f64::consts::E);
        near(ln(10.0), core::f64::consts::LN_10);
        near(exp_m1(1e-10), 1e-10 + 0.5e-20);
        near(ln_1p(1e-10), 1e-10 - 0.5e-20);
        near(powf(2.0, 0.5), core::f64::consts::SQRT_2);
        near(cbrt(-27.0), -3.0);
        near(powi(1.5, 3), 3.375);
        near(powi(2.0, -2), 0.25);
        near(powi(7.0, 0), 1.0);
    }
}
