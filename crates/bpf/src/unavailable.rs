//! Stand-ins for [`crate::attachment`] and [`crate::dctcp`] in a build without BPF programs. Every function returns an
//! error.

/// Why the programs are missing, and what to install.
pub const MESSAGE: &str = concat!(
    "this build of marqueue has no programs for the kernel: ",
    env!("MARQUEUE_BPF_WITHOUT"),
    "; install clang 15 or later, libelf-dev, zlib1g-dev and pkg-config, then run make build"
);

/// Why no program can be loaded.
pub fn missing() -> Option<String> {
    Some(MESSAGE.to_string())
}

/// Stand-in for the module of that name.
pub mod attachment {
    use super::MESSAGE;
    use crate::algorithm::Law;
    use crate::hook::Hook;
    use crate::interface::{Error, Stats};
    use marqueue_aqm::Signal;
    use std::path::Path;

    /// Returns an error.
    ///
    /// # Errors
    /// Always.
    pub fn attach(_: Option<&Path>, _: &str, _: Hook, _: Law, _: Signal) -> Result<bool, Error> {
        Err(Error(MESSAGE.into()))
    }

    /// Returns an error.
    ///
    /// # Errors
    /// Always.
    pub fn detach(_: Option<&Path>, _: &str, _: Hook) -> Result<bool, Error> {
        Err(Error(MESSAGE.into()))
    }

    /// Returns an error.
    ///
    /// # Errors
    /// Always.
    pub fn stats(_: Option<&Path>, _: &str, _: Hook) -> Result<Option<Stats>, Error> {
        Err(Error(MESSAGE.into()))
    }
}

/// Stand-in for the module of that name.
pub mod dctcp {
    use crate::interface::Error;

    /// The name of the congestion control of this process.
    pub fn name() -> String {
        format!("dctcp_{}", std::process::id())
    }

    /// A type without values: DCTCP cannot be registered.
    #[derive(Debug)]
    pub enum Dctcp {}

    impl Dctcp {
        /// Returns an error.
        ///
        /// # Errors
        /// Always.
        pub fn register() -> Result<Dctcp, Error> {
            Err(Error(super::MESSAGE.into()))
        }
    }
}
