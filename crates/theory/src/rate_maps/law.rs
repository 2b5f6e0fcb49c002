//! The rate laws of sources.
//!
//! Zhang, Kang and Loguinov, "Delayed Stability and Performance of Distributed Congestion Control",
//! SIGCOMM 2004; symbols are the paper's. Nothing keeps a rate from becoming negative, as there: the
//! maps are studied for their stability.

/// How a source combines the prices of the resources on its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// All are added: proportional fairness (8).
    Sum,
    /// That of the most congested one alone: max-min fairness (13).
    Max,
}

impl Feedback {
    /// The price of the route.
    pub fn of(self, prices: impl Iterator<Item = f64>) -> f64 {
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
    /// x(n-D): the rate that the price answers.
    pub reference: f64,
    /// eta(n): the price of the route.
    pub price: f64,
}

/// A law with two parameters.
pub trait Law {
    /// How prices are put together.
    const FEEDBACK: Feedback;

    /// x(n), from the law's parameters and what the source knows.
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

/// AIMD by rate (55): alpha more a round trip, or a cut by beta if there was a loss, which is a price
/// above zero; (alpha, beta).
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

/// Scalable TCP (T. Kelly, PFLDnet 2003) by rate: a share `a` more a round trip, or a cut by `b` if
/// there was a loss; (a, b).
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
