//! The sending half, per pair of hosts: the table of virtual paths, and the effect of the peer's feedback on it.
//!
//! All rates are in kbit/s: an unsigned 32-bit number of them reaches 4.29 Tbps. This is the unit of VP_RBurst_Rate.

use super::header::Info;
use super::{Burst, BurstResult, Counting, Elab, Peer, Refused, Route};
use crate::edge::weighted::{self, Turns};
use crate::{Span, Time};

/// A virtual path in use, as its sender knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vp {
    /// A hash of the devices and ports it was traced through; 0: not traced yet.
    pub path: u64,
    /// Since when packets are counted for the next R_i.
    pub updated: Time,
    /// First of the packets since which none was counted as arrived.
    pub silent_since: Time,
    /// When its ceiling must be probed by a burst.
    pub explore: Time,
    owed: i64,
    /// w_i (Eq. 2), as a part of [`weighted::WHOLE`].
    pub weight: u32,
    /// B_i, kbit/s.
    pub ceiling: u32,
    /// R_i, kbit/s.
    pub rate: u32,
    /// Packets counted as arrived since `updated`.
    pub counted: u32,
    /// Packets sent and not counted as arrived.
    pub unconfirmed: u32,
    /// Mean bytes of its packets on the wire, in 256ths.
    pub mean_wire: u32,
    /// Source port of the tunnel.
    pub port: u16,
    /// The peer's count when last reported ([`Counting::Cumulative`]).
    last_count: u16,
    /// Packets sent since one was counted as arrived.
    pub silent: u16,
    /// Its state.
    pub state: State,
}

/// Other facts known of a virtual path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// A burst was sent and not answered.
    pub asked: bool,
    /// Its last mark, not a burst, set `explore`.
    pub marked: bool,
    /// Nothing that was sent by it has arrived for a long time.
    pub dead: bool,
    /// The running search has confirmed its path.
    pub confirmed: bool,
}

impl Turns for Route {
    #[inline]
    fn weight(&self) -> u32 {
        self.vp.weight
    }

    #[inline]
    fn owed(&mut self) -> &mut i64 {
        &mut self.vp.owed
    }
}

/// Eq. (1): the spare capacity of a path, kbit/s, but at least `epsilon` (in 65536ths) of its ceiling: with nothing it
/// would get no packet, and nothing would ever be learnt of it again.
// ELAB Eq. (1): A_i = B_i - R_i.
#[inline]
pub const fn available(ceiling: u32, rate: u32, epsilon: u32) -> u64 {
    let least = (ceiling as u64 * epsilon as u64) >> 16;
    let left = ceiling.saturating_sub(rate) as u64;
    if left > least { left } else { least }
}

/// Eq. (3): the rate on a path after `bits` more have arrived in `time`, kbit/s; `alpha` in 65536ths.
// ELAB Eq. (3): R_i = (1 - alpha) R_i* + alpha RCnt_i / T_i.
#[inline]
pub fn smoothed(rate: u32, alpha: u32, bits: u64, time: Span) -> u32 {
    let recent = kbps(bits, time);
    let sum = u64::from(rate) * u64::from((1 << 16) - alpha) + u64::from(recent) * u64::from(alpha);
    ((sum + (1 << 15)) >> 16).min(u64::from(u32::MAX)) as u32
}

/// A number of bits in a time, as kbit/s; the maximum rate if the time is zero.
#[inline]
pub fn kbps(bits: u64, time: Span) -> u32 {
    // Bits per picosecond are 10¹² bit/s.
    let rate = u128::from(bits) * 1_000_000_000 / u128::from(time.0.max(1));
    u32::try_from(rate).unwrap_or(u32::MAX)
}

/// The paths in use, and the part of the pair that concerns them all.
pub struct Paths<'a> {
    /// The pair.
    pub peer: &'a mut Peer,
    /// Rows, those of the paths in use first.
    pub routes: &'a mut [Route],
}

/// Changes made by feedback, for series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The path concerned.
    pub vp: usize,
    /// R_i is new.
    pub measured: bool,
    /// B_i has fallen or risen by more than a tenth.
    pub sensed: bool,
    /// A burst has set a new B_i.
    pub probed: bool,
}

