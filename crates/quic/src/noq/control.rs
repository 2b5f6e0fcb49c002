//! The congestion controls of noq-proto, watched: it tells how often a window was cut, but not why.
#![allow(clippy::disallowed_types, reason = "the trait of noq-proto counts time so; nothing here reads a clock")]

use super::proto::congestion::{Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig};
use super::proto::{RttEstimator, TransportConfig};
use marqueue_sim::plan::QuicControl;
use std::any::Any;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of windows that a sender cut because of CE marks.
pub type EcnCuts = Arc<AtomicU32>;

/// Gives a connection its congestion control.
pub fn install(control: QuicControl, ecn_cuts: EcnCuts, config: &mut TransportConfig) {
    let inner: Arc<dyn ControllerFactory + Send + Sync> = match control {
        QuicControl::Cubic => Arc::new(CubicConfig::default()),
        QuicControl::NewReno => Arc::new(NewRenoConfig::default()),
    };
    config.congestion_controller_factory(Arc::new(Watching { inner, ecn_cuts }));
}

struct Watching {
    inner: Arc<dyn ControllerFactory + Send + Sync>,
    ecn_cuts: EcnCuts,
}

impl ControllerFactory for Watching {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = self.inner.clone().build(now, current_mtu);
        Box::new(Watched { inner, ecn_cuts: self.ecn_cuts.clone() })
    }
}

#[derive(Debug)]
struct Watched {
    inner: Box<dyn Controller>,
    ecn_cuts: EcnCuts,
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest_pn: u64) {
        self.inner.on_sent(now, bytes, largest_pn);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.inner.on_packet_sent(now, bytes, pn);
    }

    fn on_cwnd_limited(&mut self) {
        self.inner.on_cwnd_limited();
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, pn: u64, app_limited: bool, rtt: &RttEstimator) {
        self.inner.on_ack(now, sent, bytes, pn, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_packet_num_acked: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost_pn: u64,
    ) {
        let before = self.inner.window();
        self.inner.on_congestion_event(now, sent, is_persistent_congestion, is_ecn, lost_bytes, largest_lost_pn);
        if is_ecn && self.inner.window() < before {
            self.ecn_cuts.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        self.inner.on_packet_lost(lost_bytes, pn, now);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.inner.on_spurious_congestion_event();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn on_ack_frequency_update(&mut self, ack_eliciting_threshold: u64, requested_max_ack_delay: Duration) {
        self.inner.on_ack_frequency_update(ack_eliciting_threshold, requested_max_ack_delay);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Watched { inner: self.inner.clone_box(), ecn_cuts: self.ecn_cuts.clone() })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}
