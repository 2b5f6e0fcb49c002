//! The numerics of models that are too slow in Python, where the models themselves are.

pub mod chain;
pub mod fluid;
pub mod hybrid;
pub mod rates;
