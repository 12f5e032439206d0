//! The list of schemes, and a scheme as chosen in a spec: read once, into a type.

use super::{Bank, Called, Places, Seating, Seats};
use spinewise_policy::config::{Allowed, Param, Refused, Value};
use spinewise_policy::{Hashes, Hooks, Layout, Params, Policy, Shape, Sheet, Site, Tree, Uneven};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Parameters by name; if one is given twice, the last value holds.
pub type Given<'a> = [(&'a str, Value<'a>)];

/// Why parameters do not make a scheme.
#[derive(Clone, Debug, PartialEq)]
pub enum Misfit {
    /// This parameter is unknown, or its value is not allowed.
    Param(usize, Refused),
    /// The scheme itself failed as it was set up: a guest's own words.
    Failed(String),
}

/// Where the code of a scheme outside Spinewise is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The class.
    pub class: &'static str,
    /// Its file, without directories.
    pub file: &'static str,
    /// SHA-256, hexadecimal, of everything that decides what it does: text, its own imports, values.
    pub sha256: &'static str,
}

/// Makes a scheme from its parameters.
pub type Choose = dyn Fn(&Given<'_>) -> Result<Chosen, Misfit> + Send + Sync;

/// A scheme without its types: from the registry, or a guest.
#[derive(Clone, Copy)]
pub struct Entry {
    /// What it declares about itself.
    pub sheet: &'static Sheet,
    /// "host" or "switch".
    pub site: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Hooks.
    pub hooks: Hooks,
    /// Does it put a header into packets?
    pub header: bool,
    /// Does it keep rows for ways?
    pub keeps_ways: bool,
    /// Does it work only in fat-trees, and route around dead links itself?
    pub in_trees: bool,
    /// What it sends where a hash of the header says.
    pub hashes: Hashes,
    /// For a guest that is not a type of this program: where its code is.
    pub source: Option<Source>,
    /// Makes it.
    pub choose: &'static Choose,
}

impl Entry {
    const fn of<P: Policy>(choose: &'static Choose) -> Entry {
        Entry {
            sheet: &P::SHEET,
            site: <P::Site as Site>::NAME,
            params: <P::Config as Params>::PARAMS,
            hooks: P::HOOKS,
            header: size_of::<P::Header>() > 0,
            keeps_ways: size_of::<P::Route>() > 0,
            in_trees: P::IN_TREES,
            hashes: P::HASHES,
            source: None,
            choose,
        }
    }

    /// A scheme outside the registry, for one run: `P` as compiled into the caller.
    pub const fn guest<P>() -> Entry
    where
        P: Policy + Clone + Send + Sync + 'static,
        P::Site: super::Lend,
        P::Config: Send + Sync,
    {
        Entry::of::<P>(&|given| configured::<P>(given, Entry::guest::<P>(), |seats| Seating::Guest(Box::new(seats))))
    }

    /// Its name in specs.
    pub const fn name(&self) -> &'static str {
        self.sheet.name
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("name", &self.name()).field("site", &self.site).finish_non_exhaustive()
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

/// A scheme with its parameters set, as read from a spec.
pub trait Choice: Send + Sync {
    /// Facts of the scheme.
    fn entry(&self) -> &Entry;
    /// All its parameters, in the order of [`Entry::params`].
    fn values(&self) -> Vec<Value<'static>>;
    /// Maximum bytes that its in-band header takes on the wire.
    fn header_bytes(&self) -> u32;
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
    /// [`Policy::wants_trimming`].
    fn wants_trimming(&self) -> Option<(&'static str, Allowed)> {
        None
    }
    /// Seats at these places.
    fn seat(&self, places: &Places, seed: u64, called: Called) -> Bank;
}

/// A [`Choice`], shared by whoever has the spec.
#[derive(Clone)]
pub struct Chosen(Arc<dyn Choice>);

impl Chosen {
    /// From a choice.
    pub fn new(choice: impl Choice + 'static) -> Chosen {
        Chosen(Arc::new(choice))
    }

    /// The scheme of the registry called `name`, with its defaults.
    pub fn by_name(name: &str) -> Option<Chosen> {
        let entry = REGISTRY.iter().find(|entry| entry.name() == name)?;
        (entry.choose)(&[]).ok()
    }

    /// The same scheme with these parameters, and defaults for the others.
    ///
    /// # Errors
    /// [`Misfit`] if they do not make a scheme.
    pub fn with(&self, given: &Given<'_>) -> Result<Chosen, Misfit> {
        (self.entry().choose)(given)
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.entry().name()
    }

    /// All its parameters, with names.
    pub fn params(&self) -> Vec<(&'static str, Value<'static>)> {
        self.entry().params.iter().map(|param| param.name).zip(self.values()).collect()
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
    policy: P,
    entry: Entry,
    seating: fn(Seats<P>) -> Seating,
}

fn configured<P>(given: &Given<'_>, entry: Entry, seating: fn(Seats<P>) -> Seating) -> Result<Chosen, Misfit>
where
    P: Policy + Clone + Send + Sync + 'static,
    P::Site: super::Lend,
    P::Config: Send + Sync,
{
    let mut config = P::Config::default();
    for (place, (name, value)) in given.iter().enumerate() {
        config.set(name, *value).map_err(|refused| Misfit::Param(place, refused))?;
    }
    Ok(Chosen::new(Configured { policy: P::new(&config), config, entry, seating }))
}

impl<P> Choice for Configured<P>
where
    P: Policy + Clone + Send + Sync,
    P::Site: super::Lend,
    P::Config: Send + Sync,
{
    fn entry(&self) -> &Entry {
        &self.entry
    }

    fn values(&self) -> Vec<Value<'static>> {
        (0..P::Config::PARAMS.len()).map(|index| self.config.value(index)).collect()
    }

    fn header_bytes(&self) -> u32 {
        if size_of::<P::Header>() > 0 { self.policy.header_bytes() } else { 0 }
    }

    fn layout(&self, shape: &Shape) -> Layout {
        self.policy.layout(shape)
    }

    fn misfit(&self, shape: &Shape) -> Option<(&'static str, Allowed)> {
        self.policy.misfit(shape)
    }

    fn uneven(&self, tree: &Tree) -> Option<Uneven> {
        self.policy.uneven(tree)
    }

    fn clash(&self) -> Option<(&'static str, Allowed, &'static str)> {
        self.policy.clash()
    }

    fn wants_ecn(&self) -> Option<(&'static str, Allowed)> {
        self.policy.wants_ecn()
    }

    fn wants_trimming(&self) -> Option<(&'static str, Allowed)> {
        self.policy.wants_trimming()
    }

    fn seat(&self, places: &Places, seed: u64, called: Called) -> Bank {
        (self.seating)(Seats::new(self.policy.clone(), &P::SHEET, places, seed, called)).into()
    }
}
