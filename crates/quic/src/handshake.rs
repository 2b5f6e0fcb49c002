//! The messages of a handshake that protects nothing, for each library.
//!
//! Transport parameters are exchanged in as many flights as TLS 1.3 takes (RFC 9001, section 4), with messages of about the
//! lengths that TLS has. Nobody listens in a simulated network; lengths and flights are what the network sees of TLS. This
//! saves the time of the ciphers, and takes no random numbers.

/// Length of the tag of AES-GCM, and of the sample for header protection (RFC 9001, sections 5.3 and 5.4).
pub const TAG: usize = 16;
/// Lengths of the messages, bytes, at least: ClientHello, ServerHello, the rest of the server's flight with a chain of
/// certificates, and the client's Finished.
const CLIENT_HELLO: usize = 300;
const SERVER_HELLO: usize = 90;
const SERVER_FLIGHT: usize = 2000;
const FINISHED: usize = 36;
/// Bytes of the length in front of each message, and in front of the transport parameters.
const LENGTH: usize = 2;

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

/// Why a message is not taken.
#[derive(Debug)]
pub enum Refused<E> {
    /// It is out of turn.
    OutOfTurn,
    /// Its transport parameters are wrong.
    Parameters(E),
}

/// One end of a handshake.
#[derive(Debug)]
pub struct Handshake {
    is_client: bool,
    received: Vec<u8>,
    step: Step,
}

impl Handshake {
    /// At its beginning.
    pub fn new(is_client: bool) -> Handshake {
        Handshake { is_client, received: Vec::new(), step: Step::Hello }
    }

    /// Has this end sent and received all messages?
    pub fn is_done(&self) -> bool {
        self.step == Step::Done
    }

    /// Takes bytes of messages; encoded transport parameters go to `parameters`.
    ///
    /// # Errors
    /// If a message is out of turn, or its parameters are refused.
    pub fn read<E>(
        &mut self,
        bytes: &[u8],
        mut parameters: impl FnMut(&mut &[u8]) -> Result<(), E>,
    ) -> Result<(), Refused<E>> {
        self.received.extend(bytes);
        while let Some(message) = self.next_message() {
            match (self.is_client, self.step) {
                (false, Step::Hello) => {
                    parameters(&mut in_message(&message)).map_err(Refused::Parameters)?;
                    self.step = Step::ServerHello;
                }
                (true, Step::ServerHello) => self.step = Step::HandshakeKeys,
                (true, Step::ServerFlight) => {
                    parameters(&mut in_message(&message)).map_err(Refused::Parameters)?;
                    self.step = Step::Finished;
                }
                (false, Step::Finished) => self.step = Step::Done,
                _ => return Err(Refused::OutOfTurn),
            }
        }
        Ok(())
    }

    /// Writes the next message, with transport parameters from `parameters`. Returns whether new keys follow it.
    pub fn write(&mut self, to: &mut Vec<u8>, parameters: impl FnOnce(&mut Vec<u8>)) -> bool {
        self.step = match (self.is_client, self.step) {
            (true, Step::Hello) => {
                write_parameters(to, CLIENT_HELLO, parameters);
                self.step = Step::ServerHello;
                return false;
            }
            (true, Step::HandshakeKeys) => Step::ServerFlight,
            (true, Step::Finished) => {
                write_message(to, &[], FINISHED);
                Step::Done
            }
            (false, Step::ServerHello) => {
                write_message(to, &[], SERVER_HELLO);
                Step::ServerFlight
            }
            (false, Step::ServerFlight) => {
                write_parameters(to, SERVER_FLIGHT, parameters);
                Step::Finished
            }
            _ => return false,
        };
        true
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
}

/// The encoded transport parameters in a message.
fn in_message(message: &[u8]) -> &[u8] {
    let from = 2 * LENGTH;
    let length = usize::from(u16::from_be_bytes([message[LENGTH], message[LENGTH + 1]]));
    &message[from..from + length]
}

fn write_parameters(to: &mut Vec<u8>, least: usize, parameters: impl FnOnce(&mut Vec<u8>)) {
    let mut encoded = Vec::new();
    parameters(&mut encoded);
    let mut body = (encoded.len() as u16).to_be_bytes().to_vec();
    body.extend(encoded);
    write_message(to, &body, least);
}

fn write_message(to: &mut Vec<u8>, body: &[u8], least: usize) {
    let length = least.max(LENGTH + body.len());
    let from = to.len();
    to.extend((length as u16).to_be_bytes());
    to.extend(body);
    to.resize(from + length, 0);
}

/// Tokens for stateless resets and the like: the data, filled up. Different data have different tokens.
pub fn sign(data: &[u8], signature: &mut [u8]) {
    for (to, from) in signature.iter_mut().zip(data.iter().chain(std::iter::repeat(&1))) {
        *to = *from;
    }
}

/// Is this what [`sign`] gives?
pub fn is_signed(data: &[u8], signature: &[u8]) -> bool {
    let mut expected = vec![0; signature.len()];
    sign(data, &mut expected);
    expected == signature
}