impl Paths<'_> {
    /// The virtual path with this source port.
    #[inline]
    pub fn find(&self, port: u16) -> Option<usize> {
        self.in_use().iter().position(|route| route.vp.port == port)
    }

    /// The paths in use.
    #[inline]
    pub fn in_use(&self) -> &[Route] {
        &self.routes[..usize::from(self.peer.vps)]
    }

    /// The paths in use.
    #[inline]
    pub(crate) fn in_use_mut(&mut self) -> &mut [Route] {
        &mut self.routes[..usize::from(self.peer.vps)]
    }

    /// Adds a virtual path, if there is a row for it.
    pub fn add(&mut self, port: u16, path: u64, ceiling: u32, now: Time) -> bool {
        let at = usize::from(self.peer.vps);
        let Some(route) = self.routes.get_mut(at) else { return false };
        route.vp = Vp {
            path,
            port,
            ceiling,
            updated: now,
            silent_since: now,
            explore: Time::NEVER,
            state: State { confirmed: true, ..State::default() },
            ..Vp::default()
        };
        self.peer.vps += 1;
        true
    }

    /// Drops a virtual path; the last one takes its place.
    pub fn remove(&mut self, at: usize) {
        let last = usize::from(self.peer.vps) - 1;
        self.routes[at].vp = self.routes[last].vp;
        self.routes[last].vp = Vp::default();
        self.peer.vps -= 1;
        self.peer.burst.left = 0;
        self.set_explore();
    }

    /// Records when the next path is to be probed.
    fn set_explore(&mut self) {
        let alive = self.in_use().iter().filter(|route| !route.vp.state.dead);
        self.peer.explore = alive.map(|route| route.vp.explore).min().unwrap_or(Time::NEVER);
    }

    /// Eq. (2): computes the shares of all paths. Returns a path that has newly been given up.
    // ELAB Eq. (2): w_i = A_i / sum of all A_j.
    pub fn weigh(&mut self, elab: &Elab, now: Time) -> Option<usize> {
        let (mut died, mut turned) = (None, false);
        let burst = usize::from(self.peer.burst.vp);
        for at in 0..usize::from(self.peer.vps) {
            let vp = &mut self.routes[at].vp;
            let before = vp.state.dead;
            vp.judge(elab.dead_after, now);
            let dies = vp.state.dead && !before;
            if dies && at == burst {
                self.peer.burst.left = 0;
            }
            died = died.or(dies.then_some(at));
            turned |= vp.state.dead != before;
        }
        if turned {
            self.set_explore();
        }
        // If nothing arrives on any path, no path is at fault.
        let all_dead = self.in_use().iter().all(|route| route.vp.state.dead);
        let usable = |vp: &Vp| all_dead || !vp.state.dead;
        let part = |vp: &Vp| available(vp.ceiling, vp.rate, elab.epsilon);
        let sum = |of: &dyn Fn(&Vp) -> u64| self.in_use().iter().map(|r| &r.vp).filter(|vp| usable(vp)).map(of).sum();
        let (free, all): (u64, u64) = (sum(&part), sum(&|vp| u64::from(vp.ceiling)));
        for route in self.in_use_mut() {
            let vp = &mut route.vp;
            let (part, of) = if free > 0 { (part(vp), free) } else { (u64::from(vp.ceiling), all) };
            vp.weight = if usable(vp) { weighted::share(part, of) } else { 0 };
        }
        died
    }

    /// The path of the next packet, and the burst it belongs to, if any (0: none).
    // ELAB §4.4.1: in turn by shares, anew for each packet.
    #[inline]
    pub(super) fn choose(&mut self, elab: &Elab, now: Time, carries_data: bool) -> (usize, u16) {
        if carries_data {
            if now >= self.peer.explore && self.peer.may_begin_burst(now) {
                self.begin_burst(elab, now);
            }
            // ELAB §4.4.3 (3): the packets of a burst do not go by shares.
            if self.peer.burst_goes_on(now) {
                let burst = &mut self.peer.burst;
                burst.left -= 1;
                burst.newest = now;
                return (usize::from(burst.vp), burst.id);
            }
        }
        let at = weighted::take_turn(self.in_use_mut(), 0).unwrap_or(0);
        (usize::from(at), 0)
    }

    #[cold]
    fn begin_burst(&mut self, elab: &Elab, now: Time) {
        let due = self.in_use().iter().position(|route| !route.vp.state.dead && route.vp.explore <= now);
        if let Some(at) = due {
            let vp = &mut self.routes[at].vp;
            // Asked again after the same time, if there is no answer.
            vp.explore = now + self.peer.t_explore;
            vp.state = State { asked: true, marked: false, ..vp.state };
            let id = self.peer.burst.id.checked_add(1).unwrap_or(1);
            let left = elab.config.c_burst as u16;
            self.peer.burst = Burst { vp: at as u16, left, id, answered: false, newest: now };
        }
        self.set_explore();
    }

    /// Records that a packet of `wire` bytes takes path `at`.
    #[inline]
    pub fn sent(&mut self, at: usize, wire: u32, now: Time) {
        let vp = &mut self.routes[at].vp;
        let (mean, size) = (vp.mean_wire, wire << 8);
        vp.mean_wire = if mean == 0 { size } else { mean.wrapping_add((size.wrapping_sub(mean) as i32 >> 4) as u32) };
        if vp.silent == 0 {
            vp.silent_since = now;
        }
        vp.silent = vp.silent.saturating_add(1);
        vp.unconfirmed = vp.unconfirmed.saturating_add(1);
    }

    /// After a pause of the whole pair, packets sent before it reveal nothing.
    pub(crate) fn forget_silence(&mut self) {
        self.in_use_mut().iter_mut().for_each(|route| route.vp.silent = 0);
    }

    /// Feedback about one virtual path: counts, a mark, the rate of a burst.
    ///
    /// # Errors
    /// Impossible feedback is rejected, and changes nothing.
    pub fn hear(&mut self, elab: &Elab, now: Time, info: &Info) -> Result<Heard, Refused> {
        let at = self.find(info.vp_id).ok_or(Refused::UnknownPath)?;
        let vp = &mut self.routes[at].vp;
        let arrived = match elab.config.counting {
            Counting::Zeroed => info.vp_rcnt,
            Counting::Cumulative => info.vp_rcnt.wrapping_sub(vp.last_count),
        };
        if u32::from(arrived) > vp.unconfirmed {
            return Err(Refused::Count);
        }
        if info.rate.is_some() && !vp.state.asked {
            return Err(Refused::Unasked);
        }
        vp.last_count = info.vp_rcnt;
        let before = vp.ceiling;
        let measured = vp.count(elab, u32::from(arrived), now, self.peer.interval);
        if info.marked {
            vp.reset(self.peer.bounded(vp.rate), now + self.peer.t_explore);
        }
        if let Some(rate) = info.rate {
            let rate = elab.config.rate_unit.kbps(rate);
            vp.answered(elab.config.burst_result, self.peer.bounded(rate));
            if self.peer.burst.vp == at as u16 {
                (self.peer.burst.left, self.peer.burst.answered) = (0, true);
            }
        }
        let sensed = u64::from(vp.ceiling.abs_diff(before)) * 10 > u64::from(before);
        if info.marked || info.rate.is_some() {
            self.set_explore();
            self.note_marks(now);
        }
        Ok(Heard { vp: at, measured, sensed, probed: info.rate.is_some() })
    }

    /// Until when all paths count as marked: each for a round trip after its last mark.
    fn note_marks(&mut self, now: Time) {
        let (wait, window) = (self.peer.t_explore, self.peer.rtt);
        let until = |vp: &Vp| if vp.state.marked { Time(vp.explore.since(Time::ZERO + wait).0) + window } else { now };
        let paths = self.in_use().iter().map(|route| &route.vp).filter(|vp| !vp.state.dead);
        self.peer.all_marked_until = paths.map(until).min().unwrap_or(now);
    }
}

