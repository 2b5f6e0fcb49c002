//! Fluid models near their equilibrium, for pages that redraw while a parameter is dragged. `marqueue.theory.linear` in
//! Python does the same for several loops at once; tests compare the two.
//!
//! - [`equilibrium`]: the state at which all slopes are zero.
//! - [`Delayed`]: a linear system with delays, and its rightmost root.
//! - [`Loop`]: the loop gain, cut at the signal of a link, and its margins.

mod delayed;
mod equilibrium;
mod margins;

pub use delayed::Delayed;
pub use equilibrium::{at_end, equilibrium};
pub use margins::{Loop, Margins};
