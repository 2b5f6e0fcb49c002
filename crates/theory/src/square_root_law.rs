//! Rates by the square-root law of TCP on routes over several bottlenecks.
//!
//! A bundle, which are flows on one route, has the rate w / sqrt(q), where q is the sum of the signals, losses or marks, of its
//! links, and w is in proportion to 1/RTT (Mathis, Semke, Mahdavi and Ott, CCR 1997). A link signals as much as keeps
//! its load at its capacity, and not at all if its load is less (Low, IEEE/ACM ToN 11(4), 2003).

/// Which bundle crosses which link: a sparse matrix by rows.
#[derive(Clone, Copy, Debug)]
pub struct Crossings<'a> {
    /// Bundle `i` has the entries from `first[i]` to `first[i + 1]`, excluded.
    pub first: &'a [usize],
    /// The link of each entry.
    pub links: &'a [u32],
    /// What the link carries for 1 bit/s of the bundle's data.
    pub shares: &'a [f64],
}

impl Crossings<'_> {
    /// The links of bundle `i`, and what they carry of it.
    fn of(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + Clone + '_ {
        let entries = self.first[i]..self.first[i + 1];
        self.links[entries.clone()].iter().map(|&link| link as usize).zip(self.shares[entries].iter().copied())
    }

    fn bundles(&self) -> usize {
        self.first.len() - 1
    }
}

/// The rates of the bundles, bit/s, after so many rounds.
///
/// `capacity` of the links, bit/s. `weights` of the bundles: those of all flows of a bundle together. `wanted`, bit/s: the most that
/// a bundle takes.
///
/// In each round each link multiplies its signals by its load over its capacity. At a single bottleneck this step is
/// half of the right one in logarithms, so it does not overshoot. Loads of bottlenecks may differ from their capacity by what is
/// left of the iteration.
///
/// # Panics
/// If the lengths do not fit each other.
pub fn rates(crossings: Crossings<'_>, capacity: &[f64], weights: &[f64], wanted: &[f64], rounds: usize) -> Vec<f64> {
    let mut loads = vec![0.0; capacity.len()];
    for (i, weight) in weights.iter().enumerate() {
        crossings.of(i).for_each(|(link, share)| loads[link] += share * weight);
    }
    let used = loads.iter().zip(capacity).map(|(load, capacity)| load / capacity);
    let mut signals: Vec<f64> = used.map(|used| used * used).collect();
    let mut rates = vec![0.0; crossings.bundles()];
    for _ in 0..rounds {
        loads.fill(0.0);
        for (i, rate) in rates.iter_mut().enumerate() {
            let entries = crossings.of(i);
            let heard: f64 = entries.clone().map(|(link, share)| share * signals[link]).sum();
            *rate = if heard > 0.0 { wanted[i].min(weights[i] / heard.sqrt()) } else { wanted[i] };
            entries.for_each(|(link, share)| loads[link] += share * *rate);
        }
        for ((signal, load), capacity) in signals.iter_mut().zip(&loads).zip(capacity) {
            *signal *= load / capacity;
        }
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bottleneck_is_divided_by_weights_and_a_fast_link_signals_nothing() {
        let crossings = Crossings { first: &[0, 2, 3], links: &[0, 1, 0], shares: &[1.0, 1.0, 1.0] };
        let rates = rates(crossings, &[8.0, 1e3], &[1.0, 3.0], &[f64::INFINITY; 2], 200);
        assert!((rates[0] - 2.0).abs() < 1e-9 && (rates[1] - 6.0).abs() < 1e-9, "{rates:?}");
    }

    #[test]
    fn nobody_takes_more_than_is_wanted() {
        let crossings = Crossings { first: &[0, 1, 2, 2], links: &[0, 0], shares: &[1.0, 1.0] };
        let rates = rates(crossings, &[8.0], &[1.0, 1.0, 1.0], &[1.0, 100.0, 5.0], 200);
        assert!((rates[0] - 1.0).abs() < 1e-9 && (rates[1] - 7.0).abs() < 1e-6 && rates[2] == 5.0, "{rates:?}");
    }
}
