//! What a scheme sees as it chooses, told to people: the scheme's part of the choice trace.
//!
//! A scheme says in [`crate::Sheet::sees`] by which rules it acts and what it looks at, and fills that in for one
//! packet in [`crate::Policy::sees`], which is called just before `pick`, with the same rows, and only for flows that are
//! traced. It can change nothing: `pick` goes by its rows and its random stream, and both are lent to it read-only.

use crate::time::{Span, Time};
use crate::{Table, Way};

/// A quantity that a scheme looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Its name, as a column: small letters and underscores.
    pub name: &'static str,
    /// Its unit; empty for a plain number.
    pub unit: &'static str,
    /// What it is.
    pub meaning: &'static str,
}

/// Shorthand for lists of quantities.
pub const fn quantity(name: &'static str, unit: &'static str, meaning: &'static str) -> Quantity {
    Quantity { name, unit, meaning }
}

/// A series that a scheme writes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// Its name, as the end of that of a series of the results.
    pub name: &'static str,
    /// What a point of it is, unit first.
    pub meaning: &'static str,
}

/// Shorthand for lists of series.
pub const fn series(name: &'static str, meaning: &'static str) -> Series {
    Series { name, meaning }
}

/// What a scheme lists on its sheet and names in its hooks: its rules, quantities and series. [`listed!`](crate::listed)
/// declares one.
pub trait Listed: Copy {
    /// A [`Rule`], a [`Quantity`] or a [`Series`].
    type Item: 'static;
    /// All of them.
    const ALL: &'static [Self::Item];
    /// The place of this one.
    fn place(self) -> usize;
}

/// Declares enumerations of the rules, quantities or series of a scheme, each with what the sheet says of it. What an
/// enumeration named with `after` lists comes first: a mechanism that several schemes share writes its own.
///
/// ```
/// use spinewise_policy::sees::Listed;
/// use spinewise_policy::Rule;
/// spinewise_policy::listed! {
///     /// Why a packet gets its way.
///     enum Why: Rule {
///         First = Rule::Chooses("the flow's first packet: a path drawn at random"),
///         Stays = Rule::Keeps("any other: the same path"),
///     }
/// }
/// assert_eq!((Why::ALL.len(), Why::Stays.place()), (2, 1));
/// ```
#[macro_export]
macro_rules! listed {
    ($($(#[$meta:meta])* $vis:vis enum $name:ident: $item:ident $(after $($before:ident)::+)? {
        $($(#[$vmeta:meta])* $variant:ident = $value:expr),+ $(,)?
    })+) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[$vmeta])* $variant),+ }

        impl $name {
            const BEFORE: &'static [$item] = $crate::before!($($($before)::+)?);
        }

        impl $crate::sees::Listed for $name {
            type Item = $item;
            const ALL: &'static [$item] = &{
                const OWN: &[$item] = &[$($value),+];
                let mut all = [OWN[0]; $name::BEFORE.len() + OWN.len()];
                let mut at = 0;
                while at < all.len() {
                    let own = at.checked_sub($name::BEFORE.len());
                    all[at] = if let Some(own) = own { OWN[own] } else { $name::BEFORE[at] };
                    at += 1;
                }
                all
            };

            #[inline]
            fn place(self) -> usize {
                $name::BEFORE.len() + self as usize
            }
        }
    )+ };
}

/// What comes before the items of an enumeration.
#[doc(hidden)]
#[macro_export]
macro_rules! before {
    () => {
        &[]
    };
    ($($before:ident)::+) => {
        <$($before)::+ as $crate::sees::Listed>::ALL
    };
}

/// A rule by which a packet gets its way, as a sentence for people: what was the case, and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The packet follows the one of its flow before it: no choice was made.
    Keeps(&'static str),
    /// A way was chosen; it may be the old one again. With schemes that send a last packet on the old way, what was
    /// chosen holds from the next packet on.
    Chooses(&'static str),
    /// The packet takes what was chosen for it when the one before passed.
    Follows(&'static str),
}

impl Rule {
    /// The sentence.
    pub const fn says(&self) -> &'static str {
        match self {
            Rule::Keeps(says) | Rule::Chooses(says) | Rule::Follows(says) => says,
        }
    }
}

/// How a scheme comes to a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decides {
    /// By what it has seen, in turn or by lot: there are choices to trace.
    Chooses,
    /// By a hash of the header, which is no choice: a flow stays where it is.
    Hashes,
}

