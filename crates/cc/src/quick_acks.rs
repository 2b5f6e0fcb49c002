//! Quick acknowledgements: which segments a Linux receiver acknowledges at once, though it might wait for a second one.
//!
//! Linux 7.3, net/ipv4: tcp_event_data_recv, tcp_incr_quickack, tcp_data_ecn_check, tcp_grow_window, tcp_rcvbuf_grow,
//! tcp_rcv_space_adjust (dynamic right-sizing: Fisk and Feng 2001), tcp_measure_rcv_mss and __tcp_cleanup_rbuf (PSH).
//!
//! A count Q of segments is acknowledged one by one: Q <- max(Q, n) with n = 16 at the first segment, after a pause longer
//! than the retransmission timeout and after a segment that came twice, n = 2 at a first mark; Q <- Q | 1 at each segment
//! by which the offered window grows; Q <- Q - 1 at each acknowledgement. The offered window grows by two segments at each
//! one in order, up to W. Once a round trip W <- max(W, 2 c + 4 c (c - c') / c'), where c and c' are the bytes that arrived
//! in this round trip and the most in one before. A segment with CWR or PSH is acknowledged at once too.
//!
//! It sees the segments as they arrive, with their timestamps. Departures: the round-trip time is that of the handshake and
//! what the way of the segments has become longer since, because segments carry no echoed timestamp here; the application
//! reads at once; segments that wait out of order take no room from the window; without a handshake or without timestamps
//! the window grows to its first W only. Sizes: tcp_rmem of 131072 and 6291456 bytes, of which 160/256 are payload, as with
//! 1448 bytes in a buffer of 2304.

use crate::config::Config;
use crate::law_list::EchoMode;
use marqueue_core::{Dur, Ecn, Flags, Time};

/// TCP_MAX_QUICKACKS.
const MOST_AT_ONCE: u64 = 16;
/// Segments after a mark, or after a retransmission among ECN-capable segments.
const AFTER_MARK: u64 = 2;
/// The buffer of a new connection, and the largest: tcp_rmem, bytes.
const BUFFER: u64 = 131_072;
const MOST_BUFFER: u64 = 6_291_456;
/// Segments of the first round trip that right-sizing expects: TCP_INIT_CWND.
const FIRST_ROUND_TRIP: u64 = 10;
/// Below this round-trip time the window grows in proportion to it: tcp_rcvbuf_low_rtt.
const LOW_RTT: Dur = Dur(1_000_000);
/// Shorter segments do not let the window grow, bytes.
const LEAST_SEGMENT: u64 = 128;

/// The part of a buffer that is payload, bytes.
fn payload(buffer: u64) -> u64 {
    buffer * 160 / 256
}

/// A segment that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its number.
    pub seq: u32,
    /// Its flags.
    pub flags: Flags,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its timestamp, if the connection has timestamps.
    pub timestamp: u32,
    /// The receiver echoed a mark before it came.
    pub echoed: bool,
}

/// State of a receiver.
#[derive(Clone, Debug)]
pub struct QuickAcks {
    /// Q.
    left: u64,
    /// The window that is offered, bytes: rcv_ssthresh.
    window: u64,
    /// W, bytes: window_clamp.
    most: u64,
    /// c', bytes: rcvq_space.space.
    round_trip: u64,
    /// The segment that was expected when this round trip began, and when: rcvq_space.
    from: u32,
    since: Time,
    /// When the latest SYN and the latest segment in order came.
    syn: Option<Time>,
    latest: Option<Time>,
    path: Option<Path>,
}

/// The round-trip time at the receiver.
#[derive(Clone, Copy, Debug)]
struct Path {
    /// That of the handshake.
    first: Dur,
    /// How long the first segment was on its way.
    first_way: Dur,
    /// Smoothed.
    rtt: Dur,
}

impl QuickAcks {
    /// The receiver of a new connection.
    pub fn new(config: &Config) -> QuickAcks {
        let segment = u64::from(config.segment);
        let window = (BUFFER / 2).saturating_sub(segment);
        QuickAcks {
            left: 0,
            window,
            most: payload(BUFFER),
            round_trip: window.min(FIRST_ROUND_TRIP * segment).max(1),
            from: 1,
            since: Time::ZERO,
            syn: None,
            latest: None,
            path: None,
        }
    }

