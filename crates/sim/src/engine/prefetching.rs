//! Prefetching of what the next events need, in large networks and in runs with many flows.
//!
//! With thousands of links each event finds its link, its queue and its flow outside the cache, one after the other: where a
//! packet goes next is known once it was read, its queue once the link was read, and so on. Waiting for memory then takes
//! most of the time. So the next events are looked at in groups, step by step: each step reads, for all events of the group,
//! what the step before has prefetched, and prefetches what that leads to. Waits overlap, and events find all that they need.
//!
//! With many flows, what a flow points to is outside the cache when its packet comes. A modern host keeps the state of its
//! loss recovery, of its window law and of quick acknowledgements in boxes, and what it knows of segments in buffers of these:
//! where each is stands in the one before. So they are prefetched in steps while the packet comes near: first its flow and
//! its options, the boxes some arrivals later, the buffers some arrivals after that.
//!
//! An event that comes up after its group was looked at finds what it needs later, but nothing else changes: a run's
//! result does not depend on this.

use super::{Engine, Entrance, Source};
use crate::flow::FlowKind;
use crate::next_events::NextEvents;
use crate::route::Stage;
use marqueue_aqm::qdisc::FLOW_STEPS;
use marqueue_aqm::Qdisc;
use prefetch_index::prefetch_index;

impl Engine {
    /// Prefetches what the next group of events needs.
    #[cold]
    #[inline(never)]
    pub(super) fn prefetch_next(&mut self) {
        let mut group = std::mem::take(&mut self.next_events);
        group.choose(&self.events, self.now, self.processed);
        self.fetch_arrivals(&mut group);
        self.fetch_links(&mut group);
        self.fetch_queues(&mut group);
        self.next_events = group;
    }

    /// Prefetches the packets that arrive. Events of queues lead to their links.
    fn fetch_arrivals(&self, group: &mut NextEvents) {
        for &source in &group.sources {
            match (source as usize).checked_sub(self.lines.len()).map(|i| self.sources[i]) {
                None => prefetch_index(&self.lines, source as usize),
                Some(Source::CatchUp(l)) => group.links.push(l),
                Some(_) => {}
            }
        }
        group.sources.retain(|&source| (source as usize) < self.lines.len());
        for &source in &group.sources {
            self.lines[source as usize].prefetch_ends();
        }
        for &source in &group.sources {
            if let Some((stage, _)) = self.lines[source as usize].first(&self.forms) {
                prefetch_index(&self.routes.stages, stage as usize);
            }
        }
    }

    /// Prefetches the flows at which they arrive, and the links that they, or the answers to them, enter.
    fn fetch_links(&self, group: &mut NextEvents) {
        for &source in &group.sources {
            let Some((stage, flow)) = self.lines[source as usize].first(&self.forms) else { continue };
            match self.routes.stages[stage as usize] {
                Stage::Link(to) => group.entering.push((to, flow)),
                Stage::Receive => {
                    self.flows[flow as usize].fetch_receiver();
                    group.entering.extend(self.link_at(stage + 1).map(|to| (to, flow)));
                }
                Stage::Sender => {
                    self.flows[flow as usize].fetch_sender();
                    group.flows.push(flow);
                }
                _ => {}
            }
        }
        for &flow in &group.flows {
            prefetch_index(&self.routes.stages, self.flows[flow as usize].data_stage as usize);
        }
        for &flow in &group.flows {
            group.entering.extend(self.link_at(self.flows[flow as usize].data_stage).map(|to| (to, flow)));
        }
        group.links.extend(group.entering.iter().map(|&(to, _)| to));
        group.links.sort_unstable();
        group.links.dedup();
        for &l in &group.links {
            prefetch_index(&self.links, l as usize);
        }
    }

    /// Prefetches the queues of links, what they lead to, and where packets that leave them go.
    fn fetch_queues(&self, NextEvents { span, links, departing, entering, of_flows, .. }: &mut NextEvents) {
        for &l in &*links {
            let link = &self.links[l as usize];
            prefetch_index(&self.lines, link.arrival_source as usize);
            if let Entrance::Resource(resource) = &link.entrance {
                resource.prefetch();
            }
        }
        for &l in &*links {
            let link = &self.links[l as usize];
            if let Some(line) = self.lines.get(link.arrival_source as usize) {
                line.prefetch_ends();
            }
            if let Entrance::Resource(resource) = &link.entrance {
                resource.prefetch_packets();
            }
        }
        self.fetch_flow_queues(links, entering, of_flows);
        for &l in &*links {
            // With many packets at few links, these prefetch each other.
            if departing.len() >= NextEvents::MOST_DEPARTING {
                break;
            }
            if let Entrance::Resource(resource) = &self.links[l as usize].entrance {
                resource.prefetch_departures(self.now + *span, |packet| {
                    prefetch_index(&self.routes.stages, packet.stage() as usize);
                    departing.push((packet.stage(), packet.flow()));
                });
            }
        }
        for &(stage, flow) in &*departing {
            match self.routes.stages[stage as usize] {
                Stage::Chained(to) | Stage::Merged(to) => prefetch_index(&self.links, to as usize),
                Stage::ReceiveChained => self.flows[flow as usize].fetch_receiver(),
                _ => {}
            }
        }
    }

