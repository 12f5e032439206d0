//! `[scheme]`: the load-balancing scheme, and its parameters. The choices come from the registry.
//!
//! A parameter comes as JSON, from the preset as a [`Value`], or follows from the fabric; as a [`Value`] it is set in
//! the scheme's own `Config`, which checks it, and the scheme is made from that once. Its values are reported the same
//! way back.

mod fit;
mod source;

use serde_json::{Map, Value as Json};
use spinewise_policy::config::{Allowed, Param, Refused};
use spinewise_policy::{Facts, Peers, Shape, Tier, Value};

use fit::{check_at_switches, check_fit, check_hashed, check_headers, check_tag, check_tree};
pub(super) use fit::{check_ecn, check_probes, check_trimming, shape};

use super::follow::Rules;
use super::presets::Preset;
use crate::bank::{Chosen, Entry, Misfit, REGISTRY};
use crate::keys::{AUTO, Auto, Default, Kind, Reader, SpecError, keys, one_of, tenths, tidy, words};
use crate::topology::Fabric;
use crate::topology::TopologySpec;
use crate::transport::Frame;

/// The default scheme of fabrics: the first of the registry, which sits at the switches.
const DEFAULT_SCHEME: &str = REGISTRY[0].name();

keys! {
    /// `[scheme]`.
    SchemeKeys {
        /// The load-balancing scheme.
        name: String, Kind::Text("the name of a scheme"), Default::Word(DEFAULT_SCHEME);
        /// For a scheme that is not part of Spinewise: where its code is, as `[scheme.source]` with `class`, `file` and
        /// `sha256`, a digest of everything that determines its behaviour: its text, the user's modules that it
        /// imports, the values that it has. Runs of such schemes write it; running the spec again requires the same
        /// class.
        source: Option<Map<String, Json>>, Kind::Table("a table with class, file and sha256"), Default::Nothing("a scheme of the registry");
        /// Parameters of the scheme, `[scheme.params]`; see the scheme.
        params: Map<String, Json>, Kind::Table("a table of the scheme's parameters"), Default::Empty;
        /// How a host scheme's path tag selects the path: the fabric reads it as the path itself, hashes it with source
        /// and destination (a tunnel's UDP port), or hashes it with the flow's own header. Host schemes only.
        path_tag: Option<PathTag>, Kind::Words(PathTag::WORDS), Default::Nothing("\"explicit\" for a host scheme, \
                                                                                  \"outer\" for one that searches for \
                                                                                  tunnel ports");
        /// The switch scheme under a host scheme: for untagged packets and hashed tags. Host schemes only.
        fabric: Option<String>, Kind::Text("the name of a switch scheme"), Default::Nothing("the default of name, for a host scheme");
        /// Parameters of the switch scheme under a host scheme.
        fabric_params: Option<Map<String, Json>>, Kind::Table("a table of the fabric scheme's parameters"),
            Default::Nothing("its defaults");
        /// Do the scheme's in-band headers take up bytes on the wire?
        header_bytes: HeaderBytes, Kind::Words(HeaderBytes::WORDS), Default::Preset;
        /// Who chooses the paths of acknowledgements inside the fabric: the switches' scheme, which then sees all traffic,
        /// or ECMP.
        acks: AckPaths, Kind::Words(AckPaths::WORDS), Default::Preset;
        /// The hash that switches choose by: all bits mixed, or MurmurHash3 of addresses and ports modulo the number of
        /// choices, seeded with the switch's node number, as in the public ns-3 code of ConWeave.
        hash: HashKind, Kind::Words(HashKind::WORDS), Default::Preset;
        /// Mixed into every switch's hash: a different salt places flows differently.
        hash_salt: u64, Kind::Integer { min: 0, max: u32::MAX as u64 }, Default::Number(0.0);
    }
}

words! {
    /// The way a path tag selects the path.
    PathTag {
        /// The fabric takes the tag for the path.
        Explicit = "explicit",
        /// The fabric hashes source, destination and tag: a tunnel's UDP port.
        Outer = "outer",
        /// The fabric hashes the flow's own header with the tag.
        Inner = "inner",
    }
}

words! {
    /// Whether a scheme's in-band headers take bytes on the wire.
    HeaderBytes {
        /// They do.
        Charged = "charged",
        /// They do not, as in the public ns-3 codes of several schemes.
        Free = "free",
    }
}

