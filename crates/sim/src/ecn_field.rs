//! The ECN field of packets whose sender does not choose it for each.

use marqueue_core::Ecn;
use serde::{Deserialize, Serialize};

/// The ECN field that a sender writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EcnField {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECT(0).
    Ect,
    /// ECT(1), which asks for the L4S service (RFC 9331).
    Ect1,
}

impl From<EcnField> for Ecn {
    fn from(field: EcnField) -> Ecn {
        match field {
            EcnField::NotEct => Ecn::NotEct,
            EcnField::Ect => Ecn::Ect0,
            EcnField::Ect1 => Ecn::Ect1,
        }
    }
}