    /// A segment arrives, where `next` is expected and the last one out of order is below `last_ahead`. Returns whether it
    /// is acknowledged at once.
    pub fn on_segment(
        &mut self,
        config: &Config,
        now: Time,
        next: u32,
        last_ahead: Option<u32>,
        arrival: &Arrival,
    ) -> bool {
        let (segment, seq) = (u64::from(config.segment), arrival.seq);
        if seq == 0 {
            self.syn = Some(now);
            return true;
        }
        if seq < next {
            self.ask(MOST_AT_ONCE, segment);
            return true;
        }
        if config.timestamps {
            self.measure(config.sent_at(arrival.timestamp, now), now);
        }
        if seq == next {
            self.note_pause(config, now, segment);
        }
        self.note_ecn(config, arrival, segment);
        if seq > next {
            let ahead = u64::from(seq.max(last_ahead.map_or(seq, |end| end - 1)) + 1 - next);
            self.make_room(2 * self.round_trip + ahead * segment);
            return true;
        }
        if last_ahead.is_none() && segment >= LEAST_SEGMENT {
            self.grow(segment);
        }
        self.right_size(now, next + 1, segment);
        self.left > 0 || arrival.flags.has(Flags::CWR) || arrival.flags.has(Flags::PSH)
    }

    /// An acknowledgement is sent.
    #[inline]
    pub fn on_ack_sent(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// tcp_incr_quickack: at least `most` segments from now on, where half of the window has so many.
    fn ask(&mut self, most: u64, segment: u64) {
        let half = match self.window / (2 * segment) {
            0 => 2,
            half => half,
        };
        self.left = self.left.max(half.min(most));
    }

    /// A segment that was sent at `sent` measures the round-trip time.
    fn measure(&mut self, sent: Time, now: Time) {
        let way = now.since(sent);
        match (&mut self.path, self.syn) {
            (Some(path), _) => {
                let sample = Dur((path.first.0 + way.0).saturating_sub(path.first_way.0).max(1));
                let above = sample.0.saturating_sub(path.rtt.0);
                path.rtt = Dur(sample.0.min(path.rtt.0) + above / 8);
            }
            (none, Some(syn)) => {
                let first = now.since(syn);
                *none = Some(Path { first, first_way: way, rtt: first });
            }
            (None, None) => {}
        }
    }

    /// The first segment, or one after a pause.
    fn note_pause(&mut self, config: &Config, now: Time, segment: u64) {
        let rto = self.path.map_or(config.initial_rto, |path| path.first + Dur(2 * path.first.0).max(config.min_rto));
        if self.latest.is_none() {
            self.since = now;
        }
        if self.latest.is_none_or(|latest| now.since(latest) > rto) {
            self.ask(MOST_AT_ONCE, segment);
        }
        self.latest = Some(now);
    }

    /// tcp_data_ecn_check: under RFC 3168 the sender's window may be very small after a mark.
    fn note_ecn(&mut self, config: &Config, arrival: &Arrival, segment: u64) {
        let first_mark = arrival.ecn == Ecn::Ce && (!arrival.echoed || arrival.flags.has(Flags::CWR));
        if config.ecn && config.feedback == EchoMode::UntilCwr && (first_mark || arrival.ecn == Ecn::NotEct) {
            self.ask(AFTER_MARK, segment);
        }
    }

    /// tcp_grow_window. The segment itself takes room until it is read.
    fn grow(&mut self, segment: u64) {
        let room = self.most.saturating_sub(segment).saturating_sub(self.window);
        if room > 0 {
            self.window += room.min(2 * segment);
            self.left |= 1;
        }
    }

    fn make_room(&mut self, window: u64) {
        self.most = self.most.max(window.min(payload(MOST_BUFFER)));
    }

    /// tcp_rcv_space_adjust, where `next` is expected now.
    fn right_size(&mut self, now: Time, next: u32, segment: u64) {
        let Some(Path { rtt, .. }) = self.path else { return };
        if now.since(self.since) < rtt {
            return;
        }
        let arrived = u64::from(next - self.from) * segment;
        if arrived > self.round_trip {
            let more = match rtt < LOW_RTT {
                true => 2 * arrived * rtt.0 / LOW_RTT.0,
                // The sender may double its rate.
                false => 4 * arrived * (arrived - self.round_trip) / self.round_trip,
            };
            self.make_room(2 * arrived + more);
            self.round_trip = arrived;
        }
        (self.from, self.since) = (next, now);
    }
}
