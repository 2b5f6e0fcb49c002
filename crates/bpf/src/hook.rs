//! The hooks of tc.

/// Where packets of a device meet an AQM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Those that it is about to send, in front of its root qdisc.
    Egress,
    /// Those that it has received, before they are delivered or forwarded.
    Ingress,
}

impl Hook {
    /// Its name, as in the names of programs.
    pub fn name(self) -> &'static str {
        match self {
            Hook::Egress => "egress",
            Hook::Ingress => "ingress",
        }
    }

    /// The other one.
    pub fn other(self) -> Hook {
        match self {
            Hook::Egress => Hook::Ingress,
            Hook::Ingress => Hook::Egress,
        }
    }
}
