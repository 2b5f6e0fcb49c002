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

/// SHA-256 in hexadecimal of each field of each part of a result, numbers with all their digits.
pub fn digest(result: &RunResult) -> String {
    let mut hashed = Hashed(Sha256::new());
    write!(hashed, "{result:?}").expect("a hash takes any text");
    hashed.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
