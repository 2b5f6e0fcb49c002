//! What noq-proto does in its own way: connections have paths, of which these have one.
#![allow(clippy::disallowed_types, reason = "noq-proto counts time so; nothing here reads a clock")]

use super::proto::congestion::Controller;
use super::proto::{
    Connection, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple, PathId,
    SendStream, ServerConfig, Transmit,
};
use bytes::{Bytes, BytesMut};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

const THERE: &str = "the first path is not given up";

/// An endpoint without a search for the path's MTU.
pub fn endpoint(config: Arc<EndpointConfig>, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(config, server, false)
}

/// Has connection IDs made.
pub fn generate_ids(
    config: &mut EndpointConfig,
    make: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) {
    config.cid_generator(Arc::new(make));
}

/// A datagram arrives from `remote`.
pub fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    remote: SocketAddr,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, FourTuple::new(remote, None), ecn, data, answer)
}

/// The next datagram that the connection sends.
pub fn poll_transmit(connection: &mut Connection, now: Instant, payload: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::MIN, payload)
}

/// Its congestion control.
pub fn controller(connection: &Connection) -> &dyn Controller {
    connection.congestion_state(PathId::ZERO).expect(THERE)
}

/// Its smoothed round-trip time.
pub fn rtt(connection: &Connection) -> Duration {
    connection.rtt(PathId::ZERO).expect(THERE)
}

/// Packets that it has declared lost.
pub fn lost(connection: &mut Connection) -> u64 {
    connection.stats().lost_packets
}

/// Writes as much as the stream takes; `None` if it takes nothing.
pub fn write(stream: &mut SendStream<'_>, data: Bytes) -> Option<usize> {
    stream.write_chunks(&mut &mut [data][..]).ok()
}