words! {
    /// The scheme that chooses the paths of acknowledgements inside the fabric.
    AckPaths {
        /// The scheme at the switches.
        Scheme = "scheme",
        /// ECMP, unseen by the scheme.
        Ecmp = "ecmp",
    }
}

words! {
    /// The hash of switches.
    HashKind {
        /// All bits mixed.
        Mix = "mix",
        /// MurmurHash3 of addresses and ports.
        Murmur3 = "murmur3",
    }
}

/// The schemes of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeSpec {
    /// The one at the hosts, if the spec names a host scheme.
    pub edge: Option<Chosen>,
    /// The one at the switches.
    pub fabric: Chosen,
    /// How path tags select paths (of no effect without a host scheme).
    pub path_tag: PathTag,
    /// Whether in-band headers take bytes on the wire.
    pub header_bytes: HeaderBytes,
    /// The rule for the paths of acknowledgements.
    pub acks: AckPaths,
    /// The hash of switches.
    pub hash: HashKind,
    /// The salt mixed into it.
    pub hash_salt: u64,
}

impl SchemeSpec {
    /// The one that the spec names.
    pub fn chosen(&self) -> &Chosen {
        self.edge.as_ref().unwrap_or(&self.fabric)
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.chosen().name()
    }

    /// Whether one of them writes headers into packets.
    pub fn has_header(&self) -> bool {
        self.edge.iter().chain([&self.fabric]).any(|chosen| chosen.entry().header)
    }
}

/// Name and site of the schemes with comparison facts (`Sheet::compared`).
pub fn comparable_schemes() -> impl Iterator<Item = (&'static str, &'static str)> {
    REGISTRY.iter().filter(|entry| entry.sheet.compared.is_some()).map(|entry| (entry.name(), entry.site))
}

/// The schemes that a spec may name: those of the registry, and guests of this run.
#[derive(Clone, Copy)]
struct Known<'a> {
    guests: &'a [Entry],
}

impl<'a> Known<'a> {
    fn all(self) -> impl Iterator<Item = &'a Entry> {
        REGISTRY.iter().chain(self.guests)
    }
}

/// The surroundings of a scheme.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The fabric.
    pub fabric: &'a TopologySpec,
    /// Its packets.
    pub frame: Frame,
    /// The queue from which packets are marked on the fabric's links, bytes; 0: none.
    pub marked: u64,
}

impl Place<'_> {
    /// The facts from which parameters are derived.
    fn facts(&self) -> Result<Facts, SpecError> {
        Ok(Fabric::of(self.fabric)?.facts(self.frame, self.marked))
    }
}

/// Reads `[scheme]` for this fabric; besides those of the registry it may name `guests`.
pub(crate) fn read(
    given: &Map<String, Json>,
    place: Place<'_>,
    (preset, rules, guests): (&Preset, &Rules, &[Entry]),
    autos: &mut Vec<Auto>,
) -> Result<(SchemeSpec, Json), SpecError> {
    let fabric = place.fabric;
    let known = Known { guests };
    let mut reader = Reader::new("scheme", SchemeKeys::KEYS, given)?.with_defaults((preset.scheme)());
    let keys = SchemeKeys::read(&mut reader)?;
    source::check_given(&reader, &keys, known)?;
    let entry = find(&reader, "name", &keys.name, known, |_| true)?;
    source::check_same(&mut reader, entry, keys.source.as_ref())?;
    let mut of = |reader: &mut Reader<'_>, key: &str, entry: &Entry, given: &Map<String, Json>| {
        let table = Table { path: reader.path_of(key), entry, given };
        let worked_out = table.autos(preset, place)?;
        let chosen = table.choose(&[preset.params_of(entry.name()), rules.params()].concat(), &worked_out, || {
            reader.path_of(if key == "params" { "name" } else { "fabric" })
        })?;
        let told = chosen.params().into_iter().map(|(name, value)| (name.to_string(), json(value))).collect();
        reader.set_resolved(key, Json::Object(told));
        autos.extend(worked_out.into_iter().map(|(_, auto)| auto));
        Ok(chosen)
    };
    let chosen = of(&mut reader, "params", entry, &keys.params)?;
    check_fit(&reader, &chosen, &keys.params, fabric)?;
    check_tree(&reader, &chosen, &keys.params, fabric)?;
    let (path_tag, edge, under) = if entry.site == "host" {
        let drawn = chosen.layout(&shape(Tier::Host, fabric)).draws_tags;
        let path_tag = keys.path_tag.unwrap_or(if drawn { PathTag::Outer } else { PathTag::Explicit });
        reader.set_resolved("path_tag", path_tag.word().into());
        check_tag(&reader, &chosen, path_tag, fabric)?;
        let under = keys.fabric.as_deref().unwrap_or(DEFAULT_SCHEME);
        reader.set_resolved("fabric", under.into());
        let under = find(&reader, "fabric", under, known, |entry| entry.site == "switch" && !entry.in_trees)?;
        check_headers(&reader, entry, under)?;
        check_hashed(&reader, &chosen, under, fabric)?;
        let under = of(&mut reader, "fabric_params", under, &keys.fabric_params.unwrap_or_default())?;
        (path_tag, Some(chosen), under)
    } else {
        check_at_switches(&reader, &keys.name)?;
        (PathTag::Explicit, None, chosen)
    };
    let scheme = SchemeSpec {
        edge,
        fabric: under,
        path_tag,
        header_bytes: keys.header_bytes,
        acks: keys.acks,
        hash: keys.hash,
        hash_salt: keys.hash_salt,
    };
    Ok((scheme, reader.finish()))
}

