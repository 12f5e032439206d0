//! The receiving end of an MPTCP connection: its data, and the receiving ends of its subflows.

use crate::transport::contract::{Answer, Arrival, Received, Receiver, Told};
use crate::transport::options::Signal;
use crate::transport::receiver::welcome;
use crate::transport::{Reassembly, Sack, TcpConfig, TcpReceiver};
use spinewise_policy::Time;

/// The receiving end of a connection.
#[derive(Debug)]
pub struct Assembly {
    size: u64,
    /// The data that is here.
    data: Reassembly,
    /// The receiving ends of its subflows, made on first use.
    subflows: Vec<Option<Box<TcpReceiver>>>,
}

impl Receiver for Assembly {
    type Config = TcpConfig;

    fn new(config: &TcpConfig, size: u64) -> Self {
        let subflows = (0..config.subflows).map(|_| None).collect();
        Assembly { size, data: Reassembly::default(), subflows }
    }

    #[cold]
    fn on_data<'a>(
        &mut self,
        config: &TcpConfig,
        now: Time,
        path: usize,
        data: &Arrival,
        option: impl FnOnce() -> &'a [u8],
    ) -> Received {
        let Some(told) = Signal::decode(option()) else { return Received::default() };
        let tcp = self.subflows[path].get_or_insert_with(|| Box::new(TcpReceiver::new(u64::MAX)));
        let new_bytes = self.data.take(told.data, told.data + u64::from(data.len));
        let completed = new_bytes > 0 && self.data.expected() == self.size;
        if completed {
            // DATA_FIN (RFC 8684 §3.3.3): it is acknowledged at once, as a FIN would be.
            tcp.finish_with(data.end());
        }
        // Out of order means out of order in the subflow: data overtaking data on another subflow is normal.
        let got = tcp.on_data(config, now, data);
        let sack = if config.recovery.has_sack() { tcp.sack() } else { Sack::NONE };
        Received { told: Some(option_of(config, self.data.expected(), &sack)), new_bytes, completed, ..got }
    }

    fn late<'a>(config: &TcpConfig, size: u64, data: &Arrival, option: impl FnOnce() -> &'a [u8]) -> Received {
        let Some(told) = Signal::decode(option()) else { return Received::default() };
        let sack = if config.recovery.has_sack() { Sack::of(&[(data.seq, data.end())]) } else { Sack::NONE };
        // Of several subflows, what each has received is known no longer; a single one has received everything.
        let here = if config.subflows == 1 { size } else { data.end() };
        Received {
            answers: [Some(Answer::to(data, here)), None],
            told: Some(option_of(config, size, &sack)),
            out_of_order: told.data + u64::from(data.len) < size,
            ..Received::default()
        }
    }

    fn deadline(&self, path: usize) -> Option<Time> {
        self.subflows[path].as_deref().and_then(TcpReceiver::deadline)
    }

    fn on_timeout(&mut self, config: &TcpConfig, now: Time, path: usize) -> Option<(Answer, Option<Told>)> {
        let answer = self.subflows[path].as_deref_mut()?.on_timeout(config, now)?;
        Some((answer, Some(option_of(config, self.data.expected(), &Sack::NONE))))
    }

    fn welcome(config: &TcpConfig, path: usize, greeting: &Arrival) -> u16 {
        welcome(config, path, greeting)
    }
}

/// The options of an acknowledgement: DSS, whose bytes are part of every acknowledgement, and SACK in the room that DSS
/// leaves.
fn option_of(config: &TcpConfig, data: u64, sack: &Sack) -> Told {
    let blocks = sack.blocks();
    let sack = Sack::of(&blocks[..blocks.len().min(config.options().sack_blocks)]);
    Told { option: Signal { data, sack }.encode(), wire: sack.wire_bytes() as u16 }
}
