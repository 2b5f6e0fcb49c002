//! A delay: a constant plus the queueing delays of some links.

use super::scalar::Scalar;

/// Seconds, and links whose queueing delay is added, in order; one may be there twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delay {
    /// s.
    pub constant: f64,
    /// Indices of links, sorted.
    pub queues: Vec<usize>,
}

impl Delay {
    /// One after the other.
    pub fn then(&self, other: &Delay) -> Delay {
        let mut queues = [self.queues.as_slice(), &other.queues].concat();
        queues.sort_unstable();
        Delay { constant: self.constant + other.constant, queues }
    }

    /// Is it always zero?
    pub fn is_zero(&self) -> bool {
        self.constant <= 0.0 && self.queues.is_empty()
    }

    /// Where link `l` delays by `queueing(l)` seconds.
    pub fn seconds<S: Scalar>(&self, queueing: impl Fn(usize) -> S) -> S {
        self.queues.iter().fold(S::from(self.constant), |sum, &l| sum + queueing(l))
    }
}
