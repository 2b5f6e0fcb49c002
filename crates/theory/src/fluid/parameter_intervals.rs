//! The intervals between changes of parameters: the capacities and numbers of flows in each.

use super::description::Description;

/// The parameters between two changes.
#[derive(Clone, Debug)]
pub struct ParameterInterval {
    /// The capacity of each link, packets/s.
    pub capacity: Vec<f64>,
    /// The number of flows of each class.
    pub flows: Vec<FlowCount>,
}

/// The number of flows of a class: `count + growth (t - since)`.
#[derive(Clone, Copy, Debug)]
pub struct FlowCount {
    since: f64,
    count: f64,
    /// Flows that start a second.
    pub growth: f64,
}

impl FlowCount {
    /// Number of flows at a time in the interval.
    pub fn count(&self, t: f64) -> f64 {
        self.count + self.growth * (t - self.since).max(0.0)
    }
}

/// The times of all parameter changes, s, increasing, and the intervals before, between and after them.
pub fn parameter_intervals(description: &Description) -> (Vec<f64>, Vec<ParameterInterval>) {
    let mut changes: Vec<f64> =
        description.links.iter().flat_map(|link| link.schedule.iter().map(|each| each.0)).collect();
    for class in &description.classes {
        changes.extend([class.start, class.start + class.jitter]);
        changes.extend(class.stop);
    }
    changes.retain(|t| t.is_finite() && *t > 0.0);
    changes.sort_by(f64::total_cmp);
    changes.dedup();
    let begins = std::iter::once(f64::NEG_INFINITY).chain(changes.iter().copied());
    let intervals = begins.map(|since| interval(description, since)).collect();
    (changes, intervals)
}

/// The parameters of the interval that begins at `since`.
fn interval(description: &Description, since: f64) -> ParameterInterval {
    let capacity = description.links.iter().map(|link| {
        let passed = link.schedule.iter().take_while(|each| each.0 <= since);
        passed.last().map_or(link.capacity, |each| each.1)
    });
    let flows = description.classes.iter().map(|class| {
        // Flows that start at zero exist at all negative times too.
        let from = if class.start <= 0.0 && class.jitter <= 0.0 { f64::NEG_INFINITY } else { class.start };
        let elapsed = since - from;
        let (count, growth) = if class.stop.is_some_and(|stop| since >= stop) || since < from {
            (0.0, 0.0)
        } else if since >= class.start + class.jitter || from == f64::NEG_INFINITY {
            (class.count, 0.0)
        } else {
            (class.count * elapsed / class.jitter, class.count / class.jitter)
        };
        FlowCount { since: since.max(0.0), count, growth }
    });
    ParameterInterval { capacity: capacity.collect(), flows: flows.collect() }
}
