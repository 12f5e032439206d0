//! What schemes there are, and a scheme as a spec has chosen it: read once, into a type.

use super::{Bank, Places, Seating, Seats};
use spinewise_policy::config::{Allowed, InPreset, Param, Refused, Value};
use spinewise_policy::{About, Compared, Hooks, Layout, Params, Policy, Sees, Shape, Site, Tree, Uneven};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// A number.
    Number(f64),
    /// True or false.
    Bool(bool),
    /// A word.
    Word(String),
}

impl ParamValue {
    /// As the policy crate reads it.
    pub fn as_value(&self) -> Value<'_> {
        match self {
            ParamValue::Number(number) => Value::Number(*number),
            ParamValue::Bool(given) => Value::Bool(*given),
            ParamValue::Word(word) => Value::Word(word),
        }
    }
}

impl From<Value<'_>> for ParamValue {
    fn from(value: Value<'_>) -> ParamValue {
        match value {
            Value::Number(number) => ParamValue::Number(number),
            Value::Bool(given) => ParamValue::Bool(given),
            Value::Word(word) => ParamValue::Word(word.into()),
        }
    }
}

/// Parameters by name, in the order given.
pub type Given = [(String, ParamValue)];

/// Why parameters make no scheme.
#[derive(Clone, Debug, PartialEq)]
pub enum Misfit {
    /// This one of those given is unknown, or its value not allowed.
    Param(usize, Refused),
    /// The scheme itself failed as it was set up: a guest's own words.
    Failed(String),
}

/// Where the code of a scheme lies that is not part of Spinewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The class.
    pub class: &'static str,
    /// Its file, without folders.
    pub file: &'static str,
    /// SHA-256 of its text, hexadecimal.
    pub sha256: &'static str,
}

/// Makes a scheme of its parameters.
pub type Choose = dyn Fn(&Given) -> Result<Chosen, Misfit> + Send + Sync;

/// A scheme without its types: of the registry, or a guest.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Facts for people.
    pub about: &'static About,
    /// Facts by which it is compared, if it gives them.
    pub compared: Option<Compared>,
    /// "host" or "switch".
    pub site: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Its parameters in presets that set them otherwise.
    pub presets: &'static [InPreset],
    /// Hooks.
    pub hooks: Hooks,
    /// What it tells about its choices.
    pub sees: &'static Sees,
    /// Does it put a header into packets?
    pub header: bool,
    /// Does it keep rows for ways?
    pub keeps_ways: bool,
    /// Does it work in fat-trees alone, and go round dead links by itself?
    pub in_trees: bool,
    /// What it does in three tiers.
    pub three_tiers: &'static str,
    /// Of a guest that is no type of this program: where its code lies.
    pub source: Option<Source>,
    /// Makes it.
    pub choose: &'static Choose,
}

impl Entry {
    const fn of<P: Policy>(choose: &'static Choose) -> Entry {
        Entry {
            about: &P::ABOUT,
            compared: P::COMPARED,
            site: <P::Site as Site>::NAME,
            params: <P::Config as Params>::PARAMS,
            presets: P::PRESETS,
            hooks: P::HOOKS,
            sees: &P::SEES,
            header: size_of::<P::Header>() > 0,
            keeps_ways: size_of::<P::Route>() > 0,
            in_trees: P::IN_TREES,
            three_tiers: P::IN_THREE_TIERS,
            source: None,
            choose,
        }
    }

    /// A scheme that is no part of the registry, for one run: `P` as it is compiled into the caller.
    pub const fn guest<P>() -> Entry
    where
        P: Policy + 'static,
        P::Site: super::Lend,
        P::Config: Send + Sync,
    {
        Entry::of::<P>(&|given| configured::<P>(given, Entry::guest::<P>(), |seats| Seating::Guest(Box::new(seats))))
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("name", &self.about.name).field("site", &self.site).finish_non_exhaustive()
    }
}

macro_rules! registry {
    ($($variant:ident: $policy:ty,)*) => {
        /// All schemes of the registry.
        pub const REGISTRY: &[Entry] = &[$(
            Entry::of::<$policy>(&|given| configured::<$policy>(given, REGISTRY[Number::$variant as usize], Seating::$variant)),
        )*];

        /// Places in the registry.
        enum Number { $($variant,)* }
    };
}
spinewise_policy::each_scheme!(registry);

