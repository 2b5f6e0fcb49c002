//! The ways through the network as one table of stages, and which stages need no event of their own.
//!
//! A wire that is entered from one other link only is *chained* to it: packets enter it in the order
//! in which they leave that link, so the time at which a packet leaves the wire is known as soon as
//! the time at which it leaves the link is. The same holds for a receiver that answers at once.

use crate::plan::Plan;

/// What happens to a packet next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It enters a link.
    Link(u32),
    /// It enters a wire that is chained to the link it comes from.
    Chained(u32),
    /// It arrives at its receiver.
    Receive,
    /// It arrives at its receiver, whose answer is chained to the link it comes from.
    ReceiveChained,
    /// The acknowledgement arrives at the sender.
    Sender,
}

/// All routes.
#[derive(Clone, Debug)]
pub struct Routes {
    /// Stages of all routes, one after the other.
    pub stages: Vec<Stage>,
    /// Where each route begins.
    pub first: Vec<u32>,
}

/// Who sends packets into a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeder {
    /// Nobody.
    Nobody,
    /// One other link and nobody else.
    Link(u32),
    /// A host, or several.
    Several,
}

impl Routes {
    /// Lays out the routes of a plan. `answers_at_once[r]`: no receiver on route `r` holds back
    /// acknowledgements.
    pub fn new(plan: &Plan, answers_at_once: &[bool]) -> Routes {
        let mut feeders = vec![Feeder::Nobody; plan.links.len()];
        let mut feed = |link: usize, by: Feeder| {
            let f = &mut feeders[link];
            *f = match *f {
                Feeder::Nobody => by,
                old if old == by => old,
                _ => Feeder::Several,
            };
        };
        for (route, &at_once) in plan.routes.iter().zip(answers_at_once) {
            let mut by = Feeder::Several;
            for &link in &route.forward {
                feed(link, by);
                by = Feeder::Link(link as u32);
            }
            if !at_once {
                by = Feeder::Several;
            }
            for &link in &route.reverse {
                feed(link, by);
                by = Feeder::Link(link as u32);
            }
        }
        let stage = |link: usize| {
            let plain = plan.links[link].queue.is_none() && plan.links[link].schedule.is_empty();
            match feeders[link] {
                Feeder::Link(_) if plain => Stage::Chained(link as u32),
                _ => Stage::Link(link as u32),
            }
        };
        let mut routes = Routes { stages: Vec::new(), first: Vec::new() };
        for route in &plan.routes {
            routes.first.push(routes.stages.len() as u32);
            routes.stages.extend(route.forward.iter().map(|&l| stage(l)));
            let answer = route.reverse.first().map(|&l| stage(l));
            let chained = matches!(answer, Some(Stage::Chained(_)));
            routes.stages.push(if chained { Stage::ReceiveChained } else { Stage::Receive });
            routes.stages.extend(route.reverse.iter().map(|&l| stage(l)));
            routes.stages.push(Stage::Sender);
        }
        routes
    }
}
