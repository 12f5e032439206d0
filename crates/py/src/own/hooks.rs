//! The hooks of one object of a class of Python, called.

use super::OfClass;
use super::extent::Extent;
use super::failure;
use super::handles::{Handles, Origin};
use super::lent::{Place, lend};
use super::rows::{self, Makers};
use super::wishes::told_key;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use spinewise_policy::{Change, Hooks, Layout, Queue, Shape, Verdict, Way};
use spinewise_sim::bank::{Answer, Elsewhere, Hook, Lent, Places, Room, Row, Tags};
use std::sync::{Arc, Mutex, PoisonError};

/// Bound methods, where the class has them.
#[derive(Default)]
struct Methods {
    pick: Option<Py<PyAny>>,
    egress: Option<Py<PyAny>>,
    ingress: Option<Py<PyAny>>,
    feedback: Option<Py<PyAny>>,
    message: Option<Py<PyAny>>,
    timer: Option<Py<PyAny>>,
    tick: Option<Py<PyAny>>,
    link: Option<Py<PyAny>>,
    drained: Option<Py<PyAny>>,
}

/// One object, and the values lent to its hooks.
pub(super) struct Instance {
    class: &'static str,
    writes_header: bool,
    methods: Methods,
    origin: Origin,
    /// One hook of a run is called at a time.
    handles: Mutex<Handles>,
    /// Layouts by the shapes of the run.
    layouts: Vec<(Shape, Layout)>,
}

impl Instance {
    /// Creates it for this object, seated at these places with these layouts.
    pub(super) fn new(
        object: &Bound<'_, PyAny>,
        chosen: &OfClass,
        places: &Places,
        layouts: Vec<(Shape, Layout)>,
    ) -> PyResult<Instance> {
        let py = object.py();
        let hooks = chosen.class.hooks;
        let method = |which: Hooks, name: &str| -> PyResult<Option<Py<PyAny>>> {
            if hooks.has(which) { object.getattr(name).map(|method| Some(method.unbind())) } else { Ok(None) }
        };
        let methods = Methods {
            pick: method(Hooks::NONE, "pick")?,
            egress: method(Hooks::EGRESS, "egress")?,
            ingress: method(Hooks::INGRESS, "ingress")?,
            feedback: method(Hooks::FEEDBACK, "feedback")?,
            message: method(Hooks::MESSAGE, "message")?,
            timer: method(Hooks::TIMER, "timer")?,
            tick: method(Hooks::TICK, "tick")?,
            link: method(Hooks::LINK, "link")?,
            drained: method(Hooks::DRAINED, "drained")?,
        };
        let origin = Origin {
            at_hosts: chosen.class.site == "host",
            header: chosen.class.header,
            series: chosen.class.sheet.series.len(),
            queues: layouts.iter().map(|(_, layout)| layout.queues).max().unwrap_or(0),
            hooks,
            tags: places.tags,
            extent: places.shapes.first().map_or_else(Extent::default, |s| Extent { hosts: s.hosts, leaves: s.leaves }),
            makers: Arc::new(Makers::of(&object.get_type())?),
        };
        Ok(Instance {
            class: chosen.class.source.class,
            writes_header: chosen.class.header,
            methods,
            handles: Mutex::new(Handles::new(py, &origin)?),
            origin,
            layouts,
        })
    }

    /// The method of a hook, and its name.
    fn method(&self, hook: &Hook<'_>) -> (Option<&Py<PyAny>>, &'static str) {
        let (method, name) = match hook {
            Hook::Pick(_) => (&self.methods.pick, "pick"),
            Hook::Egress(..) => (&self.methods.egress, "egress"),
            Hook::Ingress(_) => (&self.methods.ingress, "ingress"),
            Hook::Feedback(_) => (&self.methods.feedback, "feedback"),
            Hook::Message(_) => (&self.methods.message, "message"),
            Hook::Timer(_) => (&self.methods.timer, "timer"),
            Hook::Tick => (&self.methods.tick, "tick"),
            Hook::Link(..) => (&self.methods.link, "link"),
            Hook::Drained(..) => (&self.methods.drained, "drained"),
        };
        (method.as_ref(), name)
    }

    /// The row of the flow that a hook is about. Made before anything is within reach: a row's initial state depends on
    /// nothing else.
    fn row(&self, py: Python<'_>, flow: Option<&mut Row>, hook: &Hook<'_>) -> PyResult<Py<PyAny>> {
        match hook {
            Hook::Tick | Hook::Link(..) | Hook::Egress(..) => Ok(py.None()),
            _ => rows::of_flow(py, flow, self.origin.makers.flow.as_ref()),
        }
    }

