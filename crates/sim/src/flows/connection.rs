//! An MPTCP connection: the subflows of one flow, at either end, and which of them sends next.
//!
//! Each subflow has a number of its own, above those of all flows, which its packets, its timers and its rows at schemes
//! go by: to switches and schemes it is a flow. The flow's own number stands for the connection: in the NIC's round, at
//! gates and in the records. So the NIC pulls a segment from the connection, which asks its subflows, in this order:
//! * one that has a packet of a handshake to send;
//! * one that is to send again what it has sent;
//! * of those whose windows have room, for data that another one has given up for lost, else for new data: that of the
//!   least smoothed round-trip time, as Linux's default scheduler does. One without a sample counts as 0, and the
//!   lowest number wins a tie.

use super::{Machine, Receiver, Sender};
use crate::transport::mptcp::{DataSender, Mappings, Signal, coupled_window};
use crate::transport::{Ack, AckOutcome, Expired, Opening, Reassembly, Segment, TcpConfig, TcpSender};
use spinewise_policy::{Span, Time};

/// The sending end of a connection.
#[derive(Debug)]
pub struct Connection {
    /// Its data.
    pub data: DataSender,
    /// Its subflows.
    pub subflows: Vec<Subflow>,
}

/// The sending end of a subflow.
#[derive(Debug)]
pub struct Subflow {
    /// As that of a flow of TCP.
    pub sender: Sender,
    sent: Mappings,
    /// It has been given a segment that is not full, and takes no more.
    is_closed: bool,
}

/// The receiving end of a connection.
#[derive(Debug, Default)]
pub struct Assembly {
    /// The data that is here.
    pub data: Reassembly,
    /// The receiving ends of its subflows, made on first use.
    pub subflows: Vec<Option<Box<Receiver>>>,
}

impl Assembly {
    /// Of a connection of `subflows`.
    pub fn new(subflows: u32) -> Self {
        let mut assembly = Assembly::default();
        assembly.subflows.resize_with(subflows as usize, || None);
        assembly
    }
}

impl Subflow {
    fn new(machine: Machine) -> Self {
        Subflow { sender: Sender::new(machine), sent: Mappings::default(), is_closed: false }
    }

    /// Window, estimate and counters, once it is open.
    pub fn tcp(&self) -> Option<&TcpSender> {
        match &self.sender.machine {
            Machine::Tcp(tcp) => Some(tcp),
            Machine::Sack(sack) => Some(sack.tcp()),
            _ => None,
        }
    }

    fn can_send(&self, config: &TcpConfig) -> bool {
        match &self.sender.machine {
            Machine::Tcp(tcp) => tcp.can_send(config),
            Machine::Sack(sack) => sack.can_send(),
            _ => false,
        }
    }

    /// Has it something to send that it has sent before?
    fn repeats(&self, config: &TcpConfig) -> bool {
        let again = match &self.sender.machine {
            Machine::Tcp(tcp) => tcp.repeats(),
            Machine::Sack(sack) => sack.repeats(),
            _ => false,
        };
        again && self.can_send(config)
    }

    fn resize(&mut self, config: &TcpConfig, size: u64) {
        match &mut self.sender.machine {
            Machine::Tcp(tcp) => tcp.resize(size),
            Machine::Sack(sack) => sack.resize(config, size),
            _ => {}
        }
    }

    /// Its window and round-trip time as RFC 6356 counts them. In a recovery the window is inflated, or on its way
    /// down: what it will be then counts.
    fn share(&self) -> Option<(u64, Span)> {
        let tcp = self.tcp()?;
        let cwnd = if tcp.in_recovery() { tcp.ssthresh() } else { tcp.cwnd() };
        Some((cwnd, tcp.srtt()?))
    }
}

impl Connection {
    /// Of a flow of `size` bytes, with so many subflows. Without a handshake all subflows are open, else the first one's SYN is due.
    pub fn new(config: &TcpConfig, size: u64, subflows: u32) -> Self {
        let all = (0..subflows).map(|n| {
            Subflow::new(match (config.handshake, n) {
                (false, _) => Machine::tcp(config, TcpSender::new(config, 0).numbered(n)),
                (true, 0) => Machine::Opening(Opening::default()),
                (true, _) => Machine::Opening(Opening::joining()),
            })
        });
        let window = config.limit_bytes(config.max_window);
        let data = DataSender::new(size, config.mss, window, subflows as usize);
        let mut connection = Connection { data, subflows: all.collect() };
        connection.share_out(config);
        connection
    }

