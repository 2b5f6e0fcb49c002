//! The states of a model, and their position relative to their bounds.

/// A state of a model: a name for people, a unit, and the bounds that it cannot leave.
///
/// At a bound a state rests as long as its slope points outwards.
#[derive(Clone, Debug)]
pub struct State {
    /// Such as `queue bottleneck`.
    pub name: String,
    /// Such as `packets`.
    pub unit: &'static str,
    /// Not below this.
    pub lower: f64,
    /// Not above this.
    pub upper: f64,
    /// What is small of it: errors are measured in it where the state itself is smaller.
    pub scale: f64,
}

impl State {
    /// A state without bounds.
    pub fn free(name: impl Into<String>, unit: &'static str, scale: f64) -> State {
        State { name: name.into(), unit, lower: f64::NEG_INFINITY, upper: f64::INFINITY, scale }
    }

    /// With bounds.
    pub fn within(self, lower: f64, upper: f64) -> State {
        State { lower, upper, ..self }
    }

    /// Where a value is, if nothing else is known of it.
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

/// Where a state is within its bounds. Between them it is known which it was at last, which makes
/// switches with hysteresis (GKVQ's flag) of bounded states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// At its lower bound.
    Lower,
    /// Between them; the lower one was touched last, or none.
    Risen,
    /// At its upper bound.
    Upper,
    /// Between them; the upper one was touched last.
    Fallen,
}

impl Mode {
    /// Is it at a bound?
    pub fn is_at_bound(self) -> bool {
        matches!(self, Mode::Lower | Mode::Upper)
    }

    /// Where it is once it has left its bound.
    pub fn after_leaving(self) -> Mode {
        match self {
            Mode::Lower | Mode::Risen => Mode::Risen,
            Mode::Upper | Mode::Fallen => Mode::Fallen,
        }
    }
}

/// Everything at one instant: the present, or what a model looks back at.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, S> {
    /// Time, s.
    pub t: f64,
    /// The states.
    pub y: &'a [S],
    /// Where each of them is within its bounds.
    pub modes: &'a [Mode],
    /// Index of the interval between two changes of parameters.
    pub interval: usize,
    /// Treat the feedback of links as constant. Its derivatives are then zero, which opens the loop.
    pub mute: bool,
}
