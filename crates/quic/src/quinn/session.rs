//! A cryptographic session of quinn-proto that protects nothing: [`crate::handshake`], and tags that are not checked.

use super::proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair,
    Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use super::proto::transport_parameters::TransportParameters;
use super::proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use crate::handshake::{is_signed, sign, Handshake, Refused, TAG};
use bytes::BytesMut;
use std::any::Any;
use std::sync::Arc;

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

    fn retry_tag(&self, _version: u32, _orig_dst_cid: &ConnectionId, _packet: &[u8]) -> [u8; TAG] {
        [0; TAG]
    }

    fn start_session(self: Arc<Self>, _version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(NoTlsSession::new(Side::Server, *params))
    }
}

struct NoTlsSession {
    side: Side,
    params: TransportParameters,
    peer: Option<TransportParameters>,
    handshake: Handshake,
}

impl NoTlsSession {
    fn new(side: Side, params: TransportParameters) -> NoTlsSession {
        NoTlsSession { side, params, peer: None, handshake: Handshake::new(side == Side::Client) }
    }
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
        !self.handshake.is_done()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        let (side, peer) = (self.side, &mut self.peer);
        let read = self.handshake.read(buf, |encoded| {
            *peer = Some(TransportParameters::read(side, encoded)?);
            Ok(())
        });
        read.map(|()| false).map_err(|refused| match refused {
            Refused::OutOfTurn => {
                let reason = "a message out of turn".into();
                TransportError { code: TransportErrorCode::PROTOCOL_VIOLATION, frame: None, reason }
            }
            Refused::Parameters(error) => error,
        })
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let params = &self.params;
        self.handshake.write(buf, |to| params.write(to)).then(keys)
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

impl HmacKey for NoKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        sign(data, signature_out);
    }

    fn signature_len(&self) -> usize {
        2 * TAG
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        is_signed(data, signature).then_some(()).ok_or(CryptoError)
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
