//! `[[fault]]`: faults during a run.

use serde_json::{Value, json};
use spinewise_policy::{Span, Time};
use std::collections::BTreeSet;

use super::detection::Detection;
use super::switch::SwitchSpec;
use crate::keys::{Default, Kind, Reader, SpecError, Unit, Zero, keys, words};
use crate::topology::{Names, Topology, TopologySpec};

const MICROSECONDS: Kind = Kind::Time(Unit::Microseconds, Zero::Refused);
const INSTANT: Kind = Kind::Time(Unit::Microseconds, Zero::Allowed);
const ENDS: &str = "the names of two nodes that are linked, such as [\"leaf0\", \"spine3\"]";
const PAIRS: &str = "a list of pairs of a source and a destination, numbers of hosts, such as [[0, 5], [5, 0]]";

keys! {
    /// An entry of `[[fault]]`.
    FaultKeys {
        /// What happens: down (nothing gets through), flap (down again and again), loss (each packet is lost with a
        /// probability), black_hole (packets of some pairs of hosts are lost), rate (a lower one), delay (a longer one).
        kind: FaultKind, Kind::Words(FaultKind::WORDS), Default::Required;
        /// The two ends of a link, by their names in reports.
        ends: Option<Vec<Value>>, Kind::List(ENDS), Default::Nothing("none: a switch fails");
        /// Which of the parallel links, from 0.
        link: Option<u32>, Kind::Integer { min: 0, max: 65_535 }, Default::Nothing("all of them");
        /// Instead of ends, a switch by its name: all of its links, in both directions.
        switch: Option<String>, Kind::Text("the name of a switch, such as \"spine3\""),
            Default::Nothing("none: a link fails");
        /// For a link: both directions, from the first of ends to the second, or back.
        direction: Way, Kind::Words(Way::WORDS), Default::Word("both");
        /// When it starts.
        at_us: Span, INSTANT, Default::Required;
        /// When it ends.
        until_us: Option<Span>, INSTANT, Default::Nothing("for good");
        /// For flap: from the start of one outage to the start of the next.
        period_us: Option<Span>, MICROSECONDS, Default::Nothing("only with flap, which needs it");
        /// For flap: the length of each outage, with which each period begins.
        down_us: Option<Span>, MICROSECONDS, Default::Nothing("only with flap, which needs it");
        /// For loss: the probability that a packet is lost, independently of others.
        probability: Option<f64>, Kind::Positive { max: 1.0 }, Default::Nothing("only with loss, which needs it");
        /// For black_hole: the share of all pairs of a source and a destination that it swallows, chosen by hash.
        fraction: Option<f64>, Kind::Positive { max: 1.0 }, Default::Nothing("only with black_hole, unless pairs is \
                                                                              given");
        /// For black_hole: the pairs that it swallows, by numbers of hosts.
        pairs: Option<Vec<Value>>, Kind::List(PAIRS), Default::Nothing("only with black_hole, unless fraction is \
                                                                        given");
        /// For rate: the reduced rate.
        rate_gbps: Option<u64>, Kind::Rate(Zero::Refused), Default::Nothing("only with rate, which needs it");
        /// For delay: what is added to the link's own delay.
        added_us: Option<Span>, MICROSECONDS, Default::Nothing("only with delay, which needs it");
        /// May it cut hosts off from each other permanently, so that flows between them never finish?
        may_cut_off: bool, Kind::Bool, Default::Bool(false);
    }
}

words! {
    /// The kind of a fault.
    FaultKind {
        /// Nothing gets through.
        Down = "down",
        /// It goes down again and again.
        Flap = "flap",
        /// Each packet is lost with a probability.
        Loss = "loss",
        /// Packets of some pairs of hosts are lost.
        BlackHole = "black_hole",
        /// The rate is lower.
        Rate = "rate",
        /// The delay is longer.
        Delay = "delay",
    }
}

words! {
    /// The direction.
    Way {
        /// Both.
        Both = "both",
        /// First end to second end.
        Forward = "forward",
        /// Second end to first end.
        Backward = "backward",
    }
}

/// The failing part.
#[derive(Clone, Debug, PartialEq)]
pub enum Broken {
    /// The link between these, or one of parallel ones.
    Link([String; 2], Option<u32>),
    /// All links of a switch.
    Switch(String),
}

/// Pairs of a source and a destination that a black hole swallows.
#[derive(Clone, Debug, PartialEq)]
pub enum Pairs {
    /// This share, chosen by hash.
    Share(f64),
    /// These.
    Listed(BTreeSet<(u32, u32)>),
}

/// The effect on it.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Nothing gets through.
    Down,
    /// How long nothing gets through at the start of each period.
    Flap {
        /// Time from one outage to the next.
        period: Span,
        /// Length of each.
        down: Span,
    },
    /// Each packet is lost with this probability.
    Loss(f64),
    /// Packets of these pairs of hosts are lost.
    BlackHole(Pairs),
    /// The remaining bits per second.
    Rate(u64),
    /// Addition to the delay.
    Delay(Span),
}

impl Effect {
    /// Whether nothing gets through while it lasts.
    pub fn takes_down(&self) -> bool {
        matches!(self, Effect::Down | Effect::Flap { .. })
    }
}

/// A fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The failing part.
    pub broken: Broken,
    /// The direction.
    pub way: Way,
    /// The effect on it.
    pub effect: Effect,
    /// When it starts.
    pub from: Time,
    /// When it ends; [`Time::NEVER`] if it is permanent.
    pub until: Time,
    /// Whether it may cut hosts off permanently.
    pub may_cut_off: bool,
}

