//! The doubly stochastic chain of TCP windows under marking of scale N^a (Eun and Wang 2008, section III).
//!
//! In each slot, packets arrive at the queue as a Poisson process of load ρ = Σ W_i / (N C T_i), given all windows, and
//! the queue is in equilibrium. A flow of window w stays unmarked with probability E[(1 - p_N(Q))^w] if ρ < 1, and with
//! probability 0 else. After its round trip the window becomes floor(W/2) if the flow was marked, and W + 1 if not.
//!
//! Given the windows, flows are independent, and flows of the same class and window have the same law. Therefore the
//! numbers of flows at each window form a Markov chain themselves (lumping: Kemeny and Snell, *Finite Markov Chains*,
//! section 6.3). A step takes one binomial draw for each window, for any number of flows.
//!
//! The paper's chain has one class with a round trip of one slot. With more slots, the round trips of flows begin at
//! different slots, and classes may have different round-trip times. A flow whose round trip has r slots stays unmarked
//! with the product of E[(1 - p_N(Q))^{w/r}] over these slots.

pub mod flows;
mod gauss_quadrature;
mod marks;
pub mod queue;

pub use flows::Class;
pub use queue::Queue;

use flows::ClassState;
use marks::{QuadratureGrid, QueueWeights};
use marqueue_core::curve::ScaledCurve;
use marqueue_core::Rng;

/// The parameters of a chain.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The marking curve p_N.
    pub curve: ScaledCurve,
    /// The queue within a slot.
    pub queue: Queue,
    /// The flows, by round-trip time.
    pub classes: Vec<Class>,
    /// Slots in T, the unit of round-trip times.
    pub slots: u32,
    /// CT: packets for each flow that the link carries in T.
    pub ct: f64,
    /// The largest window, packets.
    pub max_window: u32,
}

/// The state at the start of a slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The load ρ, which may exceed 1.
    pub load: f64,
    /// The sum of windows Σ W_i, packets.
    pub windows: f64,
}

/// The chain with its state.
#[derive(Clone, Debug)]
pub struct Chain {
    setup: Setup,
    states: Vec<ClassState>,
    grid: QuadratureGrid,
    weights: QueueWeights,
    /// `counts[c][w - 1]`: number of flows of class c with window w.
    counts: Vec<Vec<u64>>,
    /// The sum of windows of each class.
    sums: Vec<u64>,
    /// Packets that the link carries in T.
    capacity: f64,
    slot: u64,
}

impl Chain {
    /// A chain whose windows are spread evenly over 1 to 2CT. It draws from the streams `name/class/0` and so on.
    ///
    /// # Panics
    /// If there are no flows, or if a number of slots, CT or the largest window is 0.
    pub fn new(setup: Setup, seed: u64, name: &str) -> Chain {
        let windows = setup.max_window as usize;
        let spread = (2.0 * setup.ct).round().max(1.0) as usize;
        let start: Vec<f64> = (1..=windows).map(|w| f64::from(u8::from(w <= spread))).collect();
        Chain::with_window_shares(setup, &start, seed, name)
    }

    /// A chain in which `start[w - 1]` is the share of flows with window w, in each class.
    ///
    /// # Panics
    /// As [`Chain::new`], or if `start` has not one share for each window.
    pub fn with_window_shares(setup: Setup, start: &[f64], seed: u64, name: &str) -> Chain {
        let population: u64 = setup.classes.iter().map(|c| c.flows).sum();
        assert!(population > 0 && setup.ct > 0.0 && setup.slots > 0, "expected flows, slots and a CT above 0");
        assert!(start.len() == setup.max_window as usize && !start.is_empty(), "expected a share for each window");
        let longest = setup.classes.iter().map(|c| c.slots).max().unwrap_or(1);
        let grid = QuadratureGrid::new(&setup.curve, 1.0 / f64::from(longest), f64::from(setup.max_window));
        let states = setup.classes.iter().enumerate().map(|(i, &class)| {
            assert!(class.slots > 0, "expected slots in a round trip");
            ClassState::new(class, &grid, start, Rng::named(seed, &format!("{name}/class/{i}")))
        });
        let states: Vec<_> = states.collect();
        let counts = vec![vec![0; start.len()]; states.len()];
        let capacity = population as f64 * setup.ct;
        let sums = vec![0; states.len()];
        let mut chain =
            Chain { states, grid, weights: QueueWeights::default(), counts, sums, capacity, slot: 0, setup };
        chain.count_windows();
        chain
    }

    /// Advances by one slot. Returns the state at its start.
    pub fn step(&mut self) -> Step {
        let (load, windows) = (self.load(), self.sums.iter().sum::<u64>() as f64);
        let weights = if load < 1.0 {
            self.grid.weigh(&self.setup.queue.stationary(load), &mut self.weights);
            Some(&self.weights)
        } else {
            None
        };
        for state in &mut self.states {
            state.step(self.slot, weights);
        }
        self.slot += 1;
        self.count_windows();
        Step { load, windows }
    }

    /// The number of flows of a class with window w, at index w - 1.
    pub fn counts(&self, class: usize) -> &[u64] {
        &self.counts[class]
    }

    /// ρ: the sum over classes of windows over round-trip time, divided by the capacity.
    fn load(&self) -> f64 {
        let of = |(class, &sum): (&Class, &u64)| sum as f64 * f64::from(self.setup.slots) / f64::from(class.slots);
        self.setup.classes.iter().zip(&self.sums).map(of).sum::<f64>() / self.capacity
    }

    /// Updates the number of flows at each window, and the sums of windows.
    fn count_windows(&mut self) {
        for ((state, counts), sum) in self.states.iter().zip(&mut self.counts).zip(&mut self.sums) {
            *sum = state.windows(counts);
        }
    }
}

/// The probability that at least one of `exponents[j]` packets is marked at load `loads[i]`, as row i and column j.
pub fn marking_probabilities(curve: &ScaledCurve, queue: Queue, loads: &[f64], exponents: &[f64]) -> Vec<f64> {
    let min = exponents.iter().copied().fold(f64::INFINITY, f64::min);
    let max = exponents.iter().copied().fold(0.0, f64::max);
    let grid = QuadratureGrid::new(curve, min, max);
    let table = grid.mark_table(exponents.iter().copied());
    let mut weights = QueueWeights::default();
    let mut probabilities = vec![1.0; loads.len() * exponents.len()];
    for (&load, row) in
        loads.iter().zip(probabilities.chunks_exact_mut(exponents.len())).filter(|(&load, _)| load < 1.0)
    {
        grid.weigh(&queue.stationary(load), &mut weights);
        table.probabilities(&weights, row);
    }
    probabilities
}
