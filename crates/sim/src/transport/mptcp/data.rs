//! The data of a connection at its sending end: the parts that have gone on each subflow, and those to go on another
//! one.

use std::collections::{BTreeSet, VecDeque};

/// A segment of data for a subflow to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Its first data byte.
    pub data: u64,
    /// Its bytes.
    pub len: u64,
    /// It has been sent on another subflow before.
    pub again: bool,
}

/// The data that a segment of a subflow carries (RFC 8684 §3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    /// Its first byte in the subflow.
    pub seq: u64,
    /// Its first data byte.
    pub data: u64,
}

/// The mappings of the outstanding data of a subflow, in the order of the subflow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mappings(VecDeque<Mapping>);

impl Mappings {
    /// Adds the next new segment.
    pub(crate) fn push(&mut self, seq: u64, data: u64) {
        debug_assert!(self.0.back().is_none_or(|last| last.seq < seq), "not in order");
        self.0.push_back(Mapping { seq, data });
    }

    /// The data byte of an outstanding segment.
    pub(crate) fn data_of(&self, seq: u64) -> Option<u64> {
        let at = self.0.binary_search_by_key(&seq, |mapping| mapping.seq).ok()?;
        Some(self.0[at].data)
    }

    /// Everything of the subflow below `seq` is acknowledged.
    pub(crate) fn acked(&mut self, seq: u64) {
        while self.0.front().is_some_and(|first| first.seq < seq) {
            self.0.pop_front();
        }
    }

    /// Whether nothing is outstanding.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The data bytes at which outstanding segments begin.
    pub(crate) fn data(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|mapping| mapping.data)
    }
}

/// The data of a connection at its sending end.
#[derive(Clone, Debug)]
pub(crate) struct DataSender {
    size: u64,
    mss: u64,
    /// The receiver has room for this much beyond what it has acknowledged.
    window: u64,
    /// The next byte that has been sent on no subflow.
    next: u64,
    /// Data ACK: everything before this has arrived.
    acked: u64,
    /// Segments, by their first byte, that each subflow has given up as lost and no other one has taken since.
    distrusted: Vec<BTreeSet<u64>>,
    /// The number of those segments.
    waiting: usize,
    reinjections: u32,
}

impl DataSender {
    /// Creates the data of `size` bytes on `subflows`, cut into segments of `mss`, and a receiver with room for
    /// `window` bytes.
    pub(crate) fn new(size: u64, mss: u32, window: u64, subflows: usize) -> Self {
        let distrusted = vec![BTreeSet::new(); subflows];
        DataSender { size, mss: mss.into(), window, next: 0, acked: 0, distrusted, waiting: 0, reinjections: 0 }
    }

    /// Returns the data that subflow `subflow` would take next: a segment that another one has given up, else new data.
    pub(crate) fn chunk_for(&self, subflow: usize) -> Option<Chunk> {
        let given_up = if self.waiting > 0 { self.given_up_by_others(subflow) } else { None };
        let (data, again) = given_up.map_or((self.next, false), |data| (data, true));
        (data < self.size).then(|| Chunk { data, len: self.mss.min(self.size - data), again })
    }

    fn given_up_by_others(&self, subflow: usize) -> Option<u64> {
        let others = self.distrusted.iter().enumerate().filter(|&(other, _)| other != subflow);
        others.filter_map(|(_, of)| of.first().copied()).min()
    }

    /// Whether the receiver has room for a segment. It always has for data that has been sent before.
    pub(crate) fn fits(&self, chunk: &Chunk) -> bool {
        // RFC 8684 §3.3.4: the window counts from the Data ACK
        chunk.again || chunk.data + chunk.len <= self.acked.saturating_add(self.window)
    }

    /// A subflow takes this segment.
    pub(crate) fn take(&mut self, chunk: &Chunk) {
        if chunk.again {
            self.waiting -= self.distrusted.iter_mut().filter_map(|of| of.remove(&chunk.data).then_some(())).count();
            self.reinjections += 1;
        } else {
            // RFC 8684 §3.3.1: its mapping
            self.next += chunk.len;
        }
    }

