//! Events that end a step early, and their location.

use super::breaks::Crossing;

/// What happens.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A state comes to its lower bound.
    Lower(usize),
    /// A state comes to its upper bound.
    Upper(usize),
    /// A state leaves its bound.
    Leave(usize),
    /// A switching function changes its sign.
    Switch(usize),
    /// A look back comes to a break.
    Cross(Crossing),
}

/// Where `g` leaves the sign that it has at 0, in [0, 1], at whose end it has another: by the Illinois method,
/// at a place where it has the sign of the end. Zero if it does not have another at 0.
pub fn locate(end: f64, mut g: impl FnMut(f64) -> f64) -> f64 {
    let (mut left, mut right) = (0.0, 1.0);
    let (mut low, mut high) = (g(0.0), end);
    if low * high >= 0.0 {
        return 0.0;
    }
    let mut kept = 0i32;
    for _ in 0..60 {
        if right - left < 1e-13 {
            break;
        }
        let middle = (left * high - right * low) / (high - low);
        let middle = if kept.abs() > 3 { 0.5 * (left + right) } else { middle.clamp(left, right) };
        let value = g(middle);
        if value * high > 0.0 || value == 0.0 {
            (right, high) = (middle, value);
            if value == 0.0 {
                break;
            }
            kept = kept.min(0) - 1;
            low *= if kept < -1 { 0.5 } else { 1.0 };
        } else {
            (left, low) = (middle, value);
            kept = kept.max(0) + 1;
            high *= if kept > 1 { 0.5 } else { 1.0 };
        }
    }
    right
}

/// The same for a state that may begin at its bound, moving inwards: where it comes back. The end, if it hardly
/// moves inwards.
pub fn leaves(end: f64, g: impl Fn(f64) -> f64) -> f64 {
    let inside = [0.0, 1e-3, 1e-2, 0.1, 0.5].into_iter().find(|&u| g(u) * end < 0.0);
    inside.map_or(1.0, |from| from + (1.0 - from) * locate(end, |u| g(from + (1.0 - from) * u)))
}
