//! A digest of a whole result, by which runs on two platforms are compared.

use crate::result::RunResult;
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};

/// Feeds text to a hash.
struct Hashed(Sha256);

impl Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text);
        Ok(())
    }
}

/// SHA-256 in hexadecimal of each field of each part of a result, numbers with all their digits, but not of the number
/// of events, which is no outcome.
pub fn digest(result: &RunResult) -> String {
    let RunResult {
        edges, ended, links, pipes, flows, traces, senders, rate_traces, media, cwnds, queue_reports, ..
    } = result;
    let outcome = (edges, ended, links, pipes, flows, (traces, senders, rate_traces, media, cwnds, queue_reports));
    let mut hashed = Hashed(Sha256::new());
    write!(hashed, "{outcome:?}").expect("a hash takes any text");
    hashed.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
