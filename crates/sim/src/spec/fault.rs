//! `[[fault]]` and `[detection]`: what breaks during a run, and how it is found and repaired.

use serde_json::{Map, Value};
use spinewise_policy::{Span, Time};

use super::error::SpecError;
use super::key::{Default, Kind, Unit, Zero};
use super::reader::{Reader, keys, words};
use super::switch::SwitchSpec;
use super::topology::{TopologySpec, Wiring};

const MICROSECONDS: Kind = Kind::Time(Unit::Microseconds, Zero::Refused);
const INSTANT: Kind = Kind::Time(Unit::Microseconds, Zero::Allowed);
const ENDS: &str = "the names of two nodes that are linked, such as [\"leaf0\", \"spine3\"]";

keys! {
    /// An entry of `[[fault]]`.
    FaultKeys {
        /// What happens: down (nothing gets through), flap (down again and again), loss (each packet is lost with a
        /// probability).
        kind: FaultKind, Kind::Words(FaultKind::WORDS), Default::Required;
        /// The two ends of a link, by their names in reports.
        ends: Option<Vec<Value>>, Kind::List(ENDS), Default::Nothing("none: it is a switch that fails");
        /// Which of parallel links, from 0.
        link: Option<u32>, Kind::Integer { min: 0, max: 65_535 }, Default::Nothing("all of them");
        /// Instead of ends, a switch by its name: all its links, both ways.
        switch: Option<String>, Kind::Text("the name of a switch, such as \"spine3\""),
            Default::Nothing("none: it is a link that fails");
        /// Of a link: both ways, from the first of ends to the second, or back.
        direction: Way, Kind::Words(Way::WORDS), Default::Word("both");
        /// Since when.
        at_us: Span, INSTANT, Default::Required;
        /// Until when.
        until_us: Option<Span>, INSTANT, Default::Nothing("for good");
        /// Of flap: from one outage to the next.
        period_us: Option<Span>, MICROSECONDS, Default::Nothing("only with flap, which needs it");
        /// Of flap: the length of each outage, with which each period begins.
        down_us: Option<Span>, MICROSECONDS, Default::Nothing("only with flap, which needs it");
        /// Of loss: that of each packet by itself.
        probability: Option<f64>, Kind::Positive { max: 1.0 }, Default::Nothing("only with loss, which needs it");
    }
}

keys! {
    /// `[detection]`.
    DetectionKeys {
        /// How the two ends of a link learn that it is down or up again: by loss of carrier, at once and with all other
        /// switches (oracle), or not at all.
        mode: Mode, Kind::Words(Mode::WORDS), Default::Word("carrier");
        /// Loss of carrier, or its return, is believed when it has lasted for so long.
        carrier_us: Span, INSTANT, Default::Number(100.0);
        /// Do all switches compute routes anew? Without, switches only stop using their own ports that are down.
        reconverge: bool, Kind::Bool, Default::Bool(true);
        /// News is flooded: besides the delay of each link, it takes so long at each switch.
        flood_hop_us: Span, INSTANT, Default::Number(10.0);
        /// From hearing of a change to using routes computed anew.
        control_plane_us: Span, INSTANT, Default::Number(1000.0);
    }
}

words! {
    /// What happens.
    FaultKind {
        /// Nothing gets through.
        Down = "down",
        /// Down again and again.
        Flap = "flap",
        /// Each packet is lost with a probability.
        Loss = "loss",
    }
}

words! {
    /// Which way.
    Way {
        /// Both.
        Both = "both",
        /// From the first end to the second.
        Forward = "forward",
        /// From the second end to the first.
        Backward = "backward",
    }
}

words! {
    /// How changes are found.
    Mode {
        /// Loss of carrier at both ends, news flooded.
        Carrier = "carrier",
        /// All switches know at once.
        Oracle = "oracle",
        /// Nobody ever knows.
        Never = "never",
    }
}

/// What fails.
#[derive(Clone, Debug, PartialEq)]
pub enum Broken {
    /// The link between these, or one of parallel ones.
    Link([String; 2], Option<u32>),
    /// All links of a switch.
    Switch(String),
}

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// Nothing gets through.
    Down,
    /// In each period, for so long at its start, nothing gets through.
    Flap {
        /// From one outage to the next.
        period: Span,
        /// Length of each.
        down: Span,
    },
    /// Each packet is lost with this probability.
    Loss(f64),
}

/// A fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What fails.
    pub broken: Broken,
    /// Which way.
    pub way: Way,
    /// What happens to it.
    pub effect: Effect,
    /// Since when.
    pub from: Time,
    /// Until when; [`Time::NEVER`] for good.
    pub until: Time,
}

/// How changes are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detection {
    /// Who tells the ends.
    pub mode: Mode,
    /// A change is believed when it has lasted for so long.
    pub carrier: Span,
    /// Are routes computed anew?
    pub reconverge: bool,
    /// Each switch takes so long to pass news on.
    pub flood_hop: Span,
    /// From hearing of a change to using new routes.
    pub control_plane: Span,
}

/// What breaks, and how that is found.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultSpec {
    /// What breaks, in the order of the spec.
    pub faults: Vec<Fault>,
    /// How that is found.
    pub detection: Detection,
}

