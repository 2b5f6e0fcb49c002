//! Events that end a step early, and how they are located.

use super::breaks::Crossing;

/// An event within a step.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A state reaches its lower bound.
    Lower(usize),
    /// A state reaches its upper bound.
    Upper(usize),
    /// A state leaves its bound.
    Leave(usize),
    /// A switching function changes its sign.
    Switch(usize),
    /// A delayed time reaches a break.
    Cross(Crossing),
}

/// Locates the change of sign of `g` in [0, 1] by the Illinois method, given `end` = g(1). Returns a point at which `g`
/// has the sign of `end`, or zero if g(0) has it too.
pub fn locate_sign_change(end: f64, mut g: impl FnMut(f64) -> f64) -> f64 {
    let (mut left, mut right) = (0.0, 1.0);
    let (mut low, mut high) = (g(0.0), end);
    if low * high >= 0.0 {
        return 0.0;
    }
    // How often in a row the same side was replaced: the right one if negative, the left one if positive.
    let mut streak = 0i32;
    for _ in 0..60 {
        if right - left < 1e-13 {
            break;
        }
        let middle = (left * high - right * low) / (high - low);
        let middle = if streak.abs() > 3 { 0.5 * (left + right) } else { middle.clamp(left, right) };
        let value = g(middle);
        if value * high > 0.0 || value == 0.0 {
            (right, high) = (middle, value);
            if value == 0.0 {
                break;
            }
            streak = streak.min(0) - 1;
            low *= if streak < -1 { 0.5 } else { 1.0 };
        } else {
            (left, low) = (middle, value);
            streak = streak.max(0) + 1;
            high *= if streak > 1 { 0.5 } else { 1.0 };
        }
    }
    right
}

/// Locates the point at which a state crosses its bound outwards, for states that may start at the bound and move
/// inwards first. `g` is the distance from the bound, `end` = g(1). Returns 1 if the state hardly moves inwards.
pub fn locate_exit(end: f64, g: impl Fn(f64) -> f64) -> f64 {
    let inside = [0.0, 1e-3, 1e-2, 0.1, 0.5].into_iter().find(|&u| g(u) * end < 0.0);
    inside.map_or(1.0, |from| from + (1.0 - from) * locate_sign_change(end, |u| g(from + (1.0 - from) * u)))
}
