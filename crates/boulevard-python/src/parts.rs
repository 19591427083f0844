//! Everything there is to see of a fitted model, as a dictionary of arrays and numbers. Behind a scaler these are the parts of the model of
//! the scaled columns.

use boulevard::any::AnyModel;
use boulevard::kernel::Gamma;
use boulevard::methods::pareto::ParetoModel;
use boulevard::svm::{Layout, Model as _, SvcModel};
use numpy::IntoPyArray;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{give, int32, table};
use crate::{boosted, induction, selection, sets};

/// All parts of a model.
pub fn of<'py>(py: Python<'py>, any: &AnyModel) -> PyResult<Bound<'py, PyDict>> {
    let parts = report(py, any)?;
    for add in [selection::parts, sets::parts, boosted::parts, induction::parts, linear, kernel] {
        if add(any.inner(), &parts)? {
            break;
        }
    }
    Ok(parts)
}

/// What every fit reports.
fn report<'py>(py: Python<'py>, any: &AnyModel) -> PyResult<Bound<'py, PyDict>> {
    let (parts, report) = (PyDict::new(py), any.report());
    parts.set_item(intern!(py, "features"), any.features())?;
    parts.set_item(intern!(py, "rows"), report.rows)?;
    parts.set_item(intern!(py, "objective"), report.objective)?;
    parts.set_item(intern!(py, "gap"), report.gap)?;
    parts.set_item(intern!(py, "violation"), report.violation)?;
    parts.set_item(intern!(py, "seconds"), report.seconds)?;
    parts.set_item(intern!(py, "status"), report.stop.code())?;
    parts.set_item(intern!(py, "iterations"), report.iterations)?;
    parts.set_item(intern!(py, "solver"), report.route.to_string())?;
    Ok(parts)
}

/// The arrays of a linear machine.
fn linear(any: &AnyModel, parts: &Bound<'_, PyDict>) -> PyResult<bool> {
    let Some(machine) = any.linear_machine() else { return Ok(false) };
    parts.set_item("weights", table(parts.py(), machine.weights.clone(), machine.outputs(), machine.features)?)?;
    parts.set_item("intercepts", machine.biases.clone().into_pyarray(parts.py()))?;
    Ok(true)
}

/// The arrays of a model that is one kernel machine.
fn kernel(any: &AnyModel, parts: &Bound<'_, PyDict>) -> PyResult<bool> {
    let (py, machines) = (parts.py(), any.kernel_machines());
    let [machine] = machines[..] else { return Ok(false) };
    parts.set_item(intern!(py, "support"), int32(py, &machine.support))?;
    parts.set_item(intern!(py, "vectors"), give(py, &machine.vectors)?)?;
    let outputs = machine.coefficients.len().checked_div(machine.len());
    let outputs = outputs.unwrap_or(match &machine.layout {
        Layout::Full => machine.outputs(),
        Layout::Pairs(counts) => counts.len() - 1,
    });
    parts.set_item(intern!(py, "coefficients"), table(py, machine.coefficients.clone(), outputs, machine.len())?)?;
    parts.set_item(intern!(py, "intercepts"), machine.intercepts.clone().into_pyarray(py))?;
    parts.set_item(intern!(py, "gamma"), machine.kernel.gamma().and_then(Gamma::value))?;
    let classifier = any.get::<SvcModel>();
    if let Some(model) = classifier {
        let steps: Vec<usize> = model.iterations.iter().map(|&steps| steps as usize).collect();
        parts.set_item(intern!(py, "iterations"), int32(py, &steps))?;
    }
    let counts = classifier.or_else(|| any.get::<ParetoModel>().map(|front| &front.classifier)).map(|model| &model.support_counts[..]);
    parts.set_item(intern!(py, "counts"), int32(py, counts.unwrap_or(&[machine.len()])))?;
    Ok(true)
}
