//! The network of a rate map: routes, delays, and the prices and rates in flight.

/// A resource on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// The index of the resource.
    pub resource: u32,
    /// F: steps from the source to the resource. The price returns D - F steps later.
    pub forward: u32,
}

/// A source.
#[derive(Clone, Debug)]
pub struct Source {
    /// D: steps from a rate to the prices that refer to it; 1 is immediate feedback.
    pub delay: u32,
    /// The resources that it crosses, each with a forward delay below D.
    pub route: Vec<Hop>,
    /// The parameters of its law.
    pub parameters: (f64, f64),
    /// Its initial rate.
    pub initial_rate: f64,
}

/// Sources and the number of resources that they share.
#[derive(Clone, Debug)]
pub struct Network {
    /// Number of resources.
    pub resources: usize,
    /// The sources.
    pub sources: Vec<Source>,
}

impl Network {
    /// A network of these sources.
    ///
    /// # Panics
    /// If a source has no delay or no route, or a route has an unknown resource or a forward delay of D or more. The
    /// caller checks user input first.
    pub fn new(resources: usize, sources: Vec<Source>) -> Network {
        for source in &sources {
            assert!(source.delay >= 1, "expected a delay of at least 1");
            assert!(!source.route.is_empty(), "expected a route");
            for hop in &source.route {
                assert!((hop.resource as usize) < resources, "expected a known resource");
                assert!(hop.forward < source.delay, "expected a forward delay below the delay");
            }
        }
        Network { resources, sources }
    }
}

/// The recent prices of each resource, as a ring.
#[derive(Clone, Debug)]
pub(super) struct Prices {
    resources: usize,
    mask: usize,
    ring: Vec<f64>,
}

impl Prices {
    /// A ring for delays of up to `longest` steps.
    pub(super) fn new(resources: usize, longest: usize) -> Prices {
        let slots = (longest + 1).next_power_of_two();
        Prices { resources, mask: slots - 1, ring: vec![f64::NAN; slots * resources] }
    }

    /// Sets the prices of step `now`. Those of step 0 count as those of all earlier steps too.
    pub(super) fn set(&mut self, now: usize, prices: &[f64]) {
        if now == 0 {
            self.ring.chunks_exact_mut(self.resources).for_each(|slot| slot.copy_from_slice(prices));
        } else {
            let at = (now & self.mask) * self.resources;
            self.ring[at..at + self.resources].copy_from_slice(prices);
        }
    }

    /// The price of `resource` `ago` steps before `now`. Steps before the first have the price of the first.
    pub(super) fn get(&self, now: usize, ago: u32, resource: u32) -> f64 {
        let slot = now.wrapping_sub(ago as usize) & self.mask;
        self.ring[slot * self.resources + resource as usize]
    }
}

/// The arrival rates at each resource, now and, for the rates in flight, at later steps.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    resources: usize,
    mask: usize,
    ring: Vec<f64>,
    current: Vec<f64>,
}

impl Arrivals {
    /// Arrivals from sources that always had their initial rates.
    pub(super) fn new(network: &Network) -> Arrivals {
        let hops = || network.sources.iter().flat_map(|s| s.route.iter().map(move |hop| (hop, s.initial_rate)));
        let longest = hops().map(|(hop, _)| hop.forward).max().unwrap_or(0) as usize;
        let slots = (longest + 1).next_power_of_two();
        let mut ring = vec![0.0; slots * network.resources];
        let mut current = vec![0.0; network.resources];
        for (hop, rate) in hops() {
            let resource = hop.resource as usize;
            current[resource] += rate;
            // Rates that arrive up to step F were set at step 0 or before.
            for step in 1..=hop.forward as usize {
                ring[step * network.resources + resource] += rate;
            }
        }
        Arrivals { resources: network.resources, mask: slots - 1, ring, current }
    }

    /// Adds a rate set at step `now` to the arrivals at `hop`.
    pub(super) fn send(&mut self, now: usize, hop: &Hop, rate: f64) {
        let slot = (now + hop.forward as usize) & self.mask;
        self.ring[slot * self.resources + hop.resource as usize] += rate;
    }

    /// Completes the arrivals of step `now`, once all its rates are set.
    pub(super) fn complete(&mut self, now: usize) {
        let at = (now & self.mask) * self.resources;
        let slot = &mut self.ring[at..at + self.resources];
        self.current.copy_from_slice(slot);
        slot.fill(0.0);
    }

    /// The arrivals of the last completed step.
    pub(super) fn current(&self) -> &[f64] {
        &self.current
    }
}
