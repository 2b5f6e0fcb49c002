//! The scalars of right-hand sides: plain numbers, and dual numbers that carry a derivative.

use marqueue_core::math;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A real number, perhaps with its derivative in one direction.
pub trait Scalar:
    Copy
    + PartialOrd
    + From<f64>
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    /// The number without its derivative.
    fn value(self) -> f64;

    /// The exponential function.
    fn exp(self) -> Self;

    /// The maximum; `self` if both are equal.
    fn at_least(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        if other > self {
            other
        } else {
            self
        }
    }

    /// The minimum; `self` if both are equal.
    fn at_most(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        if other < self {
            other
        } else {
            self
        }
    }
}

impl Scalar for f64 {
    fn value(self) -> f64 {
        self
    }

    fn exp(self) -> f64 {
        math::exp(self)
    }
}

/// A value with its derivative in one direction: forward-mode differentiation, which is exact.
#[derive(Clone, Copy, Debug)]
pub struct Dual {
    /// The value.
    pub value: f64,
    /// Its derivative.
    pub slope: f64,
}

impl From<f64> for Dual {
    fn from(value: f64) -> Dual {
        Dual { value, slope: 0.0 }
    }
}

impl PartialEq for Dual {
    fn eq(&self, other: &Dual) -> bool {
        self.value == other.value
    }
}

impl PartialOrd for Dual {
    fn partial_cmp(&self, other: &Dual) -> Option<std::cmp::Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl Scalar for Dual {
    fn value(self) -> f64 {
        self.value
    }

    fn exp(self) -> Dual {
        let value = math::exp(self.value);
        Dual { value, slope: value * self.slope }
    }
}

impl Neg for Dual {
    type Output = Dual;
    fn neg(self) -> Dual {
        Dual { value: -self.value, slope: -self.slope }
    }
}

impl Add for Dual {
    type Output = Dual;
    fn add(self, o: Dual) -> Dual {
        Dual { value: self.value + o.value, slope: self.slope + o.slope }
    }
}

impl Sub for Dual {
    type Output = Dual;
    fn sub(self, o: Dual) -> Dual {
        Dual { value: self.value - o.value, slope: self.slope - o.slope }
    }
}

impl Mul for Dual {
    type Output = Dual;
    fn mul(self, o: Dual) -> Dual {
        Dual { value: self.value * o.value, slope: self.slope * o.value + self.value * o.slope }
    }
}

impl Div for Dual {
    type Output = Dual;
    fn div(self, o: Dual) -> Dual {
        let value = self.value / o.value;
        Dual { value, slope: (self.slope - value * o.slope) / o.value }
    }
}

macro_rules! with_constants {
    ($($trait:ident $f:ident),*) => {$(
        impl $trait<f64> for Dual {
            type Output = Dual;
            fn $f(self, o: f64) -> Dual {
                $trait::$f(self, Dual::from(o))
            }
        }
    )*};
}

with_constants!(Add add, Sub sub, Mul mul, Div div);
