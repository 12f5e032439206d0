//! The sending end of an MPTCP connection: the subflows of one flow, and which of them sends next.
//!
//! Each subflow has a number of its own, above those of all flows, which its packets, its timers and its rows at
//! schemes use: to switches and schemes it is a flow. The flow's own number identifies the connection: in the NIC's
//! round, at gates and in the records. So the NIC pulls a segment from the connection, which asks its subflows, in this
//! order:
//! * one that has a handshake packet to send;
//! * one that has to send again earlier data;
//! * of those whose windows have room, for data that another one has given up as lost, else for new data: that of the
//!   minimum smoothed round-trip time, as in Linux's default scheduler. One without a sample counts as 0, and the
//!   lowest number wins a tie.

use super::{DataSender, Mappings, coupled_window};
use crate::packet::RETRANSMIT;
use crate::transport::contract::{Acked, Answer, Answered, Counts, Data, Outgoing, Sender, Start};
use crate::transport::options::Signal;
use crate::transport::stream::Stream;
use crate::transport::{Opened, Opening, Sack, Segment, TcpConfig, TcpSender};
use spinewise_policy::{Span, Time, hash};

/// The sending end of a connection.
#[derive(Debug)]
pub struct Connection<S> {
    data: DataSender,
    subflows: Vec<Subflow<S>>,
}

/// The sending end of a subflow.
#[derive(Debug)]
struct Subflow<S> {
    /// Like that of a flow of TCP.
    end: Opened<S>,
    sent: Mappings,
    /// It has been given a segment that is not full, and takes no more until that is acknowledged: its retransmissions
    /// are cut as full segments are.
    is_closed: bool,
}

impl<S: Stream> Subflow<S> {
    /// Subflow `n` of a flow. Without a handshake all subflows are open; with one the first subflow's SYN is due.
    fn new(config: &TcpConfig, flow: &Start, n: usize) -> Self {
        let start = Start { size: 0, salt: hash::mix2(flow.salt.into(), n as u64) as u32, ..*flow };
        let end = match (config.handshake, n) {
            (false, _) => Opened::at_once(config, &start),
            (true, 0) => Opened::Opening { opening: Opening::default(), start },
            (true, _) => Opened::Opening { opening: Opening::joining(), start },
        };
        Subflow { end, sent: Mappings::default(), is_closed: false }
    }

    /// Window, estimate and counters, once it is open.
    fn tcp(&self) -> Option<&TcpSender> {
        self.end.open().map(Stream::tcp)
    }

    fn can_send(&self, config: &TcpConfig) -> bool {
        self.end.open().is_some_and(|stream| stream.can_send(config))
    }

    /// Whether it has something to send that it has sent before.
    fn repeats(&self, config: &TcpConfig) -> bool {
        self.end.open().is_some_and(|stream| stream.repeats() && stream.can_send(config))
    }

    fn resize(&mut self, config: &TcpConfig, size: u64) {
        if let Some(stream) = self.end.open_mut() {
            stream.resize(config, size);
        }
    }

    /// Its window and round-trip time as RFC 6356 counts them. In a recovery the window is inflated, or on its way
    /// down: its size afterwards counts.
    fn share(&self) -> Option<(u64, Span)> {
        let tcp = self.tcp()?;
        let cwnd = if tcp.in_recovery() { tcp.ssthresh() } else { tcp.cwnd() };
        Some((cwnd, tcp.srtt()?))
    }
}

impl<S: Stream> Connection<S> {
    /// The subflow that sends next, if any may.
    fn next_path(&self, config: &TcpConfig) -> Option<usize> {
        let first = self.subflows.iter().position(|subflow| subflow.end.greets());
        let first = first.or_else(|| self.subflows.iter().position(|subflow| subflow.repeats(config)));
        first.or_else(|| {
            let open = self.subflows.iter().enumerate().filter_map(|(n, subflow)| {
                let chunk = self.data.chunk_for(n).filter(|chunk| !subflow.is_closed && self.data.fits(chunk))?;
                let srtt = subflow.tcp()?.srtt().unwrap_or_default();
                subflow.can_send(config).then_some((!chunk.again, srtt, n))
            });
            open.min().map(|(.., n)| n)
        })
    }

    /// Takes the next segment of subflow `n`, which [`Self::next_path`] has named and which is open. Also returns its
    /// first data byte.
    fn next_segment(&mut self, config: &TcpConfig, now: Time, n: usize) -> Option<(Segment, u64)> {
        let Connection { data, subflows } = self;
        let subflow = &mut subflows[n];
        if !subflow.repeats(config) {
            let chunk = data.chunk_for(n)?;
            let end = subflow.tcp()?.sent();
            data.take(&chunk);
            subflow.sent.push(end, chunk.data);
            subflow.is_closed = chunk.len < u64::from(config.mss);
            // This includes data it may take after it: a sender looks beyond the segment it sends.
            let behind = if subflow.is_closed { 0 } else { data.chunk_for(n).map_or(0, |chunk| chunk.len) };
            subflow.resize(config, end + chunk.len + behind);
        }
        let segment = subflow.end.open_mut()?.next_segment(config, now);
        let first = subflow.sent.data_of(segment.seq)?;
        self.share_out(config);
        Some((segment, first))
    }