    /// Everything before `data` has arrived. An older acknowledgement has no effect.
    pub(crate) fn on_ack(&mut self, data: u64) {
        // RFC 8684 §3.3.2
        if data > self.acked {
            debug_assert!(data <= self.next, "acknowledges what was never sent");
            self.acked = data;
            for of in &mut self.distrusted {
                while of.first().is_some_and(|&first| first < data) {
                    of.pop_first();
                    self.waiting -= 1;
                }
            }
        }
    }

    /// Notes that subflow `subflow` has given up waiting for segments that begin at these bytes: another may take them
    /// (RFC 8684 §3.3.6).
    pub(crate) fn distrust(&mut self, subflow: usize, data: impl Iterator<Item = u64>) {
        // RFC 8684 §3.3.6
        if self.distrusted.len() > 1 {
            let acked = self.acked;
            let of = &mut self.distrusted[subflow];
            self.waiting += data.filter(|&first| first >= acked && of.insert(first)).count();
        }
    }

    /// Whether everything has arrived.
    pub(crate) fn is_done(&self) -> bool {
        self.acked == self.size
    }

    /// Segments that have been sent on another subflow.
    pub(crate) fn reinjections(&self) -> u32 {
        self.reinjections
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(data: u64, len: u64, again: bool) -> Option<Chunk> {
        Some(Chunk { data, len, again })
    }

    #[test]
    fn new_data_goes_in_order_and_the_last_segment_is_short() {
        let mut data = DataSender::new(2500, 1000, u64::MAX, 2);
        for (first, len) in [(0, 1000), (1000, 1000), (2000, 500)] {
            let next = data.chunk_for(1).expect("there is more");
            assert_eq!(Some(next), chunk(first, len, false));
            data.take(&next);
        }
        assert_eq!((data.chunk_for(0), data.chunk_for(1), data.is_done()), (None, None, false));
        data.on_ack(2500);
        assert!(data.is_done());
    }

    #[test]
    fn what_one_subflow_gave_up_another_takes_once() {
        let mut data = DataSender::new(9000, 1000, u64::MAX, 3);
        for _ in 0..6 {
            data.take(&data.chunk_for(0).expect("there is more"));
        }
        data.on_ack(1000);
        data.distrust(1, [0, 2000, 4000].into_iter());
        data.distrust(2, [3000].into_iter());
        // 0 has arrived. Subflow 1 is not given its own segments, nor 2 its own.
        assert_eq!(data.chunk_for(0), chunk(2000, 1000, true));
        assert_eq!(data.chunk_for(1), chunk(3000, 1000, true));
        assert_eq!(data.chunk_for(2), chunk(2000, 1000, true));
        data.take(&data.chunk_for(2).expect("one"));
        data.take(&data.chunk_for(1).expect("one"));
        assert_eq!((data.chunk_for(1), data.chunk_for(2)), (chunk(6000, 1000, false), chunk(4000, 1000, true)));
        assert_eq!(data.reinjections(), 2);
        data.on_ack(6000);
        assert_eq!(data.chunk_for(0), chunk(6000, 1000, false));
    }

    /// RFC 8684 §3.3.4: the window counts from the Data ACK, for all subflows together.
    #[test]
    fn the_window_of_the_receiver_holds_new_data_back() {
        let mut data = DataSender::new(9000, 1000, 2000, 2);
        for _ in 0..2 {
            let next = data.chunk_for(0).expect("there is more");
            assert!(data.fits(&next));
            data.take(&next);
        }
        let next = data.chunk_for(1).expect("there is more");
        assert!(!data.fits(&next));
        data.distrust(0, [0].into_iter());
        assert!(data.fits(&data.chunk_for(1).expect("sent before")));
        data.on_ack(1000);
        assert!(data.fits(&next));
        // An acknowledgement that was overtaken.
        data.on_ack(0);
        assert!(data.fits(&next));
    }

    #[test]
    fn mappings_are_known_until_acknowledged() {
        let mut sent = Mappings::default();
        for (seq, data) in [(0, 5000), (1000, 9000), (2000, 1000)] {
            sent.push(seq, data);
        }
        sent.acked(1000);
        assert_eq!([0, 1000, 1500, 2000].map(|seq| sent.data_of(seq)), [None, Some(9000), None, Some(1000)]);
        assert_eq!(sent.data().collect::<Vec<_>>(), [9000, 1000]);
    }
}
