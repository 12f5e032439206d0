//! A record of events, for queries and, if a file is given, for later.

use crate::Failure;
use crate::health::Why;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::Ipv4Addr;
use std::path::Path;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// This agent begins.
    Began,
    /// A peer's agent has answered.
    PeerUp {
        /// Which.
        host: u32,
    },
    /// It has left, or no longer answers.
    PeerGone {
        /// Which.
        host: u32,
    },
    /// Its agent talks, but nothing comes back from the tunnel.
    TunnelSilent {
        /// Which.
        host: u32,
    },
    /// Packets of full length are lost on paths to a peer that let short ones through.
    MtuTooSmall {
        /// The host they lead to.
        host: u32,
        /// Their number, of those found.
        count: usize,
        /// The length, outer headers included.
        bytes: u16,
    },
    /// Programs had been removed from the device, and were attached again.
    Reattached,
    /// The paths to a peer have changed.
    Paths {
        /// The host they lead to.
        host: u32,
        /// Their number.
        count: usize,
    },
    /// A path has died.
    PathDead {
        /// The host it leads to.
        host: u32,
        /// Which.
        way: usize,
        /// Why it is considered dead.
        why: Why,
    },
    /// A path is back.
    PathBack {
        /// The host it leads to.
        host: u32,
        /// Which.
        way: usize,
    },
}

impl Happened {
    fn told(self, at: (&str, Value)) -> Value {
        let (what, mut told) = match self {
            Happened::Began => ("began", json!({})),
            Happened::PeerUp { host } => ("peer_up", json!({ "host": host })),
            Happened::PeerGone { host } => ("peer_gone", json!({ "host": host })),
            Happened::TunnelSilent { host } => ("tunnel_silent", json!({ "host": host })),
            Happened::MtuTooSmall { host, count, bytes } => {
                ("mtu_too_small", json!({ "host": host, "paths": count, "bytes": bytes }))
            }
            Happened::Reattached => ("reattached", json!({})),
            Happened::Paths { host, count } => ("paths", json!({ "host": host, "count": count })),
            Happened::PathDead { host, way, why } => {
                let ms = |ns: u64| (ns / 1_000) as f64 / 1e3;
                let Why { unanswered, silent, patience } = why;
                let why = json!({ "unanswered": unanswered, "silent_ms": ms(silent), "patience_ms": ms(patience) });
                ("path_dead", json!({ "host": host, "way": way, "why": why }))
            }
            Happened::PathBack { host, way } => ("path_back", json!({ "host": host, "way": way })),
        };
        let key = if at.0 == "t_ns" { "event" } else { "what" };
        told[at.0] = at.1;
        told[key] = what.into();
        told
    }
}

/// The record.
pub struct Record {
    file: Option<BufWriter<File>>,
    events: VecDeque<(u64, Happened)>,
    /// When the file last had everything.
    flushed: u64,
}

impl Record {
    /// Written to the end of this file, if one is given: what agents before this one have recorded stays.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn open(path: Option<&Path>) -> Result<Record, Failure> {
        let open = |path: &Path| {
            let file = File::options().create(true).append(true).open(path);
            file.map_err(|error| Failure::Unable(format!("record {}: {error}", path.display())))
        };
        let file = path.map(open).transpose()?.map(BufWriter::new);
        Ok(Record { file, events: VecDeque::new(), flushed: 0 })
    }

    /// Something has happened.
    pub fn happened(&mut self, now: u64, what: Happened) {
        /// This many are kept.
        const KEPT: usize = 1000;
        if self.events.len() == KEPT {
            self.events.pop_front();
        }
        self.events.push_back((now, what));
        self.line(&what.told(("t_ns", now.into())));
        self.flush(now);
    }

    /// A point of a series of the scheme.
    pub fn point(&mut self, now: u64, series: &str, value: f64) {
        self.line(&json!({ "t_ns": now, "series": series, "value": value }));
    }

    /// Records the scheme's view of each way to a host: the second switch on it, and these quantities.
    pub fn sight(&mut self, now: u64, host: u32, names: &[&str], ways: &[(Option<Ipv4Addr>, Vec<f64>)]) {
        let ways: Vec<Value> = ways
            .iter()
            .map(|(via, values)| {
                let mut told = json!({ "via": via.map(|address| address.to_string()) });
                for (name, value) in names.iter().zip(values) {
                    told[*name] = json!(value);
                }
                told
            })
            .collect();
        self.line(&json!({ "t_ns": now, "peer": host, "sight": ways }));
    }

    /// Writes out the samples taken since then, if a reader has waited for them for a second.
    pub fn keep_up(&mut self, now: u64) {
        const SECOND: u64 = 1_000_000_000;
        if now.saturating_sub(self.flushed) >= SECOND {
            self.flush(now);
        }
    }

    fn flush(&mut self, now: u64) {
        self.flushed = now;
        self.write(BufWriter::flush);
    }

    fn line(&mut self, line: &Value) {
        self.write(|file| writeln!(file, "{line}"));
    }

    /// A full disk ends the record, not the traffic.
    fn write(&mut self, how: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) {
        if self.file.as_mut().is_some_and(|file| how(file).is_err()) {
            self.file = None;
        }
    }

    /// Returns the events since `began`, newest last.
    pub fn told(&self, began: u64) -> Vec<Value> {
        let seconds = |at: u64| (at.saturating_sub(began) / 1_000) as f64 / 1e6;
        self.events.iter().map(|&(at, what)| what.told(("t_s", seconds(at).into()))).collect()
    }
}
