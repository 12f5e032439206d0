//! Headers of the scheme: those that arrive with packets, and those that wait for packets to carry them.

use super::{News, Peer, Step};
use crate::Failure;
use crate::layout::{HEADERS, WAYS};
use spinewise_policy::Way;

impl Peer {
    /// A header of the scheme has come with a packet. One that comes twice is handled once: a packet that is cut into
    /// segments has its header in each of them.
    pub fn hear(&mut self, step: &mut Step<'_>, (number, way, port): (u16, u16, u16), header: [u8; 16]) {
        /// This many numbers are remembered.
        const RECENT: usize = 256;
        if self.recent.contains(&number) {
            return;
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(number);
        self.carried[usize::from(way) % WAYS] += 1;
        let way = if step.slow.plan().by_port { Way(port) } else { Way(way) };
        step.slow.heard(step.time(), self.host, way, header);
    }

    /// These are to go with the next packets.
    pub(super) fn wait(&mut self, headers: Vec<[u8; 16]>) {
        /// At most this many wait: if more are made than packets can carry, the oldest are dropped.
        const MOST: usize = 4 * HEADERS;
        self.waiting.extend(headers);
        self.waiting.drain(..self.waiting.len().saturating_sub(MOST));
    }

    /// Headers go with packets; if none leave, they are stranded.
    pub(super) fn offer(&mut self, step: &mut Step<'_>) -> Result<Option<News>, Failure> {
        let (tail, head) = (self.state.tail, self.headers.head);
        let patience = (2 * step.config.step_us * 1_000).max(step.slow.view.base_rtt.0 / 1000);
        if head == tail && self.waiting.is_empty() {
            self.stuck_since = step.now;
            return Ok(None);
        }
        if self.last_tail != tail {
            (self.last_tail, self.stuck_since) = (tail, step.now);
        }
        let held = head.wrapping_sub(tail);
        if held > HEADERS as u32 {
            // The data path has moved on to a header that was taken back.
            self.headers.head = tail;
            return Ok(None);
        }
        if step.now - self.stuck_since > patience {
            self.headers.head = tail;
            self.stuck_since = step.now;
            step.plane.offer(self.host, &self.headers)?;
            // Some may have left since the step began. Nothing takes them from the ring any more.
            let gone = step.plane.state(self.host)?.tail.wrapping_sub(tail).min(held);
            let at = |place: u32| tail.wrapping_add(place) as usize % HEADERS;
            let in_ring = (gone..held).map(|place| self.headers.header[at(place)]);
            let stranded: Vec<_> = in_ring.chain(self.waiting.drain(..)).collect();
            self.headers.head = tail.wrapping_add(gone);
            return Ok((!stranded.is_empty()).then_some(News::Stranded(stranded)));
        }
        let room = (HEADERS as u32).saturating_sub(held) as usize;
        let fresh = self.waiting.len().min(room);
        for header in self.waiting.drain(..fresh) {
            self.headers.header[self.headers.head as usize % HEADERS] = header;
            self.headers.head = self.headers.head.wrapping_add(1);
        }
        if fresh > 0 {
            step.plane.offer(self.host, &self.headers)?;
        }
        Ok(None)
    }
}