    /// Prefetches the queues of the flows whose packets enter links, and those that are served next.
    fn fetch_flow_queues(&self, links: &[u32], entering: &[(u32, u32)], of_flows: &mut Vec<(u32, Option<u32>)>) {
        let queue = |l: u32| match &self.links[l as usize].entrance {
            Entrance::Resource(resource) if resource.qdisc.has_flow_queues() => Some(&resource.qdisc),
            _ => None,
        };
        of_flows.extend(links.iter().filter(|&&l| queue(l).is_some()).map(|&l| (l, None)));
        if of_flows.is_empty() {
            return;
        }
        of_flows.extend(entering.iter().filter(|&&(l, _)| queue(l).is_some()).map(|&(l, flow)| (l, Some(flow))));
        for step in 0..FLOW_STEPS {
            for &(l, flow) in &*of_flows {
                if let Some(queue) = queue(l) {
                    queue.prefetch_flow(flow, step);
                }
            }
        }
    }

    /// A packet arrives at a stage, and the next packet from the same source will probably arrive at the same kind of stage.
    /// It is one of `flow`.
    #[inline(never)]
    pub(super) fn fetch_coming(&mut self, source: u32, stage: u32, flow: u32) {
        match self.routes.stages[stage as usize] {
            Stage::Sender => {
                let slot = self.lines[source as usize].first_options() as usize;
                // The last bytes of a slot are just before the next one.
                prefetch_index(&self.option_slots, slot);
                prefetch_index(&self.option_slots, slot + 1);
                let (near, nearer) = self.coming_flows.add_sender(flow);
                if let FlowKind::Tcp(tcp) = &self.flows[near as usize].kind {
                    tcp.sender.prefetch_parts();
                }
                if let FlowKind::Tcp(tcp) = &self.flows[nearer as usize].kind {
                    tcp.sender.prefetch_segments();
                }
            }
            Stage::Receive => {
                self.flows[flow as usize].fetch_sender();
                let near = self.coming_flows.add_receiver(flow);
                if let FlowKind::Tcp(tcp) = &self.flows[near as usize].kind {
                    tcp.receiver.prefetch_parts();
                }
            }
            _ => {}
        }
    }

    /// The link that packets enter at this stage, if they enter one.
    fn link_at(&self, stage: u32) -> Option<u32> {
        match self.routes.stages.get(stage as usize) {
            Some(&Stage::Link(to)) => Some(to),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::prepare::prepare;
    use crate::programs::NoPrograms;
    use serde_json::{from_value, json};

    /// Six queues in a row with flows over each and over all, and with wires between two of them.
    fn row() -> Plan {
        let policy = |hop| match hop {
            0 => json!({"name": "red", "params": {"min_th": 5.0, "max_th": 15.0}}),
            1 => json!({"name": "fq_codel", "params": {}}),
            _ => json!({"name": "codel", "params": {}}),
        };
        let link = |hop: u64, delay: u64| {
            let queue = json!({"policy": policy(hop), "limit": {"packets": 30}, "signal": "ecn", "mean_packet": 1500});
            json!({"name": format!("{hop} {delay}"), "rate": 10_000_000, "delay": delay,
                "queue": if hop == 3 { json!(null) } else { queue }})
        };
        let links: Vec<_> = (0..6).flat_map(|hop| [link(hop, 1_000_000 * (hop + 1)), link(hop, 3_000_000)]).collect();
        let (there, back): (Vec<_>, Vec<_>) = (0..6).map(|hop| (2 * hop, 2 * hop + 1)).unzip();
        let mut routes = vec![json!({"forward": there, "reverse": back.iter().rev().collect::<Vec<_>>()})];
        routes.extend((0..6).map(|hop| json!({"forward": [2 * hop], "reverse": [2 * hop + 1]})));
        let tcp = |route| {
            json!({"route": route, "count": 4, "transport": 0, "start": 0, "stop": null, "jitter": 100_000_000,
                "size": null, "trace": false})
        };
        let traffic: Vec<_> =
            (0..7).map(|r| json!({"name": format!("flows {r}"), "dscp": 0, "kind": {"tcp": tcp(r)}})).collect();
        let plan = json!({"duration": 3_000_000_000u64, "boundaries": [1_000_000_000], "sample": 0, "links": links,
            "routes": routes, "transports": [{"preset": "linux", "params": {}}], "traffic": traffic});
        from_value(plan).expect("it is a plan")
    }

    #[test]
    fn a_run_does_not_depend_on_it() {
        let plan = row();
        let run = |next_events, active| {
            let mut engine = Engine::new(&plan, 1, prepare(&plan, 1, &NoPrograms).expect("it is valid"), None);
            engine.next_events = next_events;
            (0..active).for_each(|_| engine.coming_flows.add_active());
            assert_eq!(engine.coming_flows.is_on(), active > 0);
            while engine.advance(1000) {}
            engine
        };
        let (with, without) = (run(NextEvents { at: 1, ..NextEvents::default() }, 5000), run(NextEvents::default(), 0));
        assert!(
            with.next_events.at > with.processed && !with.next_events.departing.is_empty(),
            "it has looked at groups"
        );
        assert!(with.next_events.of_flows.iter().any(|(_, flow)| flow.is_some()), "and at queues of flows");
        assert_eq!(without.next_events.at, u64::MAX);
        assert_eq!(format!("{:?}", with.finish()), format!("{:?}", without.finish()));
    }
}