/// Describes the fabrics that a scheme of the registry serves with its defaults, for people.
pub(crate) fn fabrics(entry: &Entry) -> String {
    let anywhere = Shape { tier: Tier::Host, hosts: 2, leaves: 2, ports: 1, ways: 1 };
    let tagged = "leaf_spine, fat_tree, links where no packet has more than two choices on its way";
    let Ok(chosen) = (entry.choose)(&[]) else { return String::new() };
    match rows(&chosen, &anywhere) {
        _ if entry.in_trees => "fat_tree".into(),
        _ if entry.site != "host" || chosen.layout(&anywhere).draws_tags => "any".into(),
        Peers::Leaves => tagged.into(),
        Peers::Hosts => format!("{tagged}; other links with path_tag = \"outer\""),
        Peers::None => format!("{tagged}; other links with path_tag = \"outer\" or \"inner\""),
    }
}

/// The peers for which rows per path are kept in this place, if any.
fn rows(chosen: &Chosen, shape: &Shape) -> Peers {
    if chosen.entry().keeps_ways { chosen.layout(shape).peers } else { Peers::None }
}

/// A table of parameters, as it was given.
struct Table<'a> {
    /// Its key.
    path: String,
    /// The scheme whose parameters they are.
    entry: &'a Entry,
    given: &'a Map<String, Json>,
}

impl<'a> Table<'a> {
    /// The given parameters; null counts as not given.
    fn given(&self) -> impl Iterator<Item = (&'a String, &'a Json)> {
        self.given.iter().filter(|(_, value)| !value.is_null())
    }