/// A scheme with its parameters set: what a spec comes to.
pub trait Choice: Send + Sync {
    /// Facts of the scheme.
    fn entry(&self) -> &Entry;
    /// All its parameters, in the order of [`Entry::params`].
    fn values(&self) -> Vec<ParamValue>;
    /// What a seat at this place needs.
    fn layout(&self, shape: &Shape) -> Layout;
    /// [`Policy::misfit`].
    fn misfit(&self, shape: &Shape) -> Option<(&'static str, Allowed)> {
        let _ = shape;
        None
    }
    /// [`Policy::uneven`].
    fn uneven(&self, tree: &Tree) -> Option<Uneven> {
        let _ = tree;
        None
    }
    /// [`Policy::clash`].
    fn clash(&self) -> Option<(&'static str, Allowed, &'static str)> {
        None
    }
    /// [`Policy::wants_ecn`].
    fn wants_ecn(&self) -> Option<(&'static str, Allowed)> {
        None
    }
    /// Seats at these places.
    fn seat(&self, places: &Places, seed: u64, all_hooks: bool) -> Bank;
}

/// A [`Choice`], shared by whoever has the spec.
#[derive(Clone)]
pub struct Chosen(Arc<dyn Choice>);

impl Chosen {
    /// Of a choice.
    pub fn new(choice: impl Choice + 'static) -> Chosen {
        Chosen(Arc::new(choice))
    }

    /// The scheme of the registry called `name`, with its defaults.
    pub fn by_name(name: &str) -> Option<Chosen> {
        let entry = REGISTRY.iter().find(|entry| entry.about.name == name)?;
        (entry.choose)(&[]).ok()
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.entry().about.name
    }

    /// All its parameters, with names.
    pub fn params(&self) -> Vec<(String, ParamValue)> {
        self.entry().params.iter().map(|param| param.name.to_string()).zip(self.values()).collect()
    }

    /// Bytes that its header takes: as its parameter says, or the most there is room for.
    pub fn header_room(&self) -> u64 {
        if !self.entry().header {
            return 0;
        }
        match self.params().into_iter().find(|(name, _)| name == "header_bytes") {
            Some((_, ParamValue::Number(bytes))) => bytes as u64,
            _ => 16,
        }
    }
}

impl Deref for Chosen {
    type Target = dyn Choice;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for Chosen {
    fn eq(&self, other: &Chosen) -> bool {
        self.name() == other.name() && self.values() == other.values()
    }
}

impl fmt::Debug for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(self.name()).field(&self.values()).finish()
    }
}

/// A [`Policy`] with its parameters.
struct Configured<P: Policy> {
    config: P::Config,
    entry: Entry,
    seating: fn(Seats<P>) -> Seating,
}

fn configured<P>(given: &Given, entry: Entry, seating: fn(Seats<P>) -> Seating) -> Result<Chosen, Misfit>
where
    P: Policy + 'static,
    P::Site: super::Lend,
    P::Config: Send + Sync,
{
    let mut config = P::Config::default();
    for (place, (name, value)) in given.iter().enumerate() {
        config.set(name, value.as_value()).map_err(|refused| Misfit::Param(place, refused))?;
    }
    Ok(Chosen::new(Configured { config, entry, seating }))
}

impl<P> Choice for Configured<P>
where
    P: Policy,
    P::Site: super::Lend,
    P::Config: Send + Sync,
{
    fn entry(&self) -> &Entry {
        &self.entry
    }

    fn values(&self) -> Vec<ParamValue> {
        (0..P::Config::PARAMS.len()).map(|index| self.config.value(index).into()).collect()
    }

    fn layout(&self, shape: &Shape) -> Layout {
        P::new(&self.config).layout(shape)
    }

    fn misfit(&self, shape: &Shape) -> Option<(&'static str, Allowed)> {
        P::new(&self.config).misfit(shape)
    }

    fn uneven(&self, tree: &Tree) -> Option<Uneven> {
        P::new(&self.config).uneven(tree)
    }

    fn clash(&self) -> Option<(&'static str, Allowed, &'static str)> {
        P::new(&self.config).clash()
    }

    fn wants_ecn(&self) -> Option<(&'static str, Allowed)> {
        P::new(&self.config).wants_ecn()
    }

    fn seat(&self, places: &Places, seed: u64, all_hooks: bool) -> Bank {
        (self.seating)(Seats::new(P::new(&self.config), &P::ABOUT, places, seed, all_hooks)).into()
    }
}
