//! What there is where the programs are not: the same functions, all of which refuse.

/// What is missing, and how to get it.
pub const MESSAGE: &str = concat!(
    "this build of marqueue has no programs for the kernel: ",
    env!("MARQUEUE_BPF_WITHOUT"),
    "; install clang, libelf-dev, zlib1g-dev and pkg-config, then run make build"
);

/// What is missing for a program to be loaded: always something.
pub fn missing() -> Option<String> {
    Some(MESSAGE.to_string())
}

/// See the module of that name where the programs are.
pub mod device {
    use super::MESSAGE;
    use crate::fixed::Law;
    use crate::interface::{Error, Stats};
    use marqueue_aqm::Signal;
    use std::path::Path;

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn attach(_: Option<&Path>, _: &str, _: Law, _: Signal) -> Result<bool, Error> {
        Err(Error(MESSAGE.into()))
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn detach(_: Option<&Path>, _: &str) -> Result<bool, Error> {
        Err(Error(MESSAGE.into()))
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn stats(_: Option<&Path>, _: &str) -> Result<Option<Stats>, Error> {
        Err(Error(MESSAGE.into()))
    }
}

/// See the module of that name where the programs are.
pub mod dctcp {
    use crate::interface::Error;

    /// By which it would be chosen.
    pub fn name() -> String {
        format!("dctcp_{}", std::process::id())
    }

    /// What cannot be registered here.
    #[derive(Debug)]
    pub enum Dctcp {}

    impl Dctcp {
        /// Refuses.
        ///
        /// # Errors
        /// Always.
        pub fn register() -> Result<Dctcp, Error> {
            Err(Error(super::MESSAGE.into()))
        }
    }
}
