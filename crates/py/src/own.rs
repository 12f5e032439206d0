//! Schemes written in Python: a class that follows the contract of `spinewise-policy`, called hook by hook.
//!
//! | file | contents |
//! |---|---|
//! | `own.rs` | the class as an entry of the engine's list of schemes, and as a spec has chosen it |
//! | `own/hooks.rs` | its hooks, called |
//! | `own/lent.rs` | the context that a hook is lent, within reach while it runs |
//! | `own/handles.rs` | the objects through which Python looks at that, lent again and again |
//! | `own/views.rs`, `packet.rs`, `wishes.rs`, `rows.rs` | that, as Python sees it |
//! | `own/failure.rs` | an exception in a hook, kept until the engine looks |

mod extent;
pub(crate) mod failure;
mod handles;
mod hooks;
mod lent;
mod packet;
mod rows;
mod views;
mod wishes;

use hooks::Instance;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use serde_json::Value as Json;
use spinewise_policy::config::{Allowed, Param, Refused, Value, is_allowed};
use spinewise_policy::sees::series;
use spinewise_policy::{Hashes, Hooks, Layout, Peers, Phase, Shape, Sheet, Span};
use spinewise_sim::bank::{Bank, Called, Choice, Chosen, Entry, Given, Hosted, Misfit, Places, Source};
use std::sync::Arc;

/// A class of Python, as the engine lists it. It lives as long as the process: a class is made once, and run often.
#[pyclass(frozen, module = "spinewise._core")]
pub struct OwnScheme {
    pub entry: Entry,
}

#[pymethods]
impl OwnScheme {
    /// Wraps a class, with the facts that `spinewise.own` has found about it (JSON).
    #[new]
    fn new(class: &Bound<'_, PyType>, facts: &str) -> PyResult<OwnScheme> {
        let facts: Json = serde_json::from_str(facts).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(OwnScheme { entry: Box::leak(Box::new(Class::new(class, &facts))).entry() })
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &'static str {
        self.entry.name()
    }
}

fn text(facts: &Json, key: &str) -> &'static str {
    String::leak(facts[key].as_str().unwrap_or_default().to_string())
}

fn list<T>(facts: &Json, key: &str, item: impl Fn(&Json) -> T) -> &'static [T] {
    Vec::leak(facts[key].as_array().into_iter().flatten().map(item).collect())
}

/// Facts of a class, which stay.
struct Class {
    class: Py<PyType>,
    sheet: Sheet,
    site: &'static str,
    params: &'static [Param],
    hooks: Hooks,
    header: bool,
    keeps_ways: bool,
    source: Source,
}

impl Class {
    fn new(class: &Bound<'_, PyType>, facts: &Json) -> Class {
        let words = |item: &Json| -> &'static str { String::leak(item.as_str().unwrap_or_default().to_string()) };
        let hook = |name: &Json| match name.as_str().unwrap_or_default() {
            "egress" => Hooks::EGRESS,
            "ingress" => Hooks::INGRESS,
            "feedback" => Hooks::FEEDBACK,
            "losses" => Hooks::LOSS,
            "message" => Hooks::MESSAGE,
            "timer" => Hooks::TIMER,
            "tick" => Hooks::TICK,
            "link" => Hooks::LINK,
            "drained" => Hooks::DRAINED,
            _ => Hooks::NONE,
        };
        let site = text(facts, "site");
        let of_site = if site == "host" { Sheet::AT_HOST } else { Sheet::AT_SWITCH };
        Class {
            class: class.clone().unbind(),
            sheet: Sheet {
                name: text(facts, "name"),
                summary: text(facts, "summary"),
                source: text(facts, "source"),
                unit: text(facts, "unit"),
                tiers: list(facts, "tiers", words),
                told: list(facts, "told", words),
                series: list(facts, "series", |pair| series(words(&pair[0]), words(&pair[1]))),
                three_tiers: Some(text(facts, "three_tiers"))
                    .filter(|told| !told.is_empty())
                    .unwrap_or(of_site.three_tiers),
                ..of_site
            },
            site,
            params: list(facts, "params", param),
            hooks: facts["hooks"].as_array().into_iter().flatten().map(hook).fold(Hooks::NONE, Hooks::and),
            header: facts["header"] == true,
            keeps_ways: facts["keeps_ways"] == true,
            source: Source { class: text(facts, "class"), file: text(facts, "file"), sha256: text(facts, "sha256") },
        }
    }