/// Reads `[[fault]]`.
pub(crate) fn read(
    given: &[Value],
    topology: &TopologySpec,
    switch: &SwitchSpec,
) -> Result<(Vec<Fault>, Value), SpecError> {
    let (mut faults, mut told) = (Vec::with_capacity(given.len()), Vec::with_capacity(given.len()));
    for (n, value) in given.iter().enumerate() {
        let path = format!("fault[{n}]");
        let table = value.as_object().ok_or_else(|| SpecError::new(&path, value, "a table of a fault"))?;
        let mut reader = Reader::new(&path, FaultKeys::KEYS, table)?;
        let keys = FaultKeys::read(&mut reader)?;
        let fault = fault(&keys, &reader)?;
        check_fits(&reader, topology, switch, &fault)?;
        faults.push(fault);
        told.push(reader.finish());
    }
    Ok((faults, Value::Array(told)))
}

fn fault(keys: &FaultKeys, reader: &Reader<'_>) -> Result<Fault, SpecError> {
    let until = keys.until_us.map_or(Time::NEVER, |until| Time(until.0));
    if until.0 <= keys.at_us.0 {
        return Err(reader.refuse("until_us", "later than at_us: nothing comes up before it goes down"));
    }
    Ok(Fault {
        broken: broken(keys, reader)?,
        way: keys.direction,
        effect: effect(keys, reader)?,
        from: Time(keys.at_us.0),
        until,
    })
}

fn broken(keys: &FaultKeys, reader: &Reader<'_>) -> Result<Broken, SpecError> {
    match (&keys.ends, &keys.switch) {
        (Some(ends), None) => {
            let names: Vec<&str> = ends.iter().filter_map(Value::as_str).collect();
            match names.as_slice() {
                &[a, b] if ends.len() == 2 => Ok(Broken::Link([a.into(), b.into()], keys.link)),
                _ => Err(reader.refuse("ends", ENDS)),
            }
        }
        (None, Some(name)) => {
            if keys.link.is_some() {
                return Err(reader.refuse("link", "nothing, as with switch all its links fail"));
            }
            if keys.direction != Way::Both {
                return Err(reader.refuse("direction", "\"both\", as a switch fails both ways"));
            }
            Ok(Broken::Switch(name.clone()))
        }
        (None, None) => Err(SpecError::missing(reader.path_of("ends"), format!("{ENDS}, or else switch"))),
        (Some(_), Some(_)) => Err(reader.refuse("switch", "either ends or switch, not both")),
    }
}

fn effect(keys: &FaultKeys, reader: &Reader<'_>) -> Result<Effect, SpecError> {
    let kind = keys.kind.word();
    let only = |name: &str, given: bool, of: FaultKind| {
        if given && keys.kind != of {
            return Err(reader.refuse(name, format!("nothing with kind \"{kind}\"; it is for \"{}\"", of.word())));
        }
        if !given && keys.kind == of {
            return Err(SpecError::missing(reader.path_of(name), format!("a value, as kind is \"{kind}\"")));
        }
        Ok(())
    };
    only("period_us", keys.period_us.is_some(), FaultKind::Flap)?;
    only("down_us", keys.down_us.is_some(), FaultKind::Flap)?;
    only("probability", keys.probability.is_some(), FaultKind::Loss)?;
    match (keys.kind, keys.period_us, keys.down_us, keys.probability) {
        (FaultKind::Flap, Some(period), Some(down), _) if down >= period => {
            Err(reader.refuse("down_us", "less than period_us: between two outages the link is up"))
        }
        (FaultKind::Flap, Some(period), Some(down), _) => Ok(Effect::Flap { period, down }),
        (FaultKind::Loss, _, _, Some(probability)) => Ok(Effect::Loss(probability)),
        _ => Ok(Effect::Down),
    }
}

/// Is it something this fabric can lose?
fn check_fits(
    reader: &Reader<'_>,
    topology: &TopologySpec,
    switch: &SwitchSpec,
    fault: &Fault,
) -> Result<(), SpecError> {
    if let SwitchSpec::SharedBuffer(shared) = switch
        && shared.pfc
        && shared.pause == Span::ZERO
    {
        let hint = "the frame that ends a pause may be lost, and the pause would have no end";
        return Err(reader.refuse("kind", "no faults with switch.pause_us = 0 and switch.pfc = true").hint(hint));
    }
    if matches!(topology.wiring, Wiring::Links(_)) && !matches!(fault.effect, Effect::Loss(_)) {
        let hint = "routes of a graph that are computed anew switch by switch can lead round in a circle";
        return Err(reader.refuse("kind", "\"loss\" with topology.kind = \"links\"").hint(hint));
    }
    Ok(())
}

/// Reads `[detection]`.
pub(crate) fn read_detection(given: &Map<String, Value>) -> Result<(Detection, Value), SpecError> {
    let mut reader = Reader::new("detection", DetectionKeys::KEYS, given)?;
    let keys = DetectionKeys::read(&mut reader)?;
    let detection = Detection {
        mode: keys.mode,
        carrier: keys.carrier_us,
        reconverge: keys.reconverge,
        flood_hop: keys.flood_hop_us,
        control_plane: keys.control_plane_us,
    };
    Ok((detection, reader.finish()))
}
