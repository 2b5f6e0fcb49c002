//! PSH at the end of a burst, as Linux sets it.
//!
//! Linux hands consecutive segments to the network card as one buffer, which is split there or just before, and sets PSH on
//! the last segment of each buffer of two or more (7.3, net/ipv4/tcp_output.c, `__tcp_transmit_skb`: "to expedite GRO
//! flush"). Only its receivers look at it ([`crate::quick_acks`]): they acknowledge that segment at once, also where it is
//! the first since the last acknowledgement.
//!
//! A buffer has the segments of a millisecond at the pacing rate, at least two (`tcp_tso_autosize`). Departures: the
//! smoothed round-trip time stands for the least one; a segment never waits for another one (`tcp_tso_should_defer`,
//! which waits a millisecond at most); and where an acknowledgement is for more than two segments (`ack_every`), as many
//! as was asked for are waited for.

use super::Core;
use crate::config::Config;
use crate::segment::Segment;
use marqueue_core::Flags;

/// Most bytes of a buffer: gso_max_size.
const MOST_BYTES: f64 = 65_536.0;
/// The pacing rate, in windows a round trip: tcp_pacing_ss_ratio, tcp_pacing_ca_ratio.
const IN_SLOW_START: f64 = 2.0;
const IN_AVOIDANCE: f64 = 1.2;
/// The time whose segments a buffer has, s: sk_pacing_shift.
const TIME: f64 = 1.0 / 1024.0;
/// For each so much of the round-trip time, s, the part of the most bytes that is added halves: tcp_tso_rtt_log.
const HALVING: f64 = 512e-6;

impl Core {
    /// Sets PSH on the segments in `sent`, the latest ones, that end a buffer.
    pub fn mark_bursts(&self, config: &Config, sent: &mut [Segment]) {
        // A sender that paces sends one at a time here.
        if !config.quick_acks || config.ack_every > 2 || self.pacing.is_some() || sent.len() < 2 {
            return;
        }
        let most = self.buffer_segments(config);
        for burst in sent.chunk_by_mut(follows) {
            for buffer in burst.chunks_mut(most) {
                if let [_, .., last] = buffer {
                    last.flags |= Flags::PSH;
                }
            }
        }
    }

    /// Segments of a buffer.
    fn buffer_segments(&self, config: &Config) -> usize {
        let rtt = self.rto.srtt(config);
        let segment = f64::from(config.segment);
        let ratio = if self.window.in_slow_start() { IN_SLOW_START } else { IN_AVOIDANCE };
        let rate = ratio * self.window.cwnd * segment / rtt.max(f64::MIN_POSITIVE);
        let halvings = (rtt / HALVING) as u32;
        let more = 1u32.checked_shl(halvings).map_or(0.0, |parts| MOST_BYTES / f64::from(parts));
        ((rate * TIME + more).min(MOST_BYTES) / segment).max(2.0) as usize
    }
}

/// Is the second one new data right after the first?
fn follows(first: &Segment, second: &Segment) -> bool {
    second.seq == first.seq + 1 && !first.flags.has(Flags::RETRANSMIT) && !second.flags.has(Flags::RETRANSMIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use marqueue_core::params::ParamValues;
    use marqueue_core::Time;

    fn sent(core: &Core, config: &Config, of: &[(u32, Flags)]) -> Vec<u32> {
        let mut sent: Vec<Segment> = of.iter().map(|&(seq, flags)| Segment { seq, flags, ect: false }).collect();
        core.mark_bursts(config, &mut sent);
        sent.iter().filter(|each| each.flags.has(Flags::PSH)).map(|each| each.seq).collect()
    }

    #[test]
    fn the_last_of_each_two_segments_that_leave_together_has_psh() {
        let config = Config::with_preset("linux", &ParamValues::new()).unwrap();
        let mut core = Core::new(&config, None, 0.0);
        core.rto.sample(&config, Time::ZERO, Time(100_000_000));
        let new = |seqs: std::ops::Range<u32>| seqs.map(|seq| (seq, Flags::NONE)).collect::<Vec<_>>();
        assert!(sent(&core, &config, &new(1..2)).is_empty());
        assert_eq!(sent(&core, &config, &new(1..3)), [2]);
        assert_eq!(sent(&core, &config, &new(1..6)), [2, 4]);
        // A retransmission between them, and one before.
        let again = (3, Flags::RETRANSMIT);
        assert_eq!(sent(&core, &config, &[again, (9, Flags::NONE), (10, Flags::NONE)]), [10]);
        assert!(sent(&core, &config, &[(9, Flags::NONE), again, (10, Flags::NONE)]).is_empty());
        // 12,000 segments a second, in 1/1024 s.
        core.window.ssthresh = 1.0;
        core.window.cwnd = 1000.0;
        assert_eq!(sent(&core, &config, &new(1..25)), [11, 22, 24]);
        for other in [Config { ack_every: 8, ..config.clone() }, Config { quick_acks: false, ..config }] {
            assert!(sent(&core, &other, &new(1..25)).is_empty());
        }
    }
}
