//! Divides groups of places among threads, so that all have about equally much to do and hand over few packets.

/// How often all groups are tried on other threads, at most. Each time costs as much as the first division.
const MOST_PASSES: usize = 8;

/// Groups of places that stay together, and what passes between them.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// What each has to do.
    pub work: Vec<f64>,
    /// For each, its neighbours with what it costs each of both that packets pass between them, if they are on two threads.
    pub between: Vec<Vec<(usize, f64)>>,
}

/// A division of the groups.
#[derive(Clone, Debug)]
pub struct Division {
    /// What the thread with the most work has to do.
    pub most_work: f64,
    /// The thread of each group.
    pub part_of: Vec<usize>,
}

impl Groups {
    /// Divides them among at most `parts` threads so that none has much to do.
    ///
    /// The largest group first, each to the thread where it makes [`cost`] least (after R. L. Graham, SIAM J. Appl. Math.
    /// 17(2), 1969), once with what passes between groups and once as if nothing did. From both divisions groups move as
    /// long as one can make it smaller, and the better one counts.
    pub fn divide(&self, parts: usize) -> Division {
        let apart = Groups { work: self.work.clone(), between: vec![Vec::new(); self.work.len()] };
        let mut largest_first: Vec<usize> = (0..self.work.len()).collect();
        largest_first.sort_by(|&a, &b| self.work[b].total_cmp(&self.work[a]));
        let divisions = [self, &apart].map(|start| {
            let mut shares = Shares::new(start, parts);
            for &group in &largest_first {
                shares.put(group, shares.best(group));
            }
            let mut real = Shares::new(self, parts);
            for &group in &largest_first {
                real.put(group, shares.part_of[group].unwrap_or(0));
            }
            real.improve(&largest_first)
        });
        let [first, second] = divisions;
        if second.most_work < first.most_work {
            second
        } else {
            first
        }
    }
}

/// The eighth power of a thread's work: the sum over threads is least where the largest is small.
fn cost(work: f64) -> f64 {
    let square = work * work;
    let fourth = square * square;
    fourth * fourth
}

/// A division in the making.
#[derive(Debug)]
struct Shares<'a> {
    groups: &'a Groups,
    /// What each thread has to do.
    load: Vec<f64>,
    /// The thread of each group that has one.
    part_of: Vec<Option<usize>>,
}

impl<'a> Shares<'a> {
    fn new(groups: &'a Groups, parts: usize) -> Shares<'a> {
        Shares { groups, load: vec![0.0; parts], part_of: vec![None; groups.work.len()] }
    }

    /// Moves groups as long as one can make the cost smaller.
    fn improve(mut self, largest_first: &[usize]) -> Division {
        for _ in 0..MOST_PASSES {
            let mut moved = false;
            for &group in largest_first {
                let before = self.take(group);
                let best = self.best(group);
                self.put(group, best);
                moved |= Some(best) != before;
            }
            if !moved {
                break;
            }
        }
        let most_work = self.load.iter().copied().fold(0.0, f64::max);
        Division { most_work, part_of: self.part_of.into_iter().flatten().collect() }
    }

    /// What passes between a group and those of each thread.
    fn toward(&self, group: usize) -> Vec<f64> {
        let mut toward = vec![0.0; self.load.len()];
        for &(other, cost) in &self.groups.between[group] {
            if let Some(part) = self.part_of[other] {
                toward[part] += cost;
            }
        }
        toward
    }

    /// What each thread would have to do more with the group on thread `part`.
    fn more(&self, group: usize, part: usize, toward: &[f64]) -> Vec<f64> {
        let all: f64 = toward.iter().sum();
        let of =
            |other: usize| if other == part { self.groups.work[group] + all - toward[part] } else { toward[other] };
        (0..toward.len()).map(of).collect()
    }

    /// The thread with which the cost is least; of equally good ones the first.
    fn best(&self, group: usize) -> usize {
        let toward = self.toward(group);
        let all: f64 = toward.iter().sum();
        // Beyond what it costs the other threads to hand over packets to the group.
        let more = |part: usize| {
            let here = self.load[part];
            cost(here + self.groups.work[group] + all - toward[part]) - cost(here + toward[part])
        };
        (0..self.load.len()).min_by(|&a, &b| more(a).total_cmp(&more(b))).unwrap_or(0)
    }

    fn put(&mut self, group: usize, part: usize) {
        let more = self.more(group, part, &self.toward(group));
        self.load.iter_mut().zip(more).for_each(|(load, more)| *load += more);
        self.part_of[group] = Some(part);
    }

    fn take(&mut self, group: usize) -> Option<usize> {
        let part = self.part_of[group].take()?;
        let less = self.more(group, part, &self.toward(group));
        self.load.iter_mut().zip(less).for_each(|(load, less)| *load -= less);
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What each thread has to do.
    fn loads(groups: &Groups, part_of: &[usize], parts: usize) -> Vec<f64> {
        let mut loads = vec![0.0; parts];
        for (group, &part) in part_of.iter().enumerate() {
            loads[part] += groups.work[group];
            let elsewhere = groups.between[group].iter().filter(|(other, _)| part_of[*other] != part);
            loads[part] += elsewhere.map(|(_, cost)| cost).sum::<f64>();
        }
        loads
    }

    fn groups(work: &[f64], between: &[(usize, usize, f64)]) -> Groups {
        let mut groups = Groups { work: work.to_vec(), between: vec![Vec::new(); work.len()] };
        for &(a, b, cost) in between {
            groups.between[a].push((b, cost));
            groups.between[b].push((a, cost));
        }
        groups
    }

    #[test]
    fn a_group_goes_where_its_packets_come_from_unless_that_is_much_more_work() {
        let pair = |between| groups(&[4.0, 3.0, 2.0], &[(0, 2, between)]).divide(2).part_of;
        assert_eq!(pair(0.0), [0, 1, 1]);
        assert_eq!(pair(2.0), [0, 1, 0]);
    }

    proptest! {
        #[test]
        fn no_group_is_better_elsewhere_and_work_is_what_it_is(
            work in prop::collection::vec(0.0..10.0, 1..9),
            between in prop::collection::vec((0usize..9, 0usize..9, 0.0..2.0), 0..12),
            parts in 1usize..4,
        ) {
            let between: Vec<_> = between.into_iter().filter(|&(a, b, _)| a < b && b < work.len()).collect();
            let groups = groups(&work, &between);
            let found = groups.divide(parts);
            let total = |part_of: &[usize]| loads(&groups, part_of, parts).into_iter().map(cost).sum::<f64>();
            let most = loads(&groups, &found.part_of, parts).into_iter().fold(0.0, f64::max);
            prop_assert!((most - found.most_work).abs() < 1e-9);
            for group in 0..work.len() {
                for part in 0..parts {
                    let mut other = found.part_of.clone();
                    other[group] = part;
                    prop_assert!(total(&other) > total(&found.part_of) * (1.0 - 1e-9));
                }
            }
        }
    }
}
