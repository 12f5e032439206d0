//! Rows lent to schemes, made on first use.

use spinewise_policy::{Span, Time, hash};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A fixed hasher for small integer keys: the same on every run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MixHasher(u64);

impl Hasher for MixHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = hash::mix2(self.0, u64::from(byte));
        }
    }
    fn write_u32(&mut self, value: u32) {
        self.0 = hash::mix(self.0 ^ u64::from(value));
    }
}

/// A map from numbers; never iterated where order could matter.
pub(crate) type NumberMap<V> = HashMap<u32, V, BuildHasherDefault<MixHasher>>;

#[derive(Clone, Debug, Default)]
struct Aged<R> {
    last: Time,
    pins: u32,
    row: R,
}

/// Flow rows of one seat. A row idle for longer than the layout allows counts as if it had never existed; a pinned row
/// stays.
#[derive(Clone, Debug)]
pub(crate) struct FlowRows<R> {
    rows: NumberMap<Aged<R>>,
    idle: Span,
    sweep_at: usize,
    nothing: R,
}

impl<R: Clone + Default> FlowRows<R> {
    const FIRST_SWEEP: usize = 1024;

    /// Rows that age after `idle`.
    pub(crate) fn new(idle: Span) -> Self {
        FlowRows { rows: NumberMap::default(), idle, sweep_at: Self::FIRST_SWEEP, nothing: R::default() }
    }

    /// Returns the row of a flow, fresh if there is none or it has aged.
    #[inline]
    pub(crate) fn row(&mut self, key: u32, now: Time) -> &mut R {
        if size_of::<R>() == 0 {
            return &mut self.nothing;
        }
        if self.rows.len() >= self.sweep_at {
            self.sweep(now);
        }
        let idle = self.idle;
        let aged = self.rows.entry(key).or_default();
        if aged.pins == 0 && now.since(aged.last) > idle {
            aged.row = R::default();
        }
        aged.last = now;
        &mut aged.row
    }

    /// The row of a flow if it is there; does not renew it.
    pub(crate) fn known(&mut self, key: u32) -> Option<&mut R> {
        if size_of::<R>() == 0 {
            return Some(&mut self.nothing);
        }
        self.rows.get_mut(&key).map(|aged| &mut aged.row)
    }

    /// Pins a row, once more.
    pub(crate) fn pin(&mut self, key: u32) {
        if size_of::<R>() > 0 {
            self.rows.entry(key).or_default().pins += 1;
        }
    }

    /// Undoes one pin.
    pub(crate) fn unpin(&mut self, key: u32) {
        if let Some(aged) = self.rows.get_mut(&key) {
            aged.pins = aged.pins.saturating_sub(1);
        }
    }

    /// Forgets a row that nothing pins.
    pub(crate) fn forget(&mut self, key: u32) {
        if self.rows.get(&key).is_some_and(|aged| aged.pins == 0) {
            self.rows.remove(&key);
        }
    }

    /// Makes a row the same as another, except for pins.
    #[cold]
    pub(crate) fn copy(&mut self, from: u32, to: u32) {
        if let Some(Aged { last, row, .. }) = self.rows.get(&from).cloned() {
            let aged = self.rows.entry(to).or_default();
            (aged.last, aged.row) = (last, row);
        }
    }

    /// Number of rows kept.
    pub(crate) fn kept(&self) -> usize {
        self.rows.len()
    }

    #[cold]
    fn sweep(&mut self, now: Time) {
        let idle = self.idle;
        self.rows.retain(|_, aged| aged.pins > 0 || now.since(aged.last) <= idle);
        self.sweep_at = (self.rows.len() * 2).max(Self::FIRST_SWEEP);
    }
}
