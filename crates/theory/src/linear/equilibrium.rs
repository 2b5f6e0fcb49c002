//! The equilibrium, which does not depend on feedback delays. The model without delays, which hardly ever oscillates, is
//! followed by implicit steps that grow as changes become smaller, until they are Newton steps (pseudo-transient
//! continuation: Kelley and Keyes, SIAM J. Numer. Anal. 35(2), 1998). States at a bound rest while their slopes point
//! outwards.

use crate::fluid::solver::System;
use crate::fluid::{Description, Model};
use nalgebra::{DMatrix, DVector};

/// First step, in longest round-trip times.
const FIRST: f64 = 0.05;
/// Largest change of a state in a step, relative to its size.
const CHANGE: f64 = 0.3;
/// Least size of a state, relative to its range.
const OF_RANGE: f64 = 0.05;
/// The range of a state without an upper bound.
const OPEN_RANGE: f64 = 20.0;
/// Factors by which steps shrink after a larger change, and grow otherwise.
const SHRINK: f64 = 0.3;
const GROW: f64 = 1.5;
/// Largest number of steps.
const STEPS: usize = 4000;
/// Slopes that count as zero: relative to a state's size, per round-trip time.
const ZERO: f64 = 1e-9;
/// Distance to a bound at which a state is at the bound, relative to its range.
const CLOSE: f64 = 1e-12;

/// The description with the capacities and flows at time `t`, s, for ever. Without flows then it has no classes.
pub fn at_end(description: &Description, t: f64) -> Description {
    let mut constant = description.clone();
    for link in &mut constant.links {
        link.capacity =
            link.schedule.iter().rev().find(|change| change.0 <= t).map_or(link.capacity, |change| change.1);
        link.schedule.clear();
    }
    constant.classes.retain(|class| class.start < t && class.stop.is_none_or(|stop| stop >= t));
    for class in &mut constant.classes {
        (class.start, class.jitter, class.stop) = (0.0, 0.0, None);
    }
    constant
}

/// The states at which nothing moves, from the initial states; `None` if none are found, as with AQMs that mark all
/// packets or none.
pub fn equilibrium(model: &Model, longest_rtt: f64) -> Option<Vec<f64>> {
    let bounds: Vec<(f64, f64, f64)> = model
        .states()
        .iter()
        .map(|s| (s.lower, s.upper, if s.upper.is_finite() { s.upper - s.lower } else { OPEN_RANGE }))
        .collect();
    let (mut y, mut step) = (model.initial_states(), FIRST * longest_rtt);
    for _ in 0..STEPS {
        let of = model.jacobian(0.0, &y, false);
        let rests = |i: usize| {
            let (lower, upper, _) = bounds[i];
            (y[i] <= lower && of.slopes[i] <= 0.0) || (y[i] >= upper && of.slopes[i] >= 0.0)
        };
        let free: Vec<usize> = (0..y.len()).filter(|&i| !rests(i)).collect();
        let moving = free.iter().map(|&i| of.slopes[i].abs() * longest_rtt / y[i].abs().max(1e-3)).fold(0.0, f64::max);
        if moving < ZERO {
            return Some(y);
        }
        let whole = |i: usize, j: usize| of.present[i][j] + of.delayed.iter().map(|d| d[i][j]).sum::<f64>();
        let matrix = DMatrix::from_fn(free.len(), free.len(), |a, b| {
            f64::from(u8::from(a == b)) / step - whole(free[a], free[b])
        });
        let slopes = DVector::from_iterator(free.len(), free.iter().map(|&i| of.slopes[i]));
        let Some(change) = matrix.lu().solve(&slopes) else {
            step *= SHRINK;
            continue;
        };
        let size = |i: usize| y[i].abs().max(OF_RANGE * bounds[i].2);
        if free.iter().zip(change.iter()).any(|(&i, change)| change.is_nan() || change.abs() > CHANGE * size(i)) {
            step *= SHRINK;
            continue;
        }
        step *= GROW;
        for (&i, change) in free.iter().zip(change.iter()) {
            y[i] += change;
        }
        for (y, &(lower, upper, width)) in y.iter_mut().zip(&bounds) {
            let near = CLOSE * width;
            *y = if *y < lower + near {
                lower
            } else if *y > upper - near {
                upper
            } else {
                *y
            };
        }
    }
    None
}
