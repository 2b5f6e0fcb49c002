//! `marqueue._core`: the engine as a Python module. It only converts arguments and results.

mod catalogue;
mod chain;
mod convert;
mod file_system;
mod flow_file;
mod fluid;
mod json;
mod kernel;
mod live;
mod look;
mod paced_flows;
mod packet_level_chain;
mod pcapng;
mod program;
mod rate_maps;
mod run;
mod shortest_routes;
mod square_root_law;
mod tcp_sender;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use statrs::distribution::{ContinuousCDF, StudentsT};

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(version, m)?)?;
    m.add_function(wrap_pyfunction!(student_quantile, m)?)?;
    m.add_function(wrap_pyfunction!(catalogue::catalogue, m)?)?;
    m.add_function(wrap_pyfunction!(catalogue::read_marking_curve, m)?)?;
    m.add_function(wrap_pyfunction!(run::check, m)?)?;
    m.add_function(wrap_pyfunction!(run::estimated_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(run::estimated_memory, m)?)?;
    m.add_function(wrap_pyfunction!(run::run, m)?)?;
    m.add_function(wrap_pyfunction!(run::threads_for, m)?)?;
    m.add_function(wrap_pyfunction!(run::threads_that_pay, m)?)?;
    m.add_function(wrap_pyfunction!(run::replication_seed, m)?)?;
    m.add_function(wrap_pyfunction!(run::digest, m)?)?;
    m.add_function(wrap_pyfunction!(pcapng::write_pcapng, m)?)?;
    m.add_function(wrap_pyfunction!(kernel::kernel_missing, m)?)?;
    m.add_function(wrap_pyfunction!(kernel::kernel_aqms, m)?)?;
    m.add_function(wrap_pyfunction!(kernel::kernel_qdiscs, m)?)?;
    m.add_function(wrap_pyfunction!(kernel::kernel_needs_queue, m)?)?;
    m.add_function(wrap_pyfunction!(kernel::kernel_check, m)?)?;
    m.add_function(wrap_pyfunction!(kernel::kernel_attach, m)?)?;
    m.add_function(wrap_pyfunction!(kernel::kernel_detach, m)?)?;
    m.add_function(wrap_pyfunction!(kernel::kernel_stats, m)?)?;
    m.add_class::<kernel::Dctcp>()?;
    m.add("KernelError", m.py().get_type::<kernel::KernelError>())?;
    m.add_class::<run::Control>()?;
    m.add_class::<flow_file::FlowFile>()?;
    m.add("FlowsNotWritten", m.py().get_type::<flow_file::FlowsNotWritten>())?;
    m.add_class::<rate_maps::RateMap>()?;
    m.add_function(wrap_pyfunction!(shortest_routes::shortest_routes, m)?)?;
    m.add_function(wrap_pyfunction!(square_root_law::square_root_rates, m)?)?;
    m.add_class::<fluid::FluidModel>()?;
    m.add_function(wrap_pyfunction!(fluid::fluid_batch, m)?)?;
    m.add_function(wrap_pyfunction!(fluid::red_parameters, m)?)?;
    m.add("FluidError", m.py().get_type::<fluid::FluidError>())?;
    m.add_class::<chain::WindowChain>()?;
    m.add_class::<chain::ChainQueue>()?;
    m.add_class::<packet_level_chain::PacketLevelChain>()?;
    m.add_class::<live::LiveLink>()?;
    m.add_class::<paced_flows::Paced>()?;
    m.add_class::<tcp_sender::TcpSender>()?;
    m.add_function(wrap_pyfunction!(file_system::exchange_paths, m)?)?;
    m.add_function(wrap_pyfunction!(file_system::flush_file_system, m)?)?;
    m.add_function(wrap_pyfunction!(json::indent_json, m)?)?;
    m.add("PlanError", m.py().get_type::<run::PlanError>())?;
    m.add("TraceFull", m.py().get_type::<run::TraceFull>())?;
    m.add("GuestFailed", m.py().get_type::<run::GuestFailed>())?;
    m.add("ProgramFailed", m.py().get_type::<program::ProgramFailed>())?;
    m.add_class::<program::Packet>()?;
    m.add_function(wrap_pyfunction!(program::uniform_address, m)?)?;
    m.add_class::<program::Queue>()?;
    m.add_class::<program::Flow>()?;
    m.add("Cancelled", m.py().get_type::<run::Cancelled>())?;
    Ok(())
}

/// The version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// A quantile of Student's t distribution.
#[pyfunction]
fn student_quantile(freedom: f64, share: f64) -> PyResult<f64> {
    let student = StudentsT::new(0.0, 1.0, freedom).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(student.inverse_cdf(share))
}
