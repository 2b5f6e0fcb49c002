//! The model's variables, for traces.

use super::Bbr3;
use crate::config::Config;
use crate::path_model::ModelInfo;

impl Bbr3 {
    /// All of them.
    pub(super) fn model_info(&self, config: &Config) -> ModelInfo {
        ModelInfo {
            state: self.state.into(),
            max_bw: self.max_bw.get(),
            bw: self.bw,
            min_rtt: self.min_rtt.min,
            pacing_rate: self.pacing_rate,
            bw_shortterm: self.bounds.bw_shortterm,
            inflight_shortterm: self.bounds.inflight_shortterm,
            inflight_longterm: self.bounds.inflight_longterm,
            extra_acked: self.aggregation.filter.get(),
            drained: self.inflight(config, 1.0),
            in_flight: self.delivery.in_flight(),
            delivered: self.delivery.delivered(),
            lost: self.delivery.count_lost(),
            rounds: self.rounds,
            full_bw_count: self.full.count,
            spurious: self.undo.count,
            full_bw_reached: self.full_reached,
            idle_restart: self.idle_restart,
            app_limited: self.delivery.is_app_limited(),
        }
    }
}
