//! The congestion controls of quinn-proto, watched: it tells how often a window was cut, but not why.
#![allow(clippy::disallowed_types, reason = "the trait of quinn-proto counts time so; nothing here reads a clock")]

use super::proto::congestion::{Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig};
use super::proto::{RttEstimator, TransportConfig};
use marqueue_sim::plan::QuicControl;
use std::any::Any;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::Instant;

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

struct Watched {
    inner: Box<dyn Controller>,
    ecn_cuts: EcnCuts,
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_packet_num_acked: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent_congestion: bool, lost_bytes: u64) {
        let before = self.inner.window();
        self.inner.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
        // A mark is announced as a loss of no bytes.
        if lost_bytes == 0 && self.inner.window() < before {
            self.ecn_cuts.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
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
