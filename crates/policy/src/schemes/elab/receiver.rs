//! The receiving half, per pair of hosts: arrivals by virtual path, and the path to report next.

use super::header::{Info, NO_PATH};
use super::sender::kbps;
use super::{Counting, Elab, Peer, RateUnit, Refused, Route};
use crate::{Span, Time};

/// A virtual path by which packets arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// When the last packet came.
    pub seen: Time,
    /// Arrival rate of a burst that has not been reported, in the form of VP_RBurst_Rate; 0: none.
    pub rate: u32,
    /// The tunnel's source port.
    pub port: u16,
    /// Packets since the last report to the peer, or ([`Counting::Cumulative`]) in all, modulo 2¹⁶.
    pub count: u16,
    /// One of them was marked.
    pub marked: bool,
    /// Something about it has not been reported.
    pub news: bool,
}

/// The burst that is arriving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Newest Burst_ID of this peer; 0: there was none.
    pub id: u16,
    /// The path of the burst.
    port: u16,
    /// Packets so far; 0: the record is closed.
    got: u16,
    /// Bytes of all but the first.
    bytes: u32,
    first: Time,
    last: Time,
}

impl Peer {
    /// Whether a burst was arriving and is over.
    #[inline]
    fn is_past_burst(&self, now: Time) -> bool {
        let wait = if self.record.got == 1 { self.second } else { self.rtt };
        self.record.got > 0 && now.since(self.record.first) > wait
    }
}

/// Maximum distance of a Burst_ID from the newest: a value from a corrupt header must not make all correct ones old.
const AHEAD: u16 = 1024;

/// A path on which nothing has arrived for this long is no longer reported: turns are not wasted on ports that the peer
/// has given up.
const IDLE: Span = Span::from_ms(100);

/// The table of the pair, as its receiving half sees it.
pub struct Arrivals<'a> {
    /// The pair.
    pub peer: &'a mut Peer,
    /// Rows, those with an entry first.
    pub routes: &'a mut [Route],
}

impl Arrivals<'_> {
    /// The entry of this port: its own, a new one, or that of the path by which nothing has come for longest.
    fn entry(&mut self, port: u16) -> Option<usize> {
        let used = usize::from(self.peer.entries);
        if let Some(at) = self.routes[..used].iter().position(|route| route.entry.port == port) {
            return Some(at);
        }
        let at = if used < self.routes.len() {
            self.peer.entries += 1;
            used
        } else {
            (0..used).min_by_key(|&at| self.routes[at].entry.seen)?
        };
        self.routes[at].entry = Entry { port, ..Entry::default() };
        Some(at)
    }

    /// A packet of `wire` bytes has arrived by `port`.
    ///
    /// # Errors
    /// [`Refused::PastBurst`] if it claims to belong to a burst that is over, or of another path; it still counts as a
    /// packet.
    #[inline]
    pub fn arrived(
        &mut self,
        elab: &Elab,
        now: Time,
        port: u16,
        (wire, ce): (u32, bool),
        burst: u16,
    ) -> Result<(), Refused> {
        let Some(at) = self.entry(port) else { return Ok(()) };
        let entry = &mut self.routes[at].entry;
        entry.count = match elab.config.counting {
            Counting::Zeroed => entry.count.saturating_add(1),
            Counting::Cumulative => entry.count.wrapping_add(1),
        };
        entry.marked |= ce;
        entry.news = true;
        entry.seen = now;
        if burst == 0 { Ok(()) } else { self.record(elab, now, port, wire, burst) }
    }

    // ELAB §4.4.3 (3): number and gaps of the packets of a burst, by its Burst_ID.
    #[cold]
    fn record(&mut self, elab: &Elab, now: Time, port: u16, wire: u32, burst: u16) -> Result<(), Refused> {
        let record = self.peer.record;
        let ahead = burst.wrapping_sub(record.id);
        if record.id == 0 || (1..=AHEAD).contains(&ahead) {
            self.close(elab);
            self.peer.record = Record { id: burst, port, got: 1, bytes: 0, first: now, last: now };
            return Ok(());
        }
        if ahead != 0 || record.got == 0 || record.port != port || self.peer.is_past_burst(now) {
            return Err(Refused::PastBurst);
        }
        let record = &mut self.peer.record;
        record.got += 1;
        record.bytes = record.bytes.saturating_add(wire);
        record.last = now;
        if u32::from(record.got) >= elab.config.c_burst {
            self.close(elab);
        }
        Ok(())
    }

    /// Closes the record of a burst: its rate is reported at the next turn of its path.
    fn close(&mut self, elab: &Elab) {
        let record = self.peer.record;
        self.peer.record.got = 0;
        let time = record.last.since(record.first);
        if record.got < 2 || time == Span::ZERO {
            return;
        }
        let rate = elab.config.rate_unit.field(u64::from(record.bytes) * 8, time);
        let used = usize::from(self.peer.entries);
        if let Some(route) = self.routes[..used].iter_mut().find(|route| route.entry.port == record.port) {
            route.entry.rate = rate;
            route.entry.news = true;
        }
    }

    /// Returns feedback on the path whose turn it is; none if nothing has ever arrived, or not for a long time.
    // ELAB §4.4.2: in turn, with every packet that goes back; counting restarts at zero after a report.
    #[inline]
    pub fn report(&mut self, elab: &Elab, now: Time) -> Info {
        if self.peer.is_past_burst(now) {
            self.close(elab);
        }
        let used = usize::from(self.peer.entries);
        for step in 0..used {
            let at = usize::from(self.peer.next) + step;
            let at = if at < used { at } else { at - used };
            if self.routes[at].entry.is_told_of(now) {
                self.peer.next = if at + 1 < used { at as u16 + 1 } else { 0 };
                return self.routes[at].entry.tell(elab.config.counting);
            }
        }
        Info { vp_id: NO_PATH, ..Info::default() }
    }

    /// Whether there is anything unreported.
    pub(crate) fn has_news(&self) -> bool {
        self.routes[..usize::from(self.peer.entries)].iter().any(|route| route.entry.news)
    }

    /// Number of paths currently reported.
    pub(crate) fn told_of(&self, now: Time) -> usize {
        self.routes[..usize::from(self.peer.entries)].iter().filter(|route| route.entry.is_told_of(now)).count()
    }
}

impl Entry {
    #[inline]
    fn is_told_of(&self, now: Time) -> bool {
        self.news || now.since(self.seen) <= IDLE
    }

    #[inline]
    fn tell(&mut self, counting: Counting) -> Info {
        let rate = (self.rate > 0).then_some(self.rate);
        let info = Info { vp_id: self.port, vp_rcnt: self.count, marked: self.marked, burst_id: 0, rate };
        self.count = if counting == Counting::Zeroed { 0 } else { self.count };
        (self.marked, self.rate, self.news) = (false, 0, false);
        info
    }
}

impl RateUnit {
    /// VP_RBurst_Rate of a number of bits in a time: saturating, and never 0.
    pub fn field(self, bits: u64, time: Span) -> u32 {
        let rate = match self {
            RateUnit::Kbps => kbps(bits, time),
            RateUnit::Bps => kbps(bits.saturating_mul(1000), time),
        };
        rate.max(1)
    }

    /// Decodes VP_RBurst_Rate to kbit/s.
    pub fn kbps(self, field: u32) -> u32 {
        match self {
            RateUnit::Kbps => field,
            RateUnit::Bps => field / 1000,
        }
    }
}
