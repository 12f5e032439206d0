//! `spinewise-agent`: runs a scheme at this host, queries a running one, or attaches the marker of a lab's switch.

use spinewise_agent::config::Config;
use spinewise_agent::plan::plan;
use spinewise_agent::{Failure, status};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: spinewise-agent run --config FILE | check --config FILE | status --socket PATH | \
                     metrics --socket PATH | mark --device DEV (--above BYTES | --detach | --read)";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match command(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("spinewise-agent: {failure}");
            match failure {
                Failure::Refused(_) => ExitCode::from(2),
                Failure::Unable(_) | Failure::Failed(_) => ExitCode::from(1),
            }
        }
    }
}

/// The value after an option.
fn option<'a>(words: &'a [String], name: &str) -> Result<&'a str, Failure> {
    let at = words.iter().position(|word| word == name);
    let value = at.and_then(|at| words.get(at + 1));
    value.map(String::as_str).ok_or_else(|| Failure::Refused(format!("{name} is missing\n{USAGE}")))
}

fn command(words: &[String]) -> Result<(), Failure> {
    match words.first().map(String::as_str) {
        Some("run") => run(Config::read(Path::new(option(words, "--config")?))?),
        Some("check") => check(&Config::read(Path::new(option(words, "--config")?))?),
        Some(what @ ("status" | "metrics")) => say(&status::ask(&PathBuf::from(option(words, "--socket")?), what)?),
        Some("mark") => mark(words),
        _ => Err(Failure::Refused(USAGE.to_owned())),
    }
}

/// Writes to standard output. A reader that has seen enough and is gone is no failure.
fn say(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Failed(format!("output: {error}"))),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn check(config: &Config) -> Result<(), Failure> {
    let plan = plan(&config.scheme).map_err(Failure::Refused)?;
    say(&format!("{} runs as {}: each {} on its own path\n", plan.asked, plan.chosen.name(), plan.moves))
}

#[cfg(not(feature = "datapath"))]
const LACKING: &str = "this program was built without its data path (cargo feature `datapath`, which needs clang and \
                       libelf): `make agent` builds it. Nothing was changed; traffic is unaffected";

#[cfg(not(feature = "datapath"))]
fn run(config: Config) -> Result<(), Failure> {
    check(&config)?;
    Err(Failure::Refused(LACKING.to_owned()))
}

#[cfg(not(feature = "datapath"))]
fn mark(_: &[String]) -> Result<(), Failure> {
    Err(Failure::Refused(LACKING.to_owned()))
}

#[cfg(feature = "datapath")]
use daemon::run;

#[cfg(feature = "datapath")]
fn mark(words: &[String]) -> Result<(), Failure> {
    use spinewise_agent::datapath::Marker;
    let device = option(words, "--device")?;
    if words.iter().any(|word| word == "--detach") {
        return Marker::detach(device);
    }
    if words.iter().any(|word| word == "--read") {
        let (seen, marked, longest) = Marker::read(device)?;
        return say(&format!("{}\n", serde_json::json!({ "seen": seen, "marked": marked, "longest_bytes": longest })));
    }
    let above = option(words, "--above")?;
    let bytes = above.parse().ok().filter(|bytes| *bytes > 0);
    let bytes = bytes.ok_or_else(|| Failure::Refused(format!("--above {above}: must be bytes, 1 to 4294967295")))?;
    Marker::attach(device, bytes)
}

#[cfg(feature = "datapath")]
mod daemon;
#[cfg(feature = "datapath")]
mod route;