    fn entry(&'static self) -> Entry {
        Entry {
            sheet: &self.sheet,
            site: self.site,
            params: self.params,
            hooks: self.hooks,
            header: self.header,
            keeps_ways: self.keeps_ways,
            in_trees: false,
            hashes: Hashes::Nothing,
            source: Some(self.source),
            choose: Box::leak(Box::new(|given: &Given<'_>| self.choose(given))),
        }
    }

    fn choose(&'static self, given: &Given<'_>) -> Result<Chosen, Misfit> {
        let mut values: Vec<Value<'static>> = self.params.iter().map(|param| param.default).collect();
        for (place, &(name, value)) in given.iter().enumerate() {
            let Some(at) = self.params.iter().position(|param| param.name == name) else {
                return Err(Misfit::Param(place, Refused::Unknown));
            };
            let allowed = self.params[at].allowed;
            values[at] = kept(value, allowed).ok_or(Misfit::Param(place, Refused::NotAllowed(allowed)))?;
        }
        let of_class = OfClass { class: self, entry: self.entry(), values };
        // Made once to see that it can be.
        match Python::attach(|py| of_class.instance(py).map(drop)) {
            Ok(()) => Ok(Chosen::new(of_class)),
            Err(error) => {
                let why = error.to_string();
                failure::keep(failure::at_start(error, format!("{}.__init__", self.source.class)));
                Err(Misfit::Failed(why))
            }
        }
    }
}

/// A value that is allowed, to be kept: words are those of the list.
fn kept(value: Value<'_>, allowed: Allowed) -> Option<Value<'static>> {
    match value {
        _ if !is_allowed(value, allowed) => None,
        Value::Number(number) => Some(Value::Number(number)),
        Value::Bool(given) => Some(Value::Bool(given)),
        Value::Word(given) => match allowed {
            Allowed::Words(words) => words.iter().find(|word| **word == given).map(|word| Value::Word(word)),
            Allowed::Number { .. } | Allowed::Integer { .. } | Allowed::PowerOfTwo { .. } | Allowed::Bool => None,
        },
    }
}

/// A parameter as `spinewise.own` describes it.
fn param(facts: &Json) -> Param {
    let number = |key: &str| facts[key].as_f64().unwrap_or_default();
    let (min, max) = (number("min"), number("max"));
    let allowed = match facts["kind"].as_str() {
        Some("number") => Allowed::Number { min, max },
        Some("whole") => Allowed::Integer { min, max },
        Some("word") => {
            Allowed::Words(list(facts, "words", |word| &*String::leak(word.as_str().unwrap_or_default().to_string())))
        }
        _ => Allowed::Bool,
    };
    let default = match &facts["default"] {
        Json::Bool(given) => Value::Bool(*given),
        Json::String(word) => Value::Word(String::leak(word.clone())),
        number => Value::Number(number.as_f64().unwrap_or_default()),
    };
    Param { name: text(facts, "name"), doc: text(facts, "doc"), default, allowed, auto: None }
}

/// A class with its parameters set.
struct OfClass {
    class: &'static Class,
    entry: Entry,
    values: Vec<Value<'static>>,
}

impl OfClass {
    /// A new object of the class, with these parameters.
    fn instance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let values = PyDict::new(py);
        for (param, value) in self.class.params.iter().zip(&self.values) {
            match (value, param.allowed) {
                (Value::Number(number), Allowed::Integer { .. } | Allowed::PowerOfTwo { .. }) => {
                    values.set_item(param.name, *number as i64)?
                }
                (Value::Number(number), _) => values.set_item(param.name, number)?,
                (Value::Bool(given), _) => values.set_item(param.name, given)?,
                (Value::Word(word), _) => values.set_item(param.name, word)?,
            }
        }
        self.class.class.bind(py).call_method1("_made", (values,))
    }

    /// Returns the layout that its object gives a seat, and whether that has a period; the default, with the failure
    /// kept, if that fails.
    fn layout_of(&self, instance: &Bound<'_, PyAny>, shape: &Shape) -> (Layout, Period) {
        let asked = instance
            .call_method1("_layout", (tier(shape), shape.hosts, shape.leaves, shape.ports, shape.ways))
            .and_then(|layout| read_layout(&layout));
        asked.unwrap_or_else(|error| {
            failure::keep(failure::at_start(error, format!("{}.layout", self.class.source.class)));
            (Layout::default(), Period::Told)
        })
    }

    /// Returns the layouts that its object gives these seats.
    fn layouts_of(&self, instance: &Bound<'_, PyAny>, shapes: &[Shape]) -> Vec<(Shape, Layout)> {
        let told: Vec<_> = shapes.iter().map(|shape| (*shape, self.layout_of(instance, shape))).collect();
        if self.class.hooks.has(Hooks::TICK) && told.iter().all(|(_, (_, period))| *period == Period::Untold) {
            let error = PyValueError::new_err(
                "no layout gives a period for the method tick: allowed is Layout(tick=…) in picoseconds, such as \
                 sw.us(100), or 0 for never",
            );
            failure::keep(failure::at_start(error, format!("{}.layout", self.class.source.class)));
        }
        told.into_iter().map(|(shape, (layout, _))| (shape, layout)).collect()
    }
}

fn tier(shape: &Shape) -> &'static str {
    views::tier_name(shape.tier)
}

/// Whether a layout says when `tick` is called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Period {
    Told,
    Untold,
}

