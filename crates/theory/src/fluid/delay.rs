//! A delay: a constant plus the queueing delays of some links.

use super::scalar::Scalar;

/// A delay as a sum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delay {
    /// The constant part, s.
    pub constant: f64,
    /// Indices of the links whose queueing delay is added, sorted. A link may occur twice.
    pub queues: Vec<usize>,
}

impl Delay {
    /// The sum of two delays.
    pub fn then(&self, other: &Delay) -> Delay {
        let mut queues = [self.queues.as_slice(), &other.queues].concat();
        queues.sort_unstable();
        Delay { constant: self.constant + other.constant, queues }
    }

    /// Is it always zero?
    pub fn is_zero(&self) -> bool {
        self.constant <= 0.0 && self.queues.is_empty()
    }

    /// The delay in seconds, if that of link `l` is `queueing(l)`.
    pub fn seconds<S: Scalar>(&self, queueing: impl Fn(usize) -> S) -> S {
        self.queues.iter().fold(S::from(self.constant), |sum, &l| sum + queueing(l))
    }
}
