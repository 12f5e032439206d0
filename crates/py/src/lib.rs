//! `spinewise._core`: specs in as JSON, columns out as bytes. `own/` lends schemes written in Python what hooks get; nothing
//! here decides what happens in a run.
//!
//! Runs execute with the interpreter detached; now and then the watch attaches it to report progress and check for
//! Ctrl-C. A panic inside the engine becomes an `InternalError` that says what to report.

mod looks;
mod own;
mod places;

use looks::{Looks, now};
use own::OwnScheme;
use own::failure::{self, Failure as InScheme};
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{Value, json};
use spinewise_sim::bank::Entry;
use spinewise_sim::engine::Sim;
use spinewise_sim::estimate::Estimate;
use spinewise_sim::outcome::{BLOCK_COLUMNS, PACKET_COLUMNS, Packets};
use spinewise_sim::outcome::{COLLECTIVE_COLUMNS, Column, FLOW_COLUMNS, Outcome, SERIES_COLUMNS, Values};
use spinewise_sim::setup::{Failure, Setup, Tuning, simulate};
use spinewise_sim::spec::{self, EngineKind, Spec, Warning};
use spinewise_sim::trace::{self, CHOICE_COLUMNS, HOP_COLUMNS, LOSS_COLUMNS, Trace};
use spinewise_sim::warden::Warden;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

create_exception!(
    _core,
    SpecError,
    PyValueError,
    "A spec was refused; the exception has `key`, `value`, `allowed`, `hint` and `unserved`."
);
create_exception!(
    _core,
    SchemeError,
    PyRuntimeError,
    "A scheme written in Python raised the exception that caused this one; it has `hook`, `now_ps` and `flow`."
);
create_exception!(_core, InternalError, PyRuntimeError, "An invariant of the engine does not hold: a defect.");

fn spec_error(py: Python<'_>, error: &spec::SpecError) -> PyErr {
    let raised = SpecError::new_err(error.to_string());
    let value = raised.value(py);
    for (name, text) in [
        ("key", Some(&error.key)),
        ("value", Some(&error.value)),
        ("allowed", Some(&error.allowed)),
        ("hint", error.hint.as_ref()),
    ] {
        if let Err(failed) = value.setattr(name, text) {
            return failed;
        }
    }
    if let Err(failed) = value.setattr("unserved", error.unserved) {
        return failed;
    }
    raised
}

/// Runs `work`, turning a panic into an `InternalError`.
fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("unknown");
        InternalError::new_err(format!("defect in the engine, please report it with the spec: {text}"))
    })
}

fn read(py: Python<'_>, text: &str, own: Option<&[Py<OwnScheme>]>) -> PyResult<Spec> {
    read_by(py, text, own, spec::resolve_with)
}

/// Applies `by` to a spec.
fn read_by<T>(
    py: Python<'_>,
    text: &str,
    own: Option<&[Py<OwnScheme>]>,
    by: fn(&Value, &[Entry]) -> Result<T, spec::SpecError>,
) -> PyResult<T> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("the spec is not JSON: {error}")))?;
    let guests: Vec<Entry> = own.into_iter().flatten().map(|scheme| scheme.get().entry).collect();
    drop(failure::take());
    let resolved = guarded(|| by(&value, &guests))?;
    match failure::take() {
        Some(failure) => Err(scheme_error(py, failure)),
        None => resolved.map_err(|error| spec_error(py, &error)),
    }
}

/// An exception in a scheme of Python, with where and when; Ctrl-C is itself.
fn scheme_error(py: Python<'_>, failure: InScheme) -> PyErr {
    if failure.error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return failure.error;
    }
    let InScheme { error, place, hook, now_ps, flow } = failure;
    let raised = SchemeError::new_err(format!("{hook} failed {place}: {error}"));
    let value = raised.value(py);
    let told = value
        .setattr("hook", hook)
        .and_then(|()| value.setattr("now_ps", now_ps))
        .and_then(|()| value.setattr("flow", flow));
    raised.set_cause(py, Some(error));
    told.map_or_else(|failed| failed, |()| raised)
}

/// The spec with all defaults, as JSON. `own` are schemes written in Python that it may name.
#[pyfunction]
#[pyo3(signature = (spec_json, own=None))]
fn resolve(py: Python<'_>, spec_json: &str, own: Option<Vec<Py<OwnScheme>>>) -> PyResult<String> {
    Ok(read(py, spec_json, own.as_deref())?.resolved.to_string())
}