    /// Which subflow sends next, if any may.
    pub fn next(&self, config: &TcpConfig) -> Option<usize> {
        let greets = |subflow: &Subflow| matches!(&subflow.sender.machine, Machine::Opening(open) if open.may_send());
        let first = self.subflows.iter().position(greets);
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

    /// Takes the next segment of subflow `n`, which [`Self::next`] has named and which is open, and its first data byte.
    pub fn next_segment(&mut self, config: &TcpConfig, now: Time, n: usize) -> Option<(Segment, u64)> {
        let Connection { data, subflows } = self;
        let subflow = &mut subflows[n];
        if !subflow.repeats(config) {
            let chunk = data.chunk_for(n)?;
            let end = subflow.tcp()?.sent();
            data.take(&chunk);
            subflow.sent.push(end, chunk.data);
            subflow.is_closed = chunk.len < u64::from(config.mss);
            // With what it may take behind it: a sender looks beyond the segment it sends.
            let behind = if subflow.is_closed { 0 } else { data.chunk_for(n).map_or(0, |chunk| chunk.len) };
            subflow.resize(config, end + chunk.len + behind);
        }
        let segment = match &mut subflow.sender.machine {
            Machine::Tcp(tcp) => tcp.next_segment(config, now),
            Machine::Sack(sack) => sack.next_segment(config, now),
            _ => return None,
        };
        let first = subflow.sent.data_of(segment.seq)?;
        self.share_out(config);
        Some((segment, first))
    }

    /// Subflow `n` gets an acknowledgement at `now`, with what its DSS option tells.
    pub fn on_ack(&mut self, config: &TcpConfig, now: Time, n: usize, ack: &Ack, told: &Signal) -> AckOutcome {
        // Of no use elsewhere.
        let grows = self.subflows[n].tcp().is_some_and(TcpSender::avoids_congestion);
        let coupled = if grows { coupled_window(self.subflows.iter().filter_map(Subflow::share)) } else { 0 };
        let subflow = &mut self.subflows[n];
        let outcome = match &mut subflow.sender.machine {
            Machine::Tcp(tcp) => {
                tcp.couple(coupled);
                tcp.on_ack(config, now, ack)
            }
            Machine::Sack(sack) => {
                sack.couple(coupled);
                sack.on_ack(config, now, ack, &told.sack)
            }
            _ => return AckOutcome::default(),
        };
        subflow.sent.acked(ack.cumulative);
        self.data.on_ack(told.data);
        self.begin_to_join();
        self.share_out(config);
        outcome
    }

    /// The timer of subflow `n` has expired, which is open.
    pub fn on_timeout(&mut self, config: &TcpConfig, now: Time, n: usize) -> Expired {
        let subflow = &mut self.subflows[n];
        let expired = match &mut subflow.sender.machine {
            Machine::Tcp(tcp) => {
                tcp.on_timeout(config, now);
                Expired::Timeout
            }
            Machine::Sack(sack) => sack.on_timeout(config, now),
            _ => return Expired::Other,
        };
        if expired == Expired::Timeout {
            self.data.distrust(n, self.subflows[n].sent.data());
        }
        self.share_out(config);
        expired
    }

    /// The handshake of subflow `n` is through.
    pub fn opened(&mut self, config: &TcpConfig, n: usize) {
        let sender = &mut self.subflows[n].sender;
        if let Machine::Opening(opening) = &sender.machine {
            sender.machine = Machine::tcp(config, opening.sender(config, 0).numbered(n as u32));
            self.share_out(config);
        }
    }

    /// RFC 8684 §3.1: no further subflow before a DSS option has come over the first.
    fn begin_to_join(&mut self) {
        for subflow in &mut self.subflows {
            if let Machine::Opening(opening) = &mut subflow.sender.machine {
                opening.begin();
            }
        }
    }

    /// Lets each subflow know what it would take next: to itself, a subflow has that much left to send.
    fn share_out(&mut self, config: &TcpConfig) {
        for (n, subflow) in self.subflows.iter_mut().enumerate() {
            if let Some(sent) = subflow.tcp().map(TcpSender::sent) {
                let next = self.data.chunk_for(n).filter(|_| !subflow.is_closed).map_or(0, |chunk| chunk.len);
                subflow.resize(config, sent + next);
            }
        }
    }
}
