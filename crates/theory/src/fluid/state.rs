//! The states of a model, and their position relative to their bounds.

/// A state of a model with its name, unit and bounds. At a bound it stays constant while its slope points outwards.
#[derive(Clone, Debug)]
pub struct State {
    /// The name, such as `queue bottleneck`.
    pub name: String,
    /// The unit, such as `packets`.
    pub unit: &'static str,
    /// The lower bound.
    pub lower: f64,
    /// The upper bound.
    pub upper: f64,
    /// A small value of the state. Errors are relative to the state or to this, whichever is larger.
    pub scale: f64,
}

impl State {
    /// A state without bounds.
    pub fn free(name: impl Into<String>, unit: &'static str, scale: f64) -> State {
        State { name: name.into(), unit, lower: f64::NEG_INFINITY, upper: f64::INFINITY, scale }
    }

    /// The same state with bounds.
    pub fn within(self, lower: f64, upper: f64) -> State {
        State { lower, upper, ..self }
    }

    /// The mode of a value if its past is unknown.
    pub fn mode(&self, value: f64) -> Mode {
        if value <= self.lower {
            Mode::Lower
        } else if value >= self.upper {
            Mode::Upper
        } else {
            Mode::Risen
        }
    }
}

/// The position of a state relative to its bounds. Between the bounds the mode records which one was reached last, so
/// that a bounded state can serve as a switch with hysteresis (GKVQ's flag).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// At its lower bound.
    Lower,
    /// Between the bounds; the lower one was reached last, or none.
    Risen,
    /// At its upper bound.
    Upper,
    /// Between the bounds; the upper one was reached last.
    Fallen,
}

impl Mode {
    /// Is it at a bound?
    pub fn is_at_bound(self) -> bool {
        matches!(self, Mode::Lower | Mode::Upper)
    }

    /// The mode after the state leaves its bound.
    pub fn after_leaving(self) -> Mode {
        match self {
            Mode::Lower | Mode::Risen => Mode::Risen,
            Mode::Upper | Mode::Fallen => Mode::Fallen,
        }
    }
}

/// All states at one instant: now, or at a delay.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, S> {
    /// Time, s.
    pub t: f64,
    /// The states.
    pub y: &'a [S],
    /// The mode of each state.
    pub modes: &'a [Mode],
    /// The index of the parameter interval.
    pub interval: usize,
    /// Treat the feedback of links as constant. Its derivatives are then zero, which opens the loop.
    pub constant_feedback: bool,
}