/// Returns the values that "auto" resolved to in a spec, and how, as JSON: a list of tables with `key`, `value` and
/// `how`.
#[pyfunction]
#[pyo3(signature = (spec_json, own=None))]
fn worked_out(py: Python<'_>, spec_json: &str, own: Option<Vec<Py<OwnScheme>>>) -> PyResult<String> {
    let autos = read_by(py, spec_json, own.as_deref(), spec::worked_out)?;
    Ok(Value::from_iter(autos.iter().map(spec::Auto::json)).to_string())
}

/// The fabric of a spec as it is built, with the schedule of its faults, as JSON.
#[pyfunction]
fn topology(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    let spec = read(py, spec_json, None)?;
    let told = py.detach(|| guarded(|| spinewise_sim::drawing::drawing(&spec)))?;
    told.map(|told| told.to_string()).map_err(|error| spec_error(py, &error))
}

/// Runs a spec. `progress(simulated_ps, packet_hops, open_flows, flows)` is called about ten times a second.
///
/// `tuning` is JSON with any of `engine` ("windows" or "events"), `window_divisor`, `commit_at_start`, `all_hooks`,
/// `threads`, `threads_if_worth`: choices that must not change a result; and `memory` and `address_space`, the bytes that the
/// run may take. `flows` are traced, which takes a
/// second pass. `own` are schemes written in Python that the spec may name; a run of one keeps the interpreter, except for
/// moments.
#[pyfunction]
#[pyo3(signature = (spec_json, progress=None, tuning=None, flows=None, own=None))]
fn run<'py>(
    py: Python<'py>,
    spec_json: &str,
    progress: Option<Py<PyAny>>,
    tuning: Option<&str>,
    flows: Option<Vec<u32>>,
    own: Option<Vec<Py<OwnScheme>>>,
) -> PyResult<Bound<'py, PyDict>> {
    let spec = read(py, spec_json, own.as_deref())?;
    let in_python = spec.scheme.chosen().entry().source.is_some();
    let told = read_told(tuning)?;
    let tuning = read_tuning(&told)?;
    let began = now();
    let mut looks = Looks::new(progress, &told, in_python);
    let mut work = || {
        guarded(|| {
            let mut watch = |at| looks.look(at);
            match &flows {
                None => simulate(&spec, tuning, &mut watch).map(|outcome| (outcome, None)),
                Some(flows) => {
                    trace::simulate(&spec, tuning, flows, &mut watch).map(|(outcome, trace)| (outcome, Some(trace)))
                }
            }
        })
    };
    let done = if in_python { work() } else { py.detach(&mut work) };
    if let Some(failure) = failure::take() {
        return Err(scheme_error(py, failure));
    }
    let done = done?;
    let wall = began.elapsed();
    match done {
        Ok((outcome, trace)) => pack(py, &outcome, trace.as_ref(), wall),
        Err(failure) => Err(looks.error(py, &failure)),
    }
}

/// Sets a run up, estimates its cost, and runs it for a few seconds to measure its speed.
#[pyfunction]
#[pyo3(signature = (spec_json, progress=None, tuning=None, seconds=0.3, own=None))]
fn validate(
    py: Python<'_>,
    spec_json: &str,
    progress: Option<Py<PyAny>>,
    tuning: Option<&str>,
    seconds: f64,
    own: Option<Vec<Py<OwnScheme>>>,
) -> PyResult<String> {
    let spec = read(py, spec_json, own.as_deref())?;
    let in_python = spec.scheme.chosen().entry().source.is_some();
    let told = read_told(tuning)?;
    let tuning = read_tuning(&told)?;
    let mut looks = Looks::new(progress, &told, in_python);
    let mut work =
        || guarded(|| first_moments(&spec, tuning, Duration::from_secs_f64(seconds.clamp(0.0, 60.0)), &mut looks));
    let done = if in_python { work() } else { py.detach(&mut work) };
    if let Some(failure) = failure::take() {
        return Err(scheme_error(py, failure));
    }
    done?.map(|told| told.to_string()).map_err(|failure| looks.error(py, &failure))
}