    /// Subflow `n`, which is open, gets an acknowledgement with the contents of its DSS option.
    fn on_ack(&mut self, config: &TcpConfig, now: Time, n: usize, answer: &Answer, told: &Signal) -> Option<Acked> {
        // Not needed elsewhere.
        let grows = self.subflows[n].tcp().is_some_and(TcpSender::avoids_congestion);
        let coupled = if grows { coupled_window(self.subflows.iter().filter_map(Subflow::share)) } else { 0 };
        let subflow = &mut self.subflows[n];
        let stream = subflow.end.open_mut()?;
        stream.couple(coupled);
        let outcome = stream.on_ack(config, now, answer, || told.sack);
        subflow.sent.acked(answer.cumulative);
        subflow.is_closed &= !subflow.sent.is_empty();
        self.data.on_ack(told.data);
        self.begin_to_join();
        self.share_out(config);
        Some(Acked { newly_acked: outcome.newly_acked, dupack3: outcome.dupack3, done: self.data.is_done() })
    }

    /// RFC 8684 §3.1: no further subflow before a DSS option has come over the first.
    fn begin_to_join(&mut self) {
        self.subflows.iter_mut().for_each(|subflow| subflow.end.begin());
    }

    /// Gives each subflow its next data: to itself, a subflow has that much left to send.
    fn share_out(&mut self, config: &TcpConfig) {
        for (n, subflow) in self.subflows.iter_mut().enumerate() {
            if let Some(sent) = subflow.tcp().map(TcpSender::sent) {
                let next = self.data.chunk_for(n).filter(|_| !subflow.is_closed).map_or(0, |chunk| chunk.len);
                subflow.resize(config, sent + next);
            }
        }
    }
}

impl<S: Stream> Sender for Connection<S> {
    type Config = TcpConfig;

    fn new(config: &TcpConfig, start: &Start) -> Self {
        let window = config.limit_bytes(config.max_window);
        let data = DataSender::new(start.size, config.mss, window, start.paths);
        let subflows = (0..start.paths).map(|n| Subflow::new(config, start, n)).collect();
        let mut connection = Connection { data, subflows };
        connection.share_out(config);
        connection
    }

    fn may_send_from(&self, config: &TcpConfig) -> Time {
        if self.next_path(config).is_some() { Time::ZERO } else { Time::NEVER }
    }

    #[cold]
    fn next(&mut self, config: &TcpConfig, now: Time) -> Option<Outgoing> {
        let path = self.next_path(config)?;
        if let Some(greeting) = self.subflows[path].end.greet(config, now, path) {
            self.share_out(config);
            return Some(greeting);
        }
        let (segment, first) = self.next_segment(config, now, path)?;
        let data = Data {
            seq: segment.seq,
            len: segment.len as u16,
            wire: (segment.len + config.header + config.options().data) as u16,
            flags: if segment.retransmit { RETRANSMIT } else { 0 },
        };
        Some(Outgoing::OnPath(path, data, Signal { data: first, sack: Sack::NONE }.encode()))
    }

    #[cold]
    fn on_answer<'a>(
        &mut self,
        config: &TcpConfig,
        now: Time,
        path: usize,
        answer: &Answer,
        option: impl FnOnce() -> &'a [u8],
    ) -> Answered {
        if let Some(answered) = self.subflows[path].end.on_greeted(config, now, answer) {
            self.share_out(config);
            return answered;
        }
        let told = Signal::decode(option());
        let acked = told.and_then(|told| self.on_ack(config, now, path, answer, &told));
        acked.map_or(Answered::Ignored, Answered::Acked)
    }

    fn deadline(&self, path: usize) -> Option<Time> {
        self.subflows[path].end.deadline(0)
    }

    fn on_timeout(&mut self, config: &TcpConfig, now: Time, path: usize) -> Option<u64> {
        let subflow = &mut self.subflows[path];
        let gave_up = subflow.end.on_timeout(config, now, 0);
        if gave_up.is_some() {
            // A subflow still in its handshake has sent no data.
            self.data.distrust(path, subflow.sent.data());
        }
        self.share_out(config);
        gave_up
    }

    fn is_open(&self, path: usize) -> bool {
        self.subflows[path].end.is_open(0)
    }

    fn account(&self, counts: &mut Counts) {
        self.subflows.iter().for_each(|subflow| subflow.end.account(counts));
        // They are new to their subflow.
        counts.retransmits += self.data.reinjections();
    }
}