    fn path(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    /// Whether the parameter follows from the fabric, by the spec, or else by its preset.
    fn is_auto(&self, param: &Param, preset: &Preset) -> bool {
        match self.given.get(param.name).filter(|value| !value.is_null()) {
            Some(value) => value == AUTO,
            None => preset.fits,
        }
    }

    /// The parameters that follow from the fabric.
    fn autos(&self, preset: &Preset, place: Place<'_>) -> Result<Vec<(&'static str, Auto)>, SpecError> {
        let mut found = Vec::new();
        for param in self.entry.params {
            let Some(auto) = param.auto.filter(|_| self.is_auto(param, preset)) else { continue };
            let mut value = (auto.of)(&place.facts()?);
            if let Allowed::Number { min, max } = param.allowed {
                value = value.clamp(min, max);
            }
            found.push((param.name, Auto { key: self.path(param.name), value: tenths(value), how: auto.how.into() }));
        }
        Ok(found)
    }

    /// The scheme: given values go before those that follow from the fabric, these before those `said` by preset and
    /// rules, and these before the scheme's own defaults. `named` is the key that names the scheme.
    fn choose(
        &self,
        said: &[(&'static str, Value<'static>)],
        autos: &[(&'static str, Auto)],
        named: impl Fn() -> String,
    ) -> Result<Chosen, SpecError> {
        let mut set: Vec<(&str, Value<'_>)> = said.to_vec();
        set.extend(autos.iter().filter_map(|(name, auto)| Some((*name, value(&auto.value)?))));
        let before = set.len();
        for (name, given) in self.given().filter(|(name, _)| autos.iter().all(|(auto, _)| auto != name)) {
            let Some(param) = self.entry.params.iter().find(|param| param.name == name) else {
                return Err(self.unknown(name, given));
            };
            let plain = value(given);
            set.push((name, plain.ok_or_else(|| SpecError::new(self.path(name), given, allowed(param.allowed)))?));
        }
        let chosen = (self.entry.choose)(&set).map_err(|misfit| match misfit {
            Misfit::Param(at, refused) => {
                assert!(at >= before, "what Spinewise itself describes for {} is allowed", self.entry.name());
                let name = set[at].0;
                match refused {
                    Refused::NotAllowed(range) => param_refused(&self.path(name), &self.given[name], range),
                    Refused::Unknown => self.unknown(name, &self.given[name]),
                }
            }
            Misfit::Failed(why) => {
                SpecError::new(named(), &self.entry.name().into(), "a scheme that can be set up").hint(why)
            }
        })?;
        match chosen.clash() {
            Some((name, range, other)) => Err(param_refused(&self.path(name), &value_of(&chosen, name), range)
                .hint(format!("{other} is {}", value_of(&chosen, other)))),
            None => Ok(chosen),
        }
    }

    fn unknown(&self, name: &str, value: &Json) -> SpecError {
        let names = || self.entry.params.iter().map(|param| param.name);
        let listed: Vec<&str> = names().collect();
        let allowed = match listed.as_slice() {
            [] => format!("no parameters: {} has none", self.entry.name()),
            _ => format!("one of the parameters of {}: {}", self.entry.name(), listed.join(", ")),
        };
        SpecError::new(self.path(name), value, allowed).did_you_mean(name, names())
    }
}

fn find<'a>(
    reader: &Reader<'_>,
    key: &str,
    name: &str,
    known: Known<'a>,
    fits: impl Fn(&Entry) -> bool,
) -> Result<&'a Entry, SpecError> {
    if let Some(entry) = known.all().find(|entry| entry.name() == name && fits(entry)) {
        return Ok(entry);
    }
    let names = || known.all().filter(|entry| fits(entry)).map(|entry| entry.name());
    let error = reader.refuse(key, one_of(names()));
    match known.all().find(|entry| entry.name() == name) {
        Some(entry) if entry.site == "switch" => {
            Err(error.hint(format!("{name} avoids dead links itself, and tags name paths of working links")))
        }
        Some(entry) => Err(error.hint(format!("{name} sits at the {}", entry.site))),
        None => Err(error.did_you_mean(name, names())),
    }
}

/// The value of a parameter of a scheme.
fn value_of(chosen: &Chosen, name: &str) -> Json {
    chosen.params().into_iter().find(|(own, _)| *own == name).map_or(Json::Null, |(_, value)| json(value))
}

fn param_refused(path: &str, value: &Json, range: Allowed) -> SpecError {
    let error = SpecError::new(path, value, allowed(range));
    match (range, value.as_str()) {
        (Allowed::Words(words), Some(word)) => error.did_you_mean(word, words.iter().copied()),
        _ => error,
    }
}

/// Returns the allowed values of a parameter, worded to follow "expected".
pub(crate) fn allowed(allowed: Allowed) -> String {
    match allowed {
        Allowed::Number { min, max } => format!("a number from {min} to {max}"),
        Allowed::Integer { min, max } => format!("a whole number from {min} to {max}"),
        Allowed::PowerOfTwo { max } => format!("a power of two from 1 to {max}"),
        Allowed::Bool => "true or false".into(),
        Allowed::Words(words) => one_of(words.iter().copied()),
    }
}

/// A parameter value as JSON.
pub(crate) fn json(value: Value<'_>) -> Json {
    match value {
        Value::Number(number) => tidy(number),
        Value::Bool(given) => given.into(),
        Value::Word(word) => word.into(),
    }
}

/// A value of a spec as schemes read it, unless it is a list or a table.
fn value(given: &Json) -> Option<Value<'_>> {
    match given {
        Json::Number(number) => number.as_f64().map(Value::Number),
        Json::Bool(given) => Some(Value::Bool(*given)),
        Json::String(word) => Some(Value::Word(word)),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}
