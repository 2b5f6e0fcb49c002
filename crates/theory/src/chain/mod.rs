//! The doubly stochastic chain of TCP windows under marking of scale N^a (Eun and Wang 2008, section III).
//!
//! In each slot, given all windows, packets arrive at the queue as a Poisson process of load
//! ρ = Σ W_i / (N C T_i), and the queue is in equilibrium; a flow escapes marks with E[(1 - p_N(Q))^w]; at ρ >= 1
//! none does. After its round trip a flow goes to W + 1, or to floor(W/2) if marked.
//!
//! Given the windows flows are independent, and those of one class and window are alike. So the chain over the
//! number of flows at each window is Markov by itself, exactly (Kemeny and Snell, *Finite Markov Chains*,
//! section 6.3), and a step takes a binomial draw a window however many flows there are.
//!
//! The paper's chain has one class whose round trip is one slot. With more slots, flows begin their round
//! trips at different times and classes may have different ones; given its window, a flow escapes the marks
//! of r slots with the product of E[(1 - p_N(Q))^{w/r}].

pub mod flows;
mod gauss_quadrature;
mod marks;
pub mod queue;

pub use flows::Class;
pub use queue::Queue;

use flows::Flows;
use marks::{Grid, Weights};
use marqueue_core::curve::ScaledCurve;
use marqueue_core::Rng;

/// The parameters of a chain.
#[derive(Clone, Debug)]
pub struct Setup {
    /// p_N.
    pub curve: ScaledCurve,
    /// The queue within a slot.
    pub queue: Queue,
    /// Flows by round-trip time.
    pub classes: Vec<Class>,
    /// Slots in T, the unit of round-trip times.
    pub slots: u32,
    /// CT: packets a flow that the link carries in T.
    pub ct: f64,
    /// The greatest window, packets.
    pub greatest: u32,
}

/// The state at the start of a slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// ρ, which may be 1 and more.
    pub load: f64,
    /// Σ W_i, packets.
    pub windows: f64,
}

/// The chain with its state.
#[derive(Clone, Debug)]
pub struct Chain {
    setup: Setup,
    flows: Vec<Flows>,
    grid: Grid,
    weights: Weights,
    /// By class and window, w - 1.
    counts: Vec<Vec<u64>>,
    sums: Vec<u64>,
    capacity: f64,
    slot: u64,
}

impl Chain {
    /// All flows at windows spread evenly over 1 to 2CT, in the streams `name/class/0` and so on.
    ///
    /// # Panics
    /// Without flows, or if a number of slots, CT or the greatest window is 0.
    pub fn new(setup: Setup, seed: u64, name: &str) -> Chain {
        let windows = setup.greatest as usize;
        let most = (2.0 * setup.ct).round().max(1.0) as usize;
        let start: Vec<f64> = (1..=windows).map(|w| f64::from(u8::from(w <= most))).collect();
        Chain::starting_at(setup, &start, seed, name)
    }

    /// The flows of each class with these shares of windows 1, 2, ... to the greatest.
    ///
    /// # Panics
    /// As [`Chain::new`], or if there are not as many shares as windows.
    pub fn starting_at(setup: Setup, start: &[f64], seed: u64, name: &str) -> Chain {
        let population: u64 = setup.classes.iter().map(|c| c.flows).sum();
        assert!(population > 0 && setup.ct > 0.0 && setup.slots > 0, "a chain of nothing");
        assert!(start.len() == setup.greatest as usize && !start.is_empty(), "a share a window");
        let longest = setup.classes.iter().map(|c| c.slots).max().unwrap_or(1);
        let grid = Grid::new(&setup.curve, 1.0 / f64::from(longest), f64::from(setup.greatest));
        let flows = setup.classes.iter().enumerate().map(|(i, &class)| {
            assert!(class.slots > 0, "a round trip of no slot");
            Flows::new(class, &grid, start, Rng::named(seed, &format!("{name}/class/{i}")))
        });
        let flows: Vec<_> = flows.collect();
        let counts = vec![vec![0; start.len()]; flows.len()];
        let capacity = population as f64 * setup.ct;
        let sums = vec![0; flows.len()];
        let mut chain = Chain { flows, grid, weights: Weights::default(), counts, sums, capacity, slot: 0, setup };
        chain.look();
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
        for flows in &mut self.flows {
            flows.step(self.slot, weights);
        }
        self.slot += 1;
        self.look();
        Step { load, windows }
    }

    /// How many flows of a class have window w, at w - 1.
    pub fn counts(&self, class: usize) -> &[u64] {
        &self.counts[class]
    }

    /// ρ: a class's windows, each over its round-trip time, over what the link carries.
    fn load(&self) -> f64 {
        let of = |(class, &sum): (&Class, &u64)| sum as f64 * f64::from(self.setup.slots) / f64::from(class.slots);
        self.setup.classes.iter().zip(&self.sums).map(of).sum::<f64>() / self.capacity
    }

    fn look(&mut self) {
        for ((flows, counts), sum) in self.flows.iter().zip(&mut self.counts).zip(&mut self.sums) {
            *sum = flows.windows(counts);
        }
    }
}

/// The probabilities that a flow is marked which sends each of these numbers of packets while the queue has
/// each of these loads; a row a load.
pub fn marking(curve: &ScaledCurve, queue: Queue, loads: &[f64], exponents: &[f64]) -> Vec<f64> {
    let least = exponents.iter().copied().fold(f64::INFINITY, f64::min);
    let most = exponents.iter().copied().fold(0.0, f64::max);
    let grid = Grid::new(curve, least, most);
    let marks = grid.marks(exponents.iter().copied());
    let mut weights = Weights::default();
    let mut all = vec![1.0; loads.len() * exponents.len()];
    for (&load, row) in loads.iter().zip(all.chunks_exact_mut(exponents.len())).filter(|(&load, _)| load < 1.0) {
        grid.weigh(&queue.stationary(load), &mut weights);
        marks.probabilities(&weights, row);
    }
    all
}
