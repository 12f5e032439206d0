//! An agent's status: JSON for people and programs, text for Prometheus.

use crate::agent::{Agent, clock};
use crate::layout::COUNTERS;
use crate::peer::Peer;
use crate::plane::Plane;
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::{Read, Write as _};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

/// Its status.
pub fn status<P: Plane>(agent: &Agent<P>) -> Value {
    let counts = agent.plane.counters().unwrap_or_default();
    let mut counters: serde_json::Map<String, Value> =
        COUNTERS.iter().zip(counts).map(|(name, count)| ((*name).to_owned(), count.into())).collect();
    counters.insert("talk_refused".to_owned(), agent.refused().into());
    let plan = agent.slow.plan();
    let ways = agent.slow.view.ways.iter().enumerate().filter(|(_, ways)| **ways > 0);
    let ways: serde_json::Map<String, Value> = ways.map(|(rack, ways)| (rack.to_string(), (*ways).into())).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "host": agent.config.host,
        "scheme": plan.asked,
        "runs_as": plan.chosen.name(),
        "unit": plan.moves,
        "ready": true,
        "uptime_s": (clock() - agent.began) as f64 / 1e9,
        "ways": ways,
        "peers": agent.peers.iter().map(peer).collect::<Vec<_>>(),
        "counters": counters,
        "events": agent.record.told(agent.began),
    })
}

fn peer(peer: &Peer) -> Value {
    let weights = peer.weights();
    let paths: Vec<Value> = (0..peer.paths.ports.len())
        .map(|way| {
            let (sent, received, echo) = (peer.state.sent[way], peer.state.received[way], peer.state.echo[way]);
            let (rtt, one_way) = peer.delays[way];
            let hops = peer.found.get(way).map_or(&[][..], |path| &path.hops);
            json!({
                "way": way,
                "port": peer.paths.ports[way],
                "hops": hops.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "alive": peer.paths.alive >> way & 1 == 1,
                "weight": weights[way],
                "sent_packets": sent.packets,
                "sent_bytes": sent.bytes,
                "confirmed_packets": echo.packets,
                "received_packets": received.packets,
                "received_bytes": received.bytes,
                "marked_packets": received.marked,
                "rtt_us": rtt as f64 / 1e3,
                "one_way_us": one_way as f64 / 1e3,
            })
        })
        .collect();
    json!({ "host": peer.host, "address": peer.address.to_string(), "state": peer.stage.name(), "paths": paths })
}

/// The same for Prometheus (text format 0.0.4).
pub fn metrics<P: Plane>(agent: &Agent<P>) -> String {
    let status = status(agent);
    let mut text = String::new();
    let mut say = |line: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _infallible = text.write_fmt(line);
    };
    if let Some(counters) = status["counters"].as_object() {
        say(format_args!("# TYPE spinewise_packets_total counter\n"));
        for (name, count) in counters {
            say(format_args!("spinewise_packets_total{{what=\"{name}\"}} {count}\n"));
        }
    }
    let empty = Vec::new();
    let series = [
        ("sent_packets", "counter"),
        ("confirmed_packets", "counter"),
        ("received_packets", "counter"),
        ("marked_packets", "counter"),
        ("weight", "gauge"),
        ("alive", "gauge"),
        ("rtt_us", "gauge"),
    ];
    for (name, kind) in series {
        say(format_args!("# TYPE spinewise_path_{name} {kind}\n"));
        for peer in status["peers"].as_array().unwrap_or(&empty) {
            for path in peer["paths"].as_array().unwrap_or(&empty) {
                let value = match &path[name] {
                    Value::Bool(flag) => u8::from(*flag).into(),
                    other => other.clone(),
                };
                let (address, way) = (peer["address"].as_str().unwrap_or(""), &path["way"]);
                say(format_args!("spinewise_path_{name}{{peer=\"{address}\",way=\"{way}\"}} {value}\n"));
            }
        }
    }
    text
}

/// Answers queries at the socket.
pub struct Desk {
    listener: UnixListener,
    path: std::path::PathBuf,
}

impl Desk {
    /// Listens at this path. A socket on which nothing listens any more is replaced.
    ///
    /// # Errors
    /// Another agent listens there, or the path is impossible.
    pub fn open(path: &Path) -> Result<Desk, crate::Failure> {
        let refused = |words: String| crate::Failure::Unable(format!("socket {}: {words}", path.display()));
        if UnixStream::connect(path).is_ok() {
            return Err(refused("another agent is running there".to_owned()));
        }
        if let Ok(there) = std::fs::symlink_metadata(path) {
            if !there.file_type().is_socket() {
                return Err(refused("something else is there".to_owned()));
            }
            std::fs::remove_file(path).map_err(|error| refused(error.to_string()))?;
        }
        let listener = UnixListener::bind(path).map_err(|error| refused(error.to_string()))?;
        listener.set_nonblocking(true).map_err(|error| refused(error.to_string()))?;
        Ok(Desk { listener, path: path.to_owned() })
    }

    /// Answers the pending queries.
    pub fn serve<P: Plane>(&self, agent: &Agent<P>) {
        while let Ok((mut stream, _)) = self.listener.accept() {
            // A client writes at once; one that does not is not waited for.
            let patient = stream.set_nonblocking(false).and_then(|()| {
                stream.set_read_timeout(Some(Duration::from_millis(20)))?;
                stream.set_write_timeout(Some(Duration::from_millis(100)))
            });
            let mut asked = [0; 16];
            let length = patient.and_then(|()| stream.read(&mut asked)).unwrap_or(0);
            let answer =
                if asked[..length].starts_with(b"metrics") { metrics(agent) } else { format!("{}\n", status(agent)) };
            // A client that has gone needs no answer.
            let _gone = stream.write_all(answer.as_bytes());
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // It may be gone already.
        let _gone = std::fs::remove_file(&self.path);
    }
}

/// An agent that is stopped or hangs is not waited for any longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks a running agent.
///
/// # Errors
/// Nothing answers there.
pub fn ask(path: &Path, what: &str) -> Result<String, crate::Failure> {
    let refused =
        |error: std::io::Error| crate::Failure::Unable(format!("no agent answers at {}: {error}", path.display()));
    let mut stream = UnixStream::connect(path).map_err(refused)?;
    for timeout in [UnixStream::set_read_timeout, UnixStream::set_write_timeout] {
        timeout(&stream, Some(PATIENCE)).map_err(refused)?;
    }
    stream.write_all(format!("{what}\n").as_bytes()).map_err(refused)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(refused)?;
    Ok(answer)
}