    /// Calls the method of a hook.
    fn ask<'py>(
        &self,
        py: Python<'py>,
        method: &Py<PyAny>,
        flow: Py<PyAny>,
        hook: &Hook<'_>,
        place: &mut dyn Place,
    ) -> PyResult<Bound<'py, PyAny>> {
        let method = method.bind(py);
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let Handles { cx, packet, header, feedback, message, .. } = &*handles;
        let answer = lend(place, || match *hook {
            Hook::Pick(_) | Hook::Ingress(_) => method.call1((cx, flow, packet, header)),
            Hook::Egress(port, _) => method.call1((cx, port.0, packet, header)),
            Hook::Feedback(_) => method.call1((cx, flow, feedback)),
            Hook::Message(_) => method.call1((cx, flow, message)),
            Hook::Timer(key) => method.call1((cx, flow, told_key(py, key)?)),
            Hook::Tick => method.call1((cx,)),
            Hook::Link(port, change) => method.call1((cx, port.0, change_name(change))),
            Hook::Drained(port, queue) => method.call1((cx, flow, port.0, queue.0)),
        });
        handles.take_back(py, &self.origin)?;
        answer
    }
}

const fn change_name(change: Change) -> &'static str {
    match change {
        Change::Up => "up",
        Change::Down => "down",
        Change::Degraded => "degraded",
    }
}

/// The way that `pick` returned, of a packet to host `dst`.
fn way(answer: &Bound<'_, PyAny>, room: &Room<'_>, dst: u32, tags: Tags) -> PyResult<Way> {
    let (at_host, many) = match room {
        Room::Switch(view) => (false, view.candidates.len()),
        // Without a path any tag will do.
        Room::Host(view) if tags == Tags::Explicit => (true, usize::from(view.ways_to_host(dst).max(1))),
        Room::Host(_) => (true, usize::from(Way::ANY.0)),
    };
    if answer.is_none() && at_host {
        return Ok(Way::ANY);
    }
    let refused = |allowed: String| {
        let given = answer.repr().map_or_else(|_| "?".into(), |text| text.to_string());
        PyValueError::new_err(format!("pick returned {given}: allowed is {allowed}"))
    };
    let last = many.saturating_sub(1);
    match answer.extract::<u16>().map(Way) {
        Ok(Way::ANY) if at_host => Ok(Way::ANY),
        Ok(way) if usize::from(way.0) < many => Ok(way),
        _ if !at_host => Err(refused(format!("a place in cx.view.candidates, from 0 to {last}"))),
        _ if tags == Tags::Explicit => Err(refused(format!(
            "the number of a path, from 0 to {last} (cx.view.ways_to_host({dst}) is {many}), or None to leave it to the \
             fabric"
        ))),
        _ => Err(refused(format!("a path tag from 0 to {last}, or None to leave it to the fabric"))),
    }
}

/// The verdict that `ingress` returned: None, "consume", or the number of a held queue of the port.
fn verdict(answer: &Bound<'_, PyAny>, room: &Room<'_>, queues: u16) -> PyResult<Verdict> {
    if answer.is_none() {
        return Ok(Verdict::Forward);
    }
    if let Ok(queue) = answer.extract::<u16>()
        && matches!(room, Room::Switch(_))
        && queue < queues
    {
        return Ok(Verdict::Hold(Queue(queue)));
    }
    if answer.extract::<String>().is_ok_and(|word| word == "consume") {
        return Ok(Verdict::Consume);
    }
    Err(PyTypeError::new_err(format!(
        "ingress returned {answer}: allowed is None (carry on), \"consume\", or at a switch the number of a held queue, \
         of which Layout(queues={queues}) has that many"
    )))
}

impl Elsewhere for Instance {
    fn hooks(&self) -> Hooks {
        self.origin.hooks
    }

    fn writes_header(&self) -> bool {
        self.writes_header
    }

    fn layout(&self, shape: &Shape) -> Layout {
        let same = |known: &&(Shape, Layout)| known.0.tier == shape.tier && known.0.ports == shape.ports;
        self.layouts.iter().find(same).map_or_else(Layout::default, |known| known.1)
    }

    fn call(&self, mut lent: Lent<'_, '_>) -> Answer {
        let hook = lent.hook;
        let (Some(method), name) = self.method(&hook) else { return Answer::Nothing };
        if failure::has_failed() {
            return Answer::Nothing;
        }
        let flow = lent.flow.take();
        Python::attach(|py| {
            let fail = |error, name: &str, lent: &Lent<'_, '_>| {
                failure::keep(failure::in_hook(error, format!("{}.{name}", self.class), lent));
                Answer::Nothing
            };
            let flow = match self.row(py, flow, &hook) {
                Ok(flow) => flow,
                Err(error) => return fail(error, "Flow", &lent),
            };
            let answer = self.ask(py, method, flow, &hook, &mut lent).and_then(|answer| match hook {
                Hook::Pick(packet) => way(&answer, lent.room(), packet.dst, self.origin.tags).map(Answer::Way),
                Hook::Ingress(_) => verdict(&answer, lent.room(), self.origin.queues).map(Answer::Verdict),
                _ => Ok(Answer::Nothing),
            });
            answer.unwrap_or_else(|error| fail(error, name, &lent))
        })
    }
}

/// A stand-in for an object that could not be made.
pub(super) struct Nobody;

impl Elsewhere for Nobody {
    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }
    fn writes_header(&self) -> bool {
        false
    }
    fn layout(&self, _: &Shape) -> Layout {
        Layout::default()
    }
    fn call(&self, _: Lent<'_, '_>) -> Answer {
        Answer::Nothing
    }
}