/// The faults, and how they are found.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultSpec {
    /// The faults, in the order of the spec.
    pub faults: Vec<Fault>,
    /// The rules of detection.
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
        let keys = FaultKeys::read(&mut reader).map_err(|error| match (table.get("kind"), table.get("link")) {
            (Some(kind), _) if kind == "up" => error.hint("what goes down comes up at its until_us"),
            (_, Some(Value::String(_))) if error.key.ends_with(".link") => error
                .hint("ends = [\"leaf0\", \"spine1\"] names a link; this is the number of one of several between them"),
            _ => error,
        })?;
        let fault = fault(&keys, &reader)?;
        faults.push(fault);
        told.push(reader.finish());
    }
    check_pauses(&faults, topology, switch)?;
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
        may_cut_off: keys.may_cut_off,
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
                return Err(reader.refuse("link", "nothing, because with switch all of its links fail"));
            }
            if keys.direction != Way::Both {
                return Err(reader.refuse("direction", "\"both\", because a switch fails in both directions"));
            }
            Ok(Broken::Switch(name.clone()))
        }
        (None, None) => Err(SpecError::missing(reader.path_of("ends"), format!("{ENDS}, or instead switch"))),
        (Some(_), Some(_)) => Err(reader.refuse("switch", "either ends or switch, not both")),
    }
}

fn effect(keys: &FaultKeys, reader: &Reader<'_>) -> Result<Effect, SpecError> {
    use FaultKind::{BlackHole, Delay, Flap, Loss, Rate};
    let kind = keys.kind.word();
    let own = [
        ("period_us", Flap),
        ("down_us", Flap),
        ("probability", Loss),
        ("fraction", BlackHole),
        ("pairs", BlackHole),
        ("rate_gbps", Rate),
        ("added_us", Delay),
    ];
    for (name, of) in own.into_iter().filter(|&(_, of)| keys.kind != of) {
        if reader.given(name).is_some() {
            return Err(reader.refuse(name, format!("nothing with kind \"{kind}\"; it is for \"{}\"", of.word())));
        }
    }
    let missing = |name| SpecError::missing(reader.path_of(name), format!("a value, because kind is \"{kind}\""));
    Ok(match keys.kind {
        FaultKind::Down => Effect::Down,
        Flap => {
            let period = keys.period_us.ok_or_else(|| missing("period_us"))?;
            let down = keys.down_us.ok_or_else(|| missing("down_us"))?;
            if down >= period {
                return Err(reader.refuse("down_us", "less than period_us: the link is up between two outages"));
            }
            Effect::Flap { period, down }
        }
        Loss => Effect::Loss(keys.probability.ok_or_else(|| missing("probability"))?),
        BlackHole => Effect::BlackHole(pairs(keys, reader)?),
        Rate => Effect::Rate(keys.rate_gbps.ok_or_else(|| missing("rate_gbps"))?),
        Delay => Effect::Delay(keys.added_us.ok_or_else(|| missing("added_us"))?),
    })
}

fn pairs(keys: &FaultKeys, reader: &Reader<'_>) -> Result<Pairs, SpecError> {
    match (keys.fraction, &keys.pairs) {
        (Some(share), None) => Ok(Pairs::Share(share)),
        (None, Some(listed)) => {
            let number = |value: &Value| value.as_u64().and_then(|n| u32::try_from(n).ok());
            let pair = |value: &Value| match value.as_array()?.as_slice() {
                [src, dst] => Some((number(src)?, number(dst)?)),
                _ => None,
            };
            let pairs: Option<BTreeSet<(u32, u32)>> = listed.iter().map(pair).collect();
            pairs.filter(|pairs| !pairs.is_empty()).map(Pairs::Listed).ok_or_else(|| reader.refuse("pairs", PAIRS))
        }
        (None, None) => {
            Err(SpecError::missing(reader.path_of("fraction"), "a share of the pairs of hosts, or instead pairs"))
        }
        (Some(_), Some(_)) => Err(reader.refuse("pairs", "either fraction or pairs, not both")),
    }
}

/// Checks that pauses end by themselves, where a fault may lose the frame that ends one. Names of nodes are checked
/// first.
fn check_pauses(faults: &[Fault], topology: &TopologySpec, switch: &SwitchSpec) -> Result<(), SpecError> {
    let SwitchSpec::SharedBuffer(shared) = switch else { return Ok(()) };
    if faults.is_empty() || !shared.pfc || shared.pause > Span::ZERO {
        return Ok(());
    }
    let fabric = Topology::unrouted(topology)?;
    let names = Names::of(&fabric);
    for (n, fault) in faults.iter().enumerate() {
        let (key, nodes) = match &fault.broken {
            Broken::Link(ends, _) => ("ends", ends.as_slice()),
            Broken::Switch(name) => ("switch", std::slice::from_ref(name)),
        };
        nodes.iter().try_for_each(|name| names.find(|| format!("fault[{n}].{key}"), name).map(drop))?;
    }
    let hint = "set switch.pause_us = 5, as in the preset conweave-ns3: such a pause is renewed while it is needed. A \
                fault may lose the frame that ends a pause, and a pause of 0 has no other end";
    Err(SpecError::new("switch.pause_us", &json!(0), "above 0 with faults and switch.pfc = true").hint(hint))
}
