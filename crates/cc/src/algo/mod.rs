//! Window laws, one file each.

pub mod reno;