/// What there is to tell about the choices of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sees {
    /// How it comes to a way.
    pub decides: Decides,
    /// Its rules.
    pub rules: &'static [Rule],
    /// What it looks at of the flow and of its place: one value per packet.
    pub flow: &'static [Quantity],
    /// What it looks at of each candidate.
    pub way: &'static [Quantity],
}

impl Sees {
    /// Chooses, and tells nothing of why.
    pub const NOTHING: Sees = Sees { decides: Decides::Chooses, rules: &[], flow: &[], way: &[] };

    /// How many values there are with this number of candidates.
    pub const fn values(&self, ways: usize) -> usize {
        self.flow.len() + ways * self.way.len()
    }
}

/// What one packet met, to be filled in. What is not filled in was not seen.
pub struct Sight<'a> {
    rule: Option<u8>,
    quantities: (usize, usize),
    values: &'a mut [f64],
    ways: &'a mut [Way],
    many: usize,
    offered: bool,
}

impl<'a> Sight<'a> {
    /// Of a scheme that tells `sees` at a place with `many` candidates, which are the first ways there. `ways` has room
    /// for as many as could be offered instead, `values` for their [`Sees::values`].
    ///
    /// # Panics
    /// If there is not that much room.
    pub fn new(sees: &Sees, many: usize, ways: &'a mut [Way], values: &'a mut [f64]) -> Self {
        assert!(many <= ways.len() && sees.values(ways.len()) <= values.len(), "room for what the scheme sees");
        values.fill(f64::NAN);
        (0..).zip(&mut *ways).for_each(|(number, way)| *way = Way(number));
        let quantities = (sees.flow.len(), sees.way.len());
        Sight { rule: None, quantities, values, ways, many, offered: false }
    }

    /// The rule that holds, of [`Sees::rules`].
    pub fn rule(&mut self, rule: impl Listed<Item = Rule>) {
        self.rule = Some(rule.place() as u8);
    }

    /// A quantity of the flow, of [`Sees::flow`].
    pub fn flow(&mut self, quantity: impl Listed<Item = Quantity>, value: f64) {
        let quantity = quantity.place();
        assert!(quantity < self.quantities.0, "a quantity that is listed");
        self.values[quantity] = value;
    }

    /// A quantity of a candidate, of [`Sees::way`].
    pub fn way(&mut self, candidate: usize, quantity: impl Listed<Item = Quantity>, value: f64) {
        let quantity = quantity.place();
        assert!(quantity < self.quantities.1, "a quantity that is listed");
        if candidate < self.ways.len() {
            self.values[self.quantities.0 + candidate * self.quantities.1 + quantity] = value;
        }
    }

    /// Names the next candidate, where a host's candidates are not all ways of its view in their order (source ports of
    /// a tunnel that were found to lead over paths of their own). More than a seat has rows per peer are left out.
    pub fn offer(&mut self, way: Way) {
        let at = if self.offered { self.many } else { 0 };
        if let Some(slot) = self.ways.get_mut(at) {
            *slot = way;
            (self.many, self.offered) = (at + 1, true);
        }
    }

    /// What was filled in: the rule, and how many candidates there are.
    pub fn told(&self) -> (Option<u8>, usize) {
        (self.rule, self.many)
    }
}

impl<P, R> Table<'_, P, R> {
    /// As [`Table::current`], to look at only.
    pub fn here(&self) -> (&P, &[R]) {
        let from = self.current * self.stride;
        (&self.peers[self.current], &self.routes[from..from + self.stride])
    }
}

/// A time in microseconds.
pub fn us(span: Span) -> f64 {
    span.0 as f64 / 1e6
}

/// The time since `then` in microseconds; not a number if there was none.
pub fn us_since(then: Option<Time>, now: Time) -> f64 {
    then.map_or(f64::NAN, |then| us(now.since(then)))
}
