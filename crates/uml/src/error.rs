//! What ends a run with kernels without a result.

use marqueue_sim::RunError;
use std::fmt;

/// Why a run with kernels has no result.
#[derive(Debug)]
pub enum Error {
    /// The plan is refused, or the run was cancelled, or its traces are full.
    Run(RunError),
    /// A kernel that the plan names was not given.
    NoKernel(String),
    /// The host refused something.
    System {
        /// What was tried.
        what: String,
        /// The error.
        error: std::io::Error,
    },
    /// A guest died, hung, or broke a protocol.
    Guest {
        /// The guest.
        guest: String,
        /// What it did.
        what: String,
        /// The last lines of its console.
        console: Vec<String>,
    },
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Error {
        Error::Run(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Run(error) => error.fmt(f),
            Error::NoKernel(name) => write!(f, "got kernel {name}, which was not given"),
            Error::System { what, error } => write!(f, "{what}: {error}"),
            Error::Guest { guest, what, console } => {
                write!(f, "{guest}: {what}")?;
                if console.is_empty() {
                    return f.write_str("; its console is empty");
                }
                f.write_str("; the last lines of its console:")?;
                console.iter().try_for_each(|line| write!(f, "\n    {line}"))
            }
        }
    }
}

impl std::error::Error for Error {}

/// What a guest did wrong, before it is known which guest it was.
#[derive(Debug)]
pub struct Fault(pub String);

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Fault {
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof
            | std::io::ErrorKind::BrokenPipe
            | std::io::ErrorKind::ConnectionReset => Fault("it has ended".into()),
            _ => Fault(format!("no connection to it: {error}")),
        }
    }
}

impl From<rustix::io::Errno> for Fault {
    fn from(error: rustix::io::Errno) -> Fault {
        std::io::Error::from(error).into()
    }
}

impl From<crate::ring::RingError> for Fault {
    fn from(error: crate::ring::RingError) -> Fault {
        Fault(format!("its network device has {error}"))
    }
}

impl From<crate::shared_memory::OutOfBounds> for Fault {
    fn from(_: crate::shared_memory::OutOfBounds) -> Fault {
        Fault("the page of its clock is too short".into())
    }
}