impl Peer {
    /// Whether the next packet still belongs to the burst: the receiver does not wait longer for it.
    #[inline]
    pub(super) fn burst_goes_on(&self, now: Time) -> bool {
        let burst = &self.burst;
        burst.left > 0 && burst.vp < self.vps && now.since(burst.newest) < self.second
    }

    /// Whether another burst may begin: the receiver has one record for all paths, which a newer burst closes.
    #[inline]
    pub(super) fn may_begin_burst(&self, now: Time) -> bool {
        let burst = &self.burst;
        burst.id == 0 || burst.answered || now.since(burst.newest) >= self.second
    }
}

impl Vp {
    /// The port now leads over another path: nothing is known of it.
    pub fn renew(&mut self, ceiling: u32, now: Time) {
        self.state = State { confirmed: self.state.confirmed, ..State::default() };
        (self.ceiling, self.rate, self.counted, self.silent) = (ceiling, 0, 0, 0);
        (self.updated, self.explore) = (now, Time::NEVER);
    }

    /// Counts packets as arrived, and computes R_i if it is time.
    fn count(&mut self, elab: &Elab, arrived: u32, now: Time, interval: Span) -> bool {
        self.unconfirmed -= arrived;
        self.counted = self.counted.saturating_add(arrived);
        if arrived > 0 {
            self.silent = 0;
        }
        let time = now.since(self.updated);
        if time == Span::ZERO || time < interval {
            return false;
        }
        let mean = if elab.config.packet_bytes > 0 { elab.config.packet_bytes << 8 } else { self.mean_wire };
        let bits = (u64::from(self.counted) * u64::from(mean)) >> 5;
        self.rate = smoothed(self.rate, elab.alpha, bits, time);
        (self.updated, self.counted) = (now, 0);
        true
    }

    /// A mark means that the path is full at its current rate.
    // ELAB §4.4.3 (2)
    fn reset(&mut self, ceiling: u32, explore: Time) {
        self.ceiling = ceiling;
        self.explore = explore;
        self.state.marked = true;
    }

    /// A burst has arrived at this rate, kbit/s.
    // ELAB §4.4.3 (3)
    fn answered(&mut self, result: BurstResult, rate: u32) {
        self.ceiling = match result {
            BurstResult::Taken => rate,
            BurstResult::Raises => self.ceiling.max(rate),
        };
        self.state.asked = false;
        if !self.state.marked {
            self.explore = Time::NEVER;
        }
    }

    /// A path is dead if nothing that was sent by it has arrived for a long time; after ten times as long it is tried
    /// again.
    fn judge(&mut self, after: Span, now: Time) {
        // One packet may be lost anywhere.
        const FEWEST: u16 = 3;
        let silence = now.since(self.silent_since);
        if silence > after * 10 {
            self.silent = 0;
        }
        self.state.dead = after > Span::ZERO && self.silent >= FEWEST && silence > after;
    }
}
