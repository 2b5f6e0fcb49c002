//! The network of a rate map: routes, delays, and the prices and rates in flight.

/// A resource on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// The index of the resource.
    pub resource: u32,
    /// F: steps from the source to it. The price comes back after D - F steps.
    pub forward: u32,
}

/// A source.
#[derive(Clone, Debug)]
pub struct Source {
    /// D: steps from a rate to the prices that answer it, at least 1, which is at once.
    pub delay: u32,
    /// Where it goes; none of the forward delays reaches D.
    pub route: Vec<Hop>,
    /// The parameters of its law.
    pub parameters: (f64, f64),
    /// Its rate at the beginning.
    pub start: f64,
}

/// Sources on resources.
#[derive(Clone, Debug)]
pub struct Network {
    /// How many resources there are.
    pub resources: usize,
    /// The sources.
    pub sources: Vec<Source>,
}

impl Network {
    /// The network, if every source has a delay, and a route that ends within it.
    ///
    /// # Panics
    /// If it does not: who asks has checked that before.
    pub fn new(resources: usize, sources: Vec<Source>) -> Network {
        for source in &sources {
            assert!(source.delay >= 1, "a price cannot answer a rate before it is set");
            assert!(!source.route.is_empty(), "a source needs a route");
            for hop in &source.route {
                assert!((hop.resource as usize) < resources, "a route leads over resources that there are");
                assert!(hop.forward < source.delay, "a rate reaches a resource before its price comes back");
            }
        }
        Network { resources, sources }
    }
}

/// The last prices of each resource.
#[derive(Clone, Debug)]
pub(super) struct Prices {
    resources: usize,
    mask: usize,
    ring: Vec<f64>,
}

impl Prices {
    /// For looks back of up to `longest` steps; `None` were there for ever until the first are set.
    pub(super) fn new(resources: usize, longest: usize) -> Prices {
        let slots = (longest + 1).next_power_of_two();
        Prices { resources, mask: slots - 1, ring: vec![f64::NAN; slots * resources] }
    }

    /// Sets the prices of step `now`; the first ones have been there for ever.
    pub(super) fn set(&mut self, now: usize, prices: &[f64]) {
        if now == 0 {
            self.ring.chunks_exact_mut(self.resources).for_each(|slot| slot.copy_from_slice(prices));
        } else {
            let at = (now & self.mask) * self.resources;
            self.ring[at..at + self.resources].copy_from_slice(prices);
        }
    }

    /// What `resource` set `ago` steps before `now`; steps before the first wrap to the first.
    pub(super) fn get(&self, now: usize, ago: u32, resource: u32) -> f64 {
        let slot = now.wrapping_sub(ago as usize) & self.mask;
        self.ring[slot * self.resources + resource as usize]
    }
}

/// What arrives at each resource, now and as far ahead as rates are on their way.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    resources: usize,
    mask: usize,
    ring: Vec<f64>,
    now: Vec<f64>,
}

impl Arrivals {
    /// Of sources that have sent at their first rates for ever.
    pub(super) fn new(network: &Network) -> Arrivals {
        let hops = || network.sources.iter().flat_map(|s| s.route.iter().map(move |hop| (hop, s.start)));
        let longest = hops().map(|(hop, _)| hop.forward).max().unwrap_or(0) as usize;
        let slots = (longest + 1).next_power_of_two();
        let mut ring = vec![0.0; slots * network.resources];
        let mut now = vec![0.0; network.resources];
        for (hop, start) in hops() {
            let resource = hop.resource as usize;
            now[resource] += start;
            // Up to step F what arrives was sent at the beginning or before.
            for step in 1..=hop.forward as usize {
                ring[step * network.resources + resource] += start;
            }
        }
        Arrivals { resources: network.resources, mask: slots - 1, ring, now }
    }

    /// What is sent at step `now` will arrive at `hop`.
    pub(super) fn send(&mut self, now: usize, hop: &Hop, rate: f64) {
        let slot = (now + hop.forward as usize) & self.mask;
        self.ring[slot * self.resources + hop.resource as usize] += rate;
    }

    /// All rates of step `now` are sent: what arrives now is known.
    pub(super) fn settle(&mut self, now: usize) {
        let at = (now & self.mask) * self.resources;
        let slot = &mut self.ring[at..at + self.resources];
        self.now.copy_from_slice(slot);
        slot.fill(0.0);
    }

    pub(super) fn now(&self) -> &[f64] {
        &self.now
    }
}
