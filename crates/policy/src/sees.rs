//! A scheme's inputs when it chooses, for users: the scheme's part of the choice trace.
//!
//! A scheme lists its rules and the quantities it considers in [`crate::Sheet::sees`], and fills these in for one
//! packet in [`crate::Policy::sees`], which is called just before `pick`, with the same rows, and only for flows that
//! are traced. It can change nothing: `pick` depends on rows and a random stream, and both are lent to it read-only.

use crate::time::{Span, Time};
use crate::{Table, Way};

/// A quantity that a scheme considers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Its name, as a column: lowercase letters and underscores.
    pub name: &'static str,
    /// Its unit; empty for a plain number.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

/// Shorthand for lists of quantities.
pub const fn quantity(name: &'static str, unit: &'static str, meaning: &'static str) -> Quantity {
    Quantity { name, unit, meaning }
}

/// A series that a scheme itself writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// Its name: the last part of the name of a series in the results.
    pub name: &'static str,
    /// The meaning of a point of it, unit first.
    pub meaning: &'static str,
}

/// Shorthand for lists of series.
pub const fn series(name: &'static str, meaning: &'static str) -> Series {
    Series { name, meaning }
}

/// A list on a scheme's sheet whose items its hooks name: rules, quantities or series. [`listed!`](crate::listed)
/// declares one.
pub trait Listed: Copy {
    /// A [`Rule`], a [`Quantity`] or a [`Series`].
    type Item: 'static;
    /// All of them.
    const ALL: &'static [Self::Item];
    /// The place of this one.
    fn place(self) -> usize;
}

/// Declares enumerations of the rules, quantities or series of a scheme, each with its description on the sheet. The
/// items of an enumeration named with `after` come first: a mechanism that several schemes share lists its own.
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

/// The items that precede those of an enumeration.
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

/// A rule that gives a packet its way, as a sentence for users: the condition, and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The packet follows the previous one of its flow: no choice was made.
    Keeps(&'static str),
    /// A way was chosen; it may be the old one again. With schemes that send a last packet on the old way, the choice
    /// applies from the next packet on.
    Chooses(&'static str),
    /// The packet takes the way that was chosen when the previous one passed.
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

/// The way in which a scheme arrives at a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decides {
    /// It uses its observations, takes turns or draws: there are choices to trace.
    Chooses,
    /// It hashes the header, which is not a choice: a flow stays where it is.
    Hashes,
}

/// The reportable parts of a scheme's choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sees {
    /// The way in which it arrives at a way.
    pub decides: Decides,
    /// Its rules.
    pub rules: &'static [Rule],
    /// Quantities of the flow and of its place that it considers: one value per packet.
    pub flow: &'static [Quantity],
    /// Quantities of each candidate that it considers.
    pub way: &'static [Quantity],
}

impl Sees {
    /// Chooses, and reports no reason.
    pub const NOTHING: Sees = Sees { decides: Decides::Chooses, rules: &[], flow: &[], way: &[] };

    /// Number of values with this number of candidates.
    pub const fn values(&self, ways: usize) -> usize {
        self.flow.len() + ways * self.way.len()
    }
}

/// The observations of one packet, to be filled in. Anything that is not filled in was not seen.
pub struct Sight<'a> {
    rule: Option<u8>,
    quantities: (usize, usize),
    values: &'a mut [f64],
    ways: &'a mut [Way],
    many: usize,
    offered: bool,
}

impl<'a> Sight<'a> {
    /// Creates it for a scheme that reports `sees` at a place with `many` candidates, which are the first ways there.
    /// `ways` has room for as many as could be offered instead, `values` for their [`Sees::values`].
    ///
    /// # Panics
    /// If there is too little room.
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

    /// Names the next candidate, if a host's candidates are not all ways of its view in order (for example source ports
    /// of a tunnel, each found to lead over a different path). Candidates beyond a seat's rows per peer are left out.
    pub fn offer(&mut self, way: Way) {
        let at = if self.offered { self.many } else { 0 };
        if let Some(slot) = self.ways.get_mut(at) {
            *slot = way;
            (self.many, self.offered) = (at + 1, true);
        }
    }

    /// Returns what was filled in: the rule, and the number of candidates.
    pub fn told(&self) -> (Option<u8>, usize) {
        (self.rule, self.many)
    }
}

impl<P, R> Table<'_, P, R> {
    /// Like [`Table::current`], read-only.
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