/// See [`validate`].
fn first_moments(spec: &Spec, tuning: Tuning, long: Duration, looks: &mut Looks) -> Result<Value, Failure> {
    let began = now();
    let Setup { net, start, loads } = Setup::build(spec, tuning, &Warden::new(&mut |at| looks.look(at)))?;
    let mut sim = Sim::new(&net, start);
    let set_up = began.elapsed();
    let estimate = Estimate::of(spec, &sim);
    let began = now();
    looks.deadline = Some(began + long);
    let ended = match sim.finish(spec, tuning, &mut |at| looks.look(at)) {
        Ok(_) => true,
        Err(Failure::Interrupted) if looks.timed_out => false,
        Err(failure) => return Err(failure),
    };
    let warnings: Vec<Value> = spec.warnings.iter().chain(&sim.warnings).map(Warning::json).collect();
    Ok(json!({
        "spec": spec.resolved,
        "warnings": warnings,
        "estimate": estimate.json(),
        "loads": loads.as_ref().map(|loads| loads.json(|leaf| net.topology.leaf_name(leaf))),
        "measured": {
            "setup_s": set_up.as_secs_f64(),
            "run_s": began.elapsed().as_secs_f64(),
            "packet_hops": sim.world.wires.hops,
            "simulated_ps": looks.at,
            "ended": ended,
        },
    }))
}

fn read_told(tuning: Option<&str>) -> PyResult<Value> {
    serde_json::from_str(tuning.unwrap_or("{}"))
        .map_err(|error| PyValueError::new_err(format!("the tuning is not JSON: {error}")))
}

fn read_tuning(value: &Value) -> PyResult<Tuning> {
    // The last one is read by `Looks`.
    const KNOWN: [&str; 8] = [
        "engine",
        "window_divisor",
        "commit_at_start",
        "all_hooks",
        "memory",
        "threads",
        "threads_if_worth",
        "address_space",
    ];
    let mut given = value.as_object().into_iter().flat_map(|given| given.keys());
    if let Some(key) = given.find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(PyValueError::new_err(format!("tuning: unknown key {key:?}")));
    }
    Ok(Tuning {
        engine: match value["engine"].as_str() {
            Some("windows") => Some(EngineKind::Windows),
            Some("events") => Some(EngineKind::Events),
            Some(other) => return Err(PyValueError::new_err(format!("tuning: unknown engine {other:?}"))),
            None => None,
        },
        window_divisor: value["window_divisor"].as_u64().unwrap_or(1),
        commit_at_start: value["commit_at_start"].as_bool().unwrap_or(false),
        all_hooks: value["all_hooks"].as_bool().unwrap_or(false),
        memory: value["memory"].as_u64(),
        threads: value["threads"].as_u64().map_or(1, |threads| usize::try_from(threads).unwrap_or(usize::MAX)),
        threads_if_worth: value["threads_if_worth"].as_bool().unwrap_or(true),
    })
}

fn pack<'py>(
    py: Python<'py>,
    outcome: &Outcome,
    trace: Option<&Trace>,
    wall: Duration,
) -> PyResult<Bound<'py, PyDict>> {
    let mut report = outcome.report.clone();
    report["version"] = json!(env!("CARGO_PKG_VERSION"));
    report["wall_seconds"] = json!(wall.as_secs_f64());
    let packed = PyDict::new(py);
    packed.set_item("flows", columns_of(py, FLOW_COLUMNS, &outcome.flows)?)?;
    packed.set_item("collectives", columns_of(py, COLLECTIVE_COLUMNS, &outcome.collectives)?)?;
    packed.set_item("series", columns_of(py, SERIES_COLUMNS, &outcome.series)?)?;
    packed.set_item("report", report.to_string())?;
    if let Some(packets) = &outcome.packets {
        packed.set_item("packets", pack_packets(py, packets)?)?;
    }
    if let Some(trace) = trace {
        packed.set_item("trace", pack_trace(py, trace)?)?;
    }
    Ok(packed)
}

/// Captured packets: `rows`, `blocks` and `offsets`, where those of each row begin; and `words` (JSON).
fn pack_packets<'py>(py: Python<'py>, packets: &Packets) -> PyResult<Bound<'py, PyDict>> {
    let packed = PyDict::new(py);
    packed.set_item("rows", columns_of(py, PACKET_COLUMNS, &packets.rows)?)?;
    packed.set_item("blocks", columns_of(py, BLOCK_COLUMNS, &packets.blocks)?)?;
    packed.set_item("offsets", PyBytes::new(py, &bytes(&Values::U32(packets.offsets.clone()))))?;
    packed.set_item("words", packets.words.to_string())?;
    Ok(packed)
}