fn read_layout(layout: &Bound<'_, PyAny>) -> PyResult<(Layout, Period)> {
    let whole = |name: &str| layout.getattr(name)?.extract::<u64>();
    let flag = |name: &str| layout.getattr(name)?.extract::<bool>();
    let small = |name: &str| layout.getattr(name)?.extract::<u16>();
    let tick = layout.getattr("tick")?.extract::<Option<u64>>()?;
    let read = Layout {
        peers: match layout.getattr("peers")?.extract::<Option<String>>()?.as_deref() {
            Some("hosts") => Peers::Hosts,
            Some("leaves") => Peers::Leaves,
            _ => Peers::None,
        },
        all_peers: flag("all_peers")?,
        slots: small("slots")?,
        flow_idle: layout.getattr("flow_idle")?.extract::<Option<u64>>()?.map_or(Span::FOREVER, Span),
        tick: Span(tick.unwrap_or(0)),
        phase: if flag("random_phase")? { Phase::Random } else { Phase::Zero },
        actions: whole("actions")? as usize,
        bytes: whole("bytes")? as usize,
        queues: small("queues")?,
        free_queues: flag("free_queues")?,
        path_rates: flag("path_rates")?,
        components: flag("components")?,
        picks_acks: flag("picks_acks")?,
        draws_tags: flag("draws_tags")?,
    };
    Ok((read, if tick.is_some() { Period::Told } else { Period::Untold }))
}

impl Choice for OfClass {
    fn entry(&self) -> &Entry {
        &self.entry
    }

    fn values(&self) -> Vec<Value<'static>> {
        self.values.clone()
    }

    fn header_bytes(&self) -> u32 {
        if self.class.header { 16 } else { 0 }
    }

    fn layout(&self, shape: &Shape) -> Layout {
        Python::attach(|py| match self.instance(py) {
            Ok(instance) => self.layout_of(&instance, shape).0,
            Err(error) => {
                failure::keep(failure::at_start(error, format!("{}.__init__", self.class.source.class)));
                Layout::default()
            }
        })
    }

    fn seat(&self, places: &Places, seed: u64, called: Called) -> Bank {
        Python::attach(|py| {
            let made = self.instance(py).and_then(|object| {
                let layouts = self.layouts_of(&object, &places.shapes);
                Instance::new(&object, self, places, layouts)
            });
            let hosted: Arc<dyn spinewise_sim::bank::Elsewhere> = match made {
                Ok(instance) => Arc::new(instance),
                Err(error) => {
                    failure::keep(failure::at_start(error, format!("{}.__init__", self.class.source.class)));
                    Arc::new(hooks::Nobody)
                }
            };
            Hosted::seat(hosted, &self.class.sheet, places, seed, called)
        })
    }
}

/// Adds the types to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<OwnScheme>()?;
    module.add_class::<views::Cx>()?;
    module.add_class::<views::Peers>()?;
    module.add_class::<views::OfHost>()?;
    module.add_class::<views::OfSwitch>()?;
    module.add_class::<packet::InHand>()?;
    module.add_class::<packet::InBand>()?;
    module.add_class::<packet::Learnt>()?;
    module.add_class::<packet::Letter>()?;
    module.add_class::<wishes::Stream>()?;
    module.add_class::<wishes::Wishes>()
}
