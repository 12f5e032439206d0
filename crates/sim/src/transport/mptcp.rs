//! MPTCP (RFC 8684): one connection over several subflows, each of which is a separate TCP.
//!
//! Raiciu et al., "Improving datacenter performance and robustness with multipath TCP", SIGCOMM 2011: a host opens
//! several subflows between the same two addresses, with different ports, so that ECMP may send them over different
//! paths.
//!
//! | rule | where |
//! |---|---|
//! | coupled increase (RFC 6356 §3, eqs. 1 and 2) | `congestion/lia.rs` [`coupled_window`], [`super::TcpSender::couple`] |
//! | uncoupled slow start, decrease, recovery (RFC 6356 §3) | [`super::TcpSender`], [`super::SackSender`] |
//! | mapping of subflow bytes to data (RFC 8684 §3.3.1) | `data.rs` [`Mappings`] |
//! | data acknowledgement, window of the connection (RFC 8684 §3.3.2, §3.3.4) | `data.rs` [`DataSender`] |
//! | sending again on another subflow (RFC 8684 §3.3.6) | `data.rs` [`DataSender::distrust`] |
//! | reassembly | [`super::Reassembly`] |
//! | options on the wire (RFC 8684 §3.1 to 3.3) | [`super::options`] |
//! | joining (RFC 8684 §3.2) | [`super::Opening::joining`] |
//! | which subflow sends next, coupling of their windows | `connection.rs` [`Connection`] |
//! | the receiving end | `assembly.rs` [`Assembly`] |
//!
//! | our word | the RFC's |
//! |---|---|
//! | data byte | byte by its data sequence number |
//! | segment of data | the data of one mapping: here always one segment |
//!
//! Departures:
//! * A mapping covers one segment, and segments are cut from the data on a grid of the MSS, so only the last one is
//!   shorter. A subflow that has been given it takes no more data until it is acknowledged.
//! * Data that a subflow's timer gives up as lost may go on another subflow, once for each such timeout; the subflow
//!   itself also sends it again, as its own sequence space demands.
//! * No penalties for slow subflows and no sending ahead of a full window (Raiciu et al., NSDI 2012), no ADD_ADDR,
//!   MP_PRIO, MP_FAIL, checksums of data or fallback to TCP.

mod assembly;
mod connection;
mod data;

pub(crate) use super::congestion::lia::coupled_window;
pub(crate) use assembly::Assembly;
pub(crate) use connection::Connection;
pub(crate) use data::{DataSender, Mappings};

use super::TcpConfig;
use super::contract::{Facts, Transport};
use super::one_path::facts;
use super::stream::Stream;
use std::marker::PhantomData;

/// MPTCP with senders `S` for its subflows.
#[derive(Debug)]
pub struct Multipath<S>(PhantomData<S>);

impl<S: Stream> Transport for Multipath<S> {
    type Config = TcpConfig;
    type Sender = Connection<S>;
    type Receiver = Assembly;

    fn facts(config: &TcpConfig) -> Facts {
        facts(config)
    }
}