/// A trace: `rows`, `hops` and `offsets`, where those of each row begin; `saw`, whose quantities `quantities` (JSON)
/// describes; `losses`; and `words` and `loss_words` (JSON).
fn pack_trace<'py>(py: Python<'py>, trace: &Trace) -> PyResult<Bound<'py, PyDict>> {
    let packed = PyDict::new(py);
    packed.set_item("rows", columns_of(py, CHOICE_COLUMNS, &trace.rows)?)?;
    packed.set_item("hops", columns_of(py, HOP_COLUMNS, &trace.hops)?)?;
    packed.set_item("offsets", PyBytes::new(py, &bytes(&Values::U32(trace.offsets.clone()))))?;
    let saw = PyDict::new(py);
    for quantity in &trace.saw {
        saw.set_item(&quantity.name, PyBytes::new(py, &bytes(&Values::F64(quantity.values.clone()))))?;
    }
    packed.set_item("saw", saw)?;
    let quantities: Vec<Value> =
        trace.saw.iter().map(|q| json!({ "name": q.name, "unit": q.unit, "meaning": q.meaning, "of": q.of })).collect();
    packed.set_item("quantities", Value::from(quantities).to_string())?;
    packed.set_item("words", trace.words.to_string())?;
    packed.set_item("losses", columns_of(py, LOSS_COLUMNS, &trace.losses)?)?;
    packed.set_item("loss_words", trace.loss_words.to_string())?;
    Ok(packed)
}

fn columns_of<'py>(py: Python<'py>, columns: &[Column], values: &[Values]) -> PyResult<Bound<'py, PyDict>> {
    let packed = PyDict::new(py);
    for (column, values) in columns.iter().zip(values) {
        packed.set_item(column.name, (column.dtype, PyBytes::new(py, &bytes(values))))?;
    }
    Ok(packed)
}

/// Little-endian bytes.
fn bytes(values: &Values) -> Vec<u8> {
    match values {
        Values::U8(v) => v.clone(),
        Values::U16(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Values::U32(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Values::U64(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Values::F64(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
    }
}

/// Schemes, topologies, workloads, transports, presets and all keys of a spec, as JSON.
#[pyfunction]
fn registry() -> PyResult<String> {
    guarded(|| spec::describe().to_string())
}

/// The columns of `flows`, `collectives`, `series`, of a trace (`choices`, `hops` with a list a row, `losses`) and of captured
/// packets (`packets`, and `blocks` with a list a row), as JSON.
#[pyfunction]
fn columns() -> String {
    let show = |columns: &[Column]| -> Vec<Value> {
        columns
            .iter()
            .map(|c| json!({ "name": c.name, "dtype": c.dtype, "unit": c.unit, "meaning": c.meaning }))
            .collect()
    };
    let series =
        spinewise_sim::log::SERIES.iter().map(|(_, name, meaning)| json!({ "name": name, "meaning": meaning }));
    json!({
        "flows": show(FLOW_COLUMNS),
        "collectives": show(COLLECTIVE_COLUMNS),
        "series": show(SERIES_COLUMNS),
        "series_names": series.collect::<Vec<_>>(),
        "choices": show(CHOICE_COLUMNS),
        "hops": show(HOP_COLUMNS),
        "losses": show(LOSS_COLUMNS),
        "packets": show(PACKET_COLUMNS),
        "blocks": show(BLOCK_COLUMNS),
    })
    .to_string()
}

/// Runs the bench. `options` is JSON with any of `only` (part of a case's name), `rounds` and `share` of the full length.
#[pyfunction(name = "bench")]
#[pyo3(signature = (options="{}"))]
fn run_bench(py: Python<'_>, options: &str) -> PyResult<String> {
    let options: Value = serde_json::from_str(options)
        .map_err(|error| PyValueError::new_err(format!("the options are not JSON: {error}")))?;
    let only = options["only"].as_str().unwrap_or("");
    let rounds = options["rounds"].as_u64().unwrap_or(5).clamp(1, 100) as u32;
    let share = options["share"].as_f64().unwrap_or(1.0).clamp(0.001, 100.0);
    py.detach(|| guarded(|| spinewise_sim::bench::run(only, rounds, share).to_string()))
}

/// The engine of Spinewise, seen from Python.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SpecError", module.py().get_type::<SpecError>())?;
    module.add("SchemeError", module.py().get_type::<SchemeError>())?;
    module.add("InternalError", module.py().get_type::<InternalError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ENGINE_DIGEST", env!("SPINEWISE_ENGINE_DIGEST"))?;
    own::register(module)?;
    module.add_function(wrap_pyfunction!(resolve, module)?)?;
    module.add_function(wrap_pyfunction!(worked_out, module)?)?;
    module.add_function(wrap_pyfunction!(topology, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(validate, module)?)?;
    module.add_function(wrap_pyfunction!(registry, module)?)?;
    module.add_function(wrap_pyfunction!(places::toml_lines, module)?)?;
    module.add_function(wrap_pyfunction!(columns, module)?)?;
    module.add_function(wrap_pyfunction!(run_bench, module)?)?;
    Ok(())
}
