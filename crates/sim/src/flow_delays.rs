//! The propagation delays of flows with links of their own: one draw for each flow, in the order in which flows start.

use crate::delay_law::DelayLaw;
use crate::plan::{Plan, RoutePlan};
use marqueue_core::{Dur, Rng};

/// The laws of all delays, and where they apply.
#[derive(Debug)]
pub struct FlowDelays {
    laws: Vec<Law>,
    /// For each route, the laws of its links, each once.
    on_route: Vec<Vec<RouteLaw>>,
    /// Two-way propagation delay of each route over all links that flows share.
    shared: Vec<Dur>,
}

/// A law, with a random stream for each traffic group, so that a group added later changes no draw of another.
#[derive(Debug)]
struct Law {
    delay: DelayLaw,
    streams: Vec<Rng>,
}

/// A law on a route.
#[derive(Debug)]
struct RouteLaw {
    law: usize,
    /// The links of the route with this delay.
    links: Vec<u32>,
}

impl FlowDelays {
    /// The laws of a plan.
    pub fn new(plan: &Plan, seed: u64) -> FlowDelays {
        let (mut laws, mut names): (Vec<Law>, Vec<&str>) = (Vec::new(), Vec::new());
        let mut law_of = vec![None; plan.links.len()];
        for (l, link) in plan.links.iter().enumerate() {
            let Some(per_flow) = &link.per_flow else { continue };
            let known = names.iter().position(|&name| name == per_flow.stream);
            law_of[l] = Some(known.unwrap_or_else(|| {
                let stream = |group: &str| Rng::named(seed, &format!("delay/{}/{group}", per_flow.stream));
                names.push(&per_flow.stream);
                laws.push(Law {
                    delay: per_flow.delay.clone(),
                    streams: plan.traffic.iter().map(|t| stream(&t.name)).collect(),
                });
                laws.len() - 1
            }));
        }
        let links = |route: &RoutePlan| route.forward.iter().chain(&route.reverse).copied().collect::<Vec<_>>();
        let on_route = plan.routes.iter().map(|route| route_laws(&links(route), &law_of)).collect();
        let is_shared = |l: &usize| law_of[*l].is_none();
        let shared = plan
            .routes
            .iter()
            .map(|route| links(route).into_iter().filter(is_shared).fold(Dur::ZERO, |sum, l| sum + plan.links[l].delay))
            .collect();
        FlowDelays { laws, on_route, shared }
    }

    /// Has any flow a link of its own?
    pub fn are_any(&self) -> bool {
        !self.laws.is_empty()
    }

    /// Draws the delays of a flow of `group` on `route`, and gives each of its own links with its delay to `add`.
    /// Returns the two-way propagation delay of the flow.
    pub fn draw(&mut self, group: u32, route: u32, mut add: impl FnMut(u32, Dur)) -> Dur {
        let mut propagation = self.shared[route as usize];
        for RouteLaw { law, links } in &self.on_route[route as usize] {
            let law = &mut self.laws[*law];
            let delay = law.delay.draw(&mut law.streams[group as usize]);
            for &l in links {
                propagation = propagation + delay;
                add(l, delay);
            }
        }
        propagation
    }
}

/// The laws of these links.
fn route_laws(links: &[usize], law_of: &[Option<usize>]) -> Vec<RouteLaw> {
    let mut found: Vec<RouteLaw> = Vec::new();
    for &l in links {
        let Some(law) = law_of[l] else { continue };
        match found.iter_mut().find(|known| known.law == law) {
            Some(known) => known.links.push(l as u32),
            None => found.push(RouteLaw { law, links: vec![l as u32] }),
        }
    }
    found
}
