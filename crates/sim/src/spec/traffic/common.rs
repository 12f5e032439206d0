//! The keys common to every entry of the traffic, whatever its kind: declared once.

use serde_json::{Map, Value};

use super::KINDS;
use crate::keys::{Default, Kind, Reader, SpecError, is_printable, keys};
use crate::spec::carrier::Carriers;
use crate::spec::metrics::{SizeClass, read_classes};

/// Longest name of an entry: it heads columns of tables.
const LONGEST_NAME: usize = 40;
const NAME: &str = "a name of 1 to 40 printable characters that no other entry has, not \"all\"";

/// The kind of the key `priority`: the eight of PFC (IEEE 802.1Qbb) but one, which is left to control.
const PRIORITY: Kind = Kind::Integer { min: 0, max: 6 };

/// The kind of the key `subflows`.
const SUBFLOWS: Kind = Kind::Integer { min: 1, max: 64 };

keys! {
    /// Keys of every `[[traffic]]` table.
    EntryKeys {
        /// What is sent. Each kind has its own keys, listed below.
        kind: String, Kind::Words(&KINDS), Default::Required;
        /// Name of the entry in tables, figures and results.
        name: Option<String>, Kind::Text(NAME),
            Default::Nothing("the kind; if another entry has that kind or name, the kind and the entry's place: poisson-0");
        /// Priority of the data in switches with several data queues.
        priority: u32, PRIORITY, Default::Number(0.0);
    }
}

keys! {
    /// Keys of every `[[traffic]]` table whose flows the transport carries.
    CarriedKeys {
        /// Subflows of each of these connections, at most transport.subflows (MPTCP).
        subflows: Option<u32>, SUBFLOWS, Default::Nothing("transport.subflows");
        /// The transport of these flows, with the keys of [transport], where it is not the run's: DCTCP beside CUBIC, or TCP
        /// beside RDMA.
        transport: Option<Map<String, Value>>, Kind::Table("a table with keys of [transport]"),
            Default::Nothing("[transport]");
        /// Classes of flow size that are summarized for this entry, in addition to all of its flows together.
        size_classes: Option<Vec<Value>>, Kind::List("a list of tables with name, from_bytes and below_bytes"),
            Default::Nothing("metrics.size_classes");
    }
}

/// The keys of an entry, whatever its kind.
#[derive(Debug, Default)]
pub(super) struct Common {
    /// Priority of its data.
    pub priority: u8,
    /// Subflows of its connections, if not as many as the transport has.
    pub subflows: Option<u8>,
    /// Its own size classes.
    pub size_classes: Option<Vec<SizeClass>>,
    /// The place of its transport.
    pub carrier: u8,
}

/// Reads the keys of every entry, and checks its name: `names` are those of all entries, this one is `number`.
pub(super) fn read(reader: &mut Reader<'_>, names: &[Named], number: usize) -> Result<Common, SpecError> {
    let keys = EntryKeys::read(reader)?;
    debug_assert_eq!(keys.kind, names[number].kind);
    if let Some(name) = &keys.name {
        let fine = name.chars().count() <= LONGEST_NAME && name.chars().all(is_printable) && name.trim() == name;
        if !fine || name == "all" {
            return Err(reader.refuse("name", NAME));
        }
        let rival = |&other: &usize| other != number && names[other].name == *name;
        let blamed = |&other: &usize| other < number || !names[other].given;
        if let Some(other) = (0..names.len()).filter(rival).find(blamed) {
            return Err(reader.refuse("name", NAME).hint(format!("traffic[{other}] has that name")));
        }
    }
    reader.set_resolved("name", names[number].name.as_str().into());
    Ok(Common { priority: keys.priority as u8, ..Common::default() })
}

/// Reads the keys of every entry whose flows the transport carries.
pub(super) fn read_carried(
    reader: &mut Reader<'_>,
    carriers: &mut Carriers<'_>,
    common: &mut Common,
) -> Result<(), SpecError> {
    let keys = CarriedKeys::read(reader)?;
    if let Some(given) = &keys.transport {
        let (carrier, told) = carriers.read(given, &reader.path_of("transport"))?;
        reader.set_resolved("transport", told);
        common.carrier = carrier;
    }
    let most = carriers.get(common.carrier).sheet().most_subflows;
    if keys.subflows.is_some_and(|given| given > most) {
        return Err(reader.refuse("subflows", format!("from 1 to {most} (transport.subflows)")));
    }
    common.subflows = keys.subflows.map(|given| given as u8);
    if let Some(list) = keys.size_classes {
        let (classes, told) = read_classes(&reader.path_of("size_classes"), &list)?;
        reader.set_resolved("size_classes", told);
        common.size_classes = Some(classes);
    }
    Ok(())
}

/// The name of an entry.
#[derive(Debug)]
pub(super) struct Named {
    /// Its kind, as it was given.
    kind: String,
    /// Its name.
    pub name: String,
    /// Whether the spec gives it.
    given: bool,
}

/// The names of all entries. Mistakes in them are found as each is read.
pub(super) fn names(list: &[Value]) -> Vec<Named> {
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let told: Vec<_> =
        list.iter().map(|entry| (text(entry, "kind").unwrap_or_default(), text(entry, "name"))).collect();
    let name = |(number, (kind, given)): (usize, &(String, Option<String>))| {
        let mut others = told.iter().enumerate().filter(|&(other, _)| other != number).map(|(_, told)| told);
        let is_taken = others.any(|(known, name)| known == kind || name.as_ref() == Some(kind));
        let default = || if is_taken { format!("{kind}-{number}") } else { kind.clone() };
        Named { kind: kind.clone(), name: given.clone().unwrap_or_else(default), given: given.is_some() }
    };
    told.iter().enumerate().map(name).collect()
}
