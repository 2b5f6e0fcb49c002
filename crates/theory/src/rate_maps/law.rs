//! The rate laws of sources.
//!
//! Zhang, Kang and Loguinov, "Delayed Stability and Performance of Distributed Congestion Control",
//! SIGCOMM 2004; symbols are the paper's. As in the paper, rates may become negative: the maps serve to study
//! stability.

/// How a source combines the prices of the resources on its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// The sum of all prices: proportional fairness (8).
    Sum,
    /// The price of the most congested resource: max-min fairness (13).
    Max,
}

impl Feedback {
    /// The price of a route, from the prices of its resources.
    pub fn combine(self, prices: impl Iterator<Item = f64>) -> f64 {
        match self {
            Feedback::Sum => prices.sum(),
            Feedback::Max => prices.fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// The inputs of a rate law.
#[derive(Clone, Copy, Debug)]
pub struct LawInputs {
    /// x(n-1): the rate one step ago.
    pub previous: f64,
    /// x(n-D): the rate that the price refers to.
    pub reference: f64,
    /// eta(n): the price of the route.
    pub price: f64,
}

/// A law with two parameters.
pub trait Law {
    /// How the prices on a route are combined.
    const FEEDBACK: Feedback;

    /// x(n), from the parameters of the law and its inputs.
    fn next(parameters: (f64, f64), inputs: LawInputs) -> f64;
}

/// Classic Kelly control (9): x(n) = x(n-1) + kappa (omega - x(n-D) eta(n)); (kappa, omega).
#[derive(Debug)]
pub struct Kelly;

impl Law for Kelly {
    const FEEDBACK: Feedback = Feedback::Sum;

    fn next((kappa, omega): (f64, f64), inputs: LawInputs) -> f64 {
        inputs.previous + kappa * (omega - inputs.reference * inputs.price)
    }
}

/// Max-min Kelly control (12): x(n) = x(n-D) + alpha - beta eta(n) x(n-D); (alpha, beta).
#[derive(Debug)]
pub struct Mkc;

impl Law for Mkc {
    const FEEDBACK: Feedback = Feedback::Max;

    fn next((alpha, beta): (f64, f64), inputs: LawInputs) -> f64 {
        inputs.reference + alpha - beta * inputs.price * inputs.reference
    }
}

/// Rate-based AIMD (55): an increase by alpha a round trip, or a decrease by the share beta after a loss, which is a
/// price above zero; (alpha, beta).
#[derive(Debug)]
pub struct Aimd;

impl Law for Aimd {
    const FEEDBACK: Feedback = Feedback::Max;

    fn next((alpha, beta): (f64, f64), inputs: LawInputs) -> f64 {
        if inputs.price > 0.0 {
            (1.0 - beta) * inputs.reference
        } else {
            inputs.reference + alpha
        }
    }
}

/// Rate-based Scalable TCP (T. Kelly, PFLDnet 2003): an increase by the share a a round trip, or a decrease by the
/// share b after a loss; (a, b).
#[derive(Debug)]
pub struct Scalable;

impl Law for Scalable {
    const FEEDBACK: Feedback = Feedback::Max;

    fn next((a, b): (f64, f64), inputs: LawInputs) -> f64 {
        if inputs.price > 0.0 {
            (1.0 - b) * inputs.reference
        } else {
            (1.0 + a) * inputs.reference
        }
    }
}
