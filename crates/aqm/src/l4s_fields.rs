//! The ECN fields that select the low-latency service of a queue.

use marqueue_core::Ecn;

marqueue_core::choice! {
    /// ECN fields of packets that get the L4S service.
    pub enum L4sFields {
        /// ECT(1) and CE (RFC 9331, section 5.1).
        Ect1 = "ect1",
        /// Also ECT(0): for networks whose ECN-capable senders are all scalable, such as data centres under DCTCP.
        AnyEct = "any_ect",
    }
}

impl L4sFields {
    /// Does a packet with this field get the service?
    #[inline]
    pub fn has(self, ecn: Ecn) -> bool {
        match self {
            L4sFields::Ect1 => matches!(ecn, Ecn::Ect1 | Ecn::Ce),
            L4sFields::AnyEct => ecn != Ecn::NotEct,
        }
    }
}
