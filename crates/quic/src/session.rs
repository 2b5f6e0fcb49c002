//! A cryptographic session for QUIC that protects nothing.
//!
//! It exchanges transport parameters in as many flights as TLS 1.3 does (RFC 9001, section 4), with messages of about
//! the lengths that TLS has, and protects packets with a tag of the length of AES-GCM's that it does not check. Nobody
//! listens in a simulated network; lengths and flights are what the network sees of TLS. This saves the time of the
//! ciphers, and takes no random numbers.

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair,
    Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use std::any::Any;
use std::sync::Arc;

/// Length of the tag of AES-GCM, and of the sample for header protection (RFC 9001, sections 5.3 and 5.4).
const TAG: usize = 16;
/// Lengths of the messages, bytes, at least: ClientHello, ServerHello, the rest of the server's flight with a chain of
/// certificates, and the client's Finished.
const CLIENT_HELLO: usize = 300;
const SERVER_HELLO: usize = 90;
const SERVER_FLIGHT: usize = 2000;
const FINISHED: usize = 36;
/// Bytes of the length in front of each message, and in front of the transport parameters.
const LENGTH: usize = 2;

/// Starts sessions at both ends.
#[derive(Debug)]
pub struct NoTls;

impl ClientConfig for NoTls {
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(NoTlsSession::new(Side::Client, *params)))
    }
}

impl ServerConfig for NoTls {
    fn initial_keys(&self, _version: u32, _dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: &ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; TAG]
    }

    fn start_session(self: Arc<Self>, _version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(NoTlsSession::new(Side::Server, *params))
    }
}

/// How far one end is. Each end takes these steps in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Hello is to be sent by a client, awaited by a server.
    Hello,
    /// The server's Hello is awaited by a client, to be sent by a server.
    ServerHello,
    /// The handshake keys of a client are to be told.
    HandshakeKeys,
    /// The rest of the server's flight.
    ServerFlight,
    /// The client's Finished.
    Finished,
    /// Nothing.
    Done,
}

struct NoTlsSession {
    side: Side,
    params: TransportParameters,
    peer: Option<TransportParameters>,
    received: Vec<u8>,
    step: Step,
}

impl NoTlsSession {
    fn new(side: Side, params: TransportParameters) -> NoTlsSession {
        NoTlsSession { side, params, peer: None, received: Vec::new(), step: Step::Hello }
    }

    /// Takes the next whole message.
    fn next_message(&mut self) -> Option<Vec<u8>> {
        let length = usize::from(u16::from_be_bytes([*self.received.first()?, *self.received.get(1)?]));
        if self.received.len() < length {
            return None;
        }
        let rest = self.received.split_off(length);
        Some(std::mem::replace(&mut self.received, rest))
    }

    fn read_params(&mut self, message: &[u8]) -> Result<(), TransportError> {
        let from = 2 * LENGTH;
        let length = usize::from(u16::from_be_bytes([message[LENGTH], message[LENGTH + 1]]));
        let mut encoded = &message[from..from + length];
        self.peer = Some(TransportParameters::read(self.side, &mut encoded)?);
        Ok(())
    }

    fn write_params(&self, to: &mut Vec<u8>, least: usize) {
        let mut encoded = Vec::new();
        self.params.write(&mut encoded);
        let mut body = (encoded.len() as u16).to_be_bytes().to_vec();
        body.extend(encoded);
        write_message(to, &body, least);
    }
}

fn write_message(to: &mut Vec<u8>, body: &[u8], least: usize) {
    let length = least.max(LENGTH + body.len());
    let from = to.len();
    to.extend((length as u16).to_be_bytes());
    to.extend(body);
    to.resize(from + length, 0);
}

impl Session for NoTlsSession {
    fn initial_keys(&self, _dst_cid: &ConnectionId, _side: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.step != Step::Done
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.received.extend(buf);
        while let Some(message) = self.next_message() {
            match (self.side, self.step) {
                (Side::Server, Step::Hello) => {
                    self.read_params(&message)?;
                    self.step = Step::ServerHello;
                }
                (Side::Client, Step::ServerHello) => self.step = Step::HandshakeKeys,
                (Side::Client, Step::ServerFlight) => {
                    self.read_params(&message)?;
                    self.step = Step::Finished;
                }
                (Side::Server, Step::Finished) => self.step = Step::Done,
                _ => {
                    let reason = "a message out of turn".into();
                    return Err(TransportError { code: TransportErrorCode::PROTOCOL_VIOLATION, frame: None, reason });
                }
            }
        }
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let next = match (self.side, self.step) {
            (Side::Client, Step::Hello) => {
                self.write_params(buf, CLIENT_HELLO);
                self.step = Step::ServerHello;
                return None;
            }
            (Side::Client, Step::HandshakeKeys) => Step::ServerFlight,
            (Side::Client, Step::Finished) => {
                write_message(buf, &[], FINISHED);
                Step::Done
            }
            (Side::Server, Step::ServerHello) => {
                write_message(buf, &[], SERVER_HELLO);
                Step::ServerFlight
            }
            (Side::Server, Step::ServerFlight) => {
                self.write_params(buf, SERVER_FLIGHT);
                Step::Finished
            }
            _ => return None,
        };
        self.step = next;
        Some(keys())
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(keys().packet)
    }

    fn is_valid_retry(&self, _orig_dst_cid: &ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        true
    }

    fn export_keying_material(&self, _: &mut [u8], _: &[u8], _: &[u8]) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// Every key of the session.
#[derive(Debug)]
pub struct NoKey;

fn keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(NoKey), remote: Box::new(NoKey) },
        packet: KeyPair { local: Box::new(NoKey), remote: Box::new(NoKey) },
    }
}

impl HeaderKey for NoKey {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG
    }
}

impl PacketKey for NoKey {
    fn encrypt(&self, _packet: u64, _buf: &mut [u8], _header_len: usize) {}

    fn decrypt(&self, _packet: u64, _header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        payload.truncate(length);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

/// Tokens for stateless resets: the connection ID, filled up. Different IDs have different tokens.
impl HmacKey for NoKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        for (to, from) in signature_out.iter_mut().zip(data.iter().chain(std::iter::repeat(&1))) {
            *to = *from;
        }
    }

    fn signature_len(&self) -> usize {
        2 * TAG
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut expected = vec![0; signature.len()];
        self.sign(data, &mut expected);
        if expected == signature {
            Ok(())
        } else {
            Err(CryptoError)
        }
    }
}

impl HandshakeTokenKey for NoKey {
    fn aead_from_hkdf(&self, _random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(NoKey)
    }
}

impl AeadKey for NoKey {
    fn seal(&self, _data: &mut Vec<u8>, _additional_data: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _additional_data: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Ok(data)
    }
}
