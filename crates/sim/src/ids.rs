//! Typed numbers, so that one kind cannot be used in place of another.
//!
//! A number becomes an id where it is made: by [`Topology`](crate::topology::Topology) for wired parts, by
//! [`Flows`](crate::flows::Flows) for traffic. It becomes a number again where it is shown to people, mixed into a hash
//! or drawn from.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut, Range};

/// A number with a place in a list of all of its kind.
pub trait Id: Copy {
    /// The place.
    fn index(self) -> usize;

    /// The id at a place.
    fn at(index: usize) -> Self;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The id with this number.
            #[inline(always)]
            pub const fn new(number: u32) -> $name {
                $name(number)
            }

            /// Its number.
            #[inline(always)]
            pub const fn number(self) -> u32 {
                self.0
            }

            /// Its place in a list of all.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The first `count`.
            #[inline]
            pub fn first(count: u32) -> impl DoubleEndedIterator<Item = $name> + ExactSizeIterator + Clone {
                (0..count).map($name)
            }

            /// All from the first of a range to the one before its end.
            #[inline]
            pub fn each(range: Range<$name>) -> impl DoubleEndedIterator<Item = $name> + ExactSizeIterator + Clone {
                (range.start.0..range.end.0).map($name)
            }
        }

        impl Id for $name {
            #[inline(always)]
            fn index(self) -> usize {
                self.0 as usize
            }

            #[inline(always)]
            fn at(index: usize) -> $name {
                $name(index as u32)
            }
        }
    )*};
}

ids! {
    /// A link: one direction of a cable. Numbered at its receiver, so that the in-links of a node are contiguous.
    LinkId;
    /// A host.
    HostId;
    /// A switch: leaves come first.
    SwitchId;
    /// A node: a host, or a switch, counted after all hosts.
    NodeId;
    /// A flow. Numbered by start.
    FlowId;
    /// The part of a flow that takes one path: all of it, or a subflow of MPTCP, or the part of a message that one
    /// queue pair carries. Packets name it.
    SubflowId;
}

impl FlowId {
    /// The whole flow as a subflow, if it has one path: its number is the flow's own.
    #[inline(always)]
    pub const fn whole(self) -> SubflowId {
        SubflowId(self.0)
    }
}

impl LinkId {
    /// The in-link of the same node, this many ports further on.
    #[inline(always)]
    pub const fn plus(self, ports: u16) -> LinkId {
        LinkId(self.0 + ports as u32)
    }

    /// The port by which it comes in at a node of which this is the first link.
    #[inline(always)]
    pub const fn port(self, first: LinkId) -> u16 {
        (self.0 - first.0) as u16
    }
}

impl SubflowId {
    /// This number as a flow. Valid only if it is not a subflow number (those are above all flow numbers).
    #[inline(always)]
    pub const fn as_whole(self) -> FlowId {
        FlowId(self.0)
    }
}

/// A list with a place for each number of `K`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table<K, T> {
    list: Vec<T>,
    by: PhantomData<fn(K)>,
}

impl<K: Id, T> Table<K, T> {
    /// The same value `count` times.
    pub fn filled(value: T, count: usize) -> Table<K, T>
    where
        T: Clone,
    {
        vec![value; count].into_iter().collect()
    }

    /// All, in the order of numbers.
    pub fn into_list(self) -> Vec<T> {
        self.list
    }

    /// Number of places.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the entry of an id, if there is a place for it.
    pub fn get(&self, id: K) -> Option<&T> {
        self.list.get(id.index())
    }

    /// Returns the entry of an id mutably, if there is a place for it.
    pub fn get_mut(&mut self, id: K) -> Option<&mut T> {
        self.list.get_mut(id.index())
    }

    /// All, in the order of numbers.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.list.iter()
    }

    /// All, with their ids.
    pub fn numbered(&self) -> impl Iterator<Item = (K, &T)> {
        self.ids().zip(&self.list)
    }

    /// The ids that have a place.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = K> + Clone + use<K, T> {
        (0..self.list.len()).map(K::at)
    }

    /// All, in the order of numbers, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.list.iter_mut()
    }
}

impl<K: Id, T> Index<K> for Table<K, T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, id: K) -> &T {
        &self.list[id.index()]
    }
}

impl<K: Id, T> IndexMut<K> for Table<K, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: K) -> &mut T {
        &mut self.list[id.index()]
    }
}

impl<K: Id, T> Index<Range<K>> for Table<K, T> {
    type Output = [T];

    #[inline(always)]
    fn index(&self, ids: Range<K>) -> &[T] {
        &self.list[ids.start.index()..ids.end.index()]
    }
}

impl<'a, K, T> IntoIterator for &'a Table<K, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl<'a, K, T> IntoIterator for &'a mut Table<K, T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter_mut()
    }
}

impl<K, T> Default for Table<K, T> {
    fn default() -> Self {
        Table { list: Vec::new(), by: PhantomData }
    }
}

impl<K, T> FromIterator<T> for Table<K, T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        Table { list: all.into_iter().collect(), by: PhantomData }
    }
}
