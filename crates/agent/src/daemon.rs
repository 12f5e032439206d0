//! `run`: check everything first; then attach the data path, drop privileges, and start the loop.

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};
use spinewise_agent::Failure;
use spinewise_agent::agent::{Agent, Doors, clock, life};
use spinewise_agent::config::Config;
use spinewise_agent::datapath::Datapath;
use spinewise_agent::layout::Own;
use spinewise_agent::plan::plan;
use spinewise_agent::shim::ROOM;
use spinewise_agent::status::Desk;
use std::io::Write;
use std::net::{SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) fn run(config: Config) -> Result<(), Failure> {
    let plan = plan(&config.scheme).map_err(Failure::Refused)?;
    let mtu = fits(&config)?;
    let instance = life();
    let desk = Desk::open(&config.socket)?;
    let doors = Doors::open(&config, instance)?;
    let own = Own {
        beat: clock(),
        lease_ns: config.lease_ms * 1_000_000,
        address: config.me().address.octets(),
        port: config.port.to_be_bytes(),
        instance,
        mtu,
        spare: 0,
    };
    let step = Duration::from_micros(config.step_us);
    let plane = Datapath::load(&config.device)?;
    let mut agent = Agent::new(config, plan, plane, doors, own)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, stop.clone())
            .map_err(|error| Failure::Refused(format!("signals: {error}")))?;
    }
    agent.plane.attach()?;
    let mut outcome = drop_privileges().and_then(|()| {
        let mut out = std::io::stdout();
        writeln!(out, "ready").and_then(|()| out.flush()).map_err(|error| Failure::Failed(format!("ready: {error}")))
    });
    while outcome.is_ok() && !stop.load(Ordering::Relaxed) {
        outcome = agent.step();
        desk.serve(&agent);
        std::thread::sleep(step);
    }
    // Whatever failed, traffic is left plain.
    outcome.and(agent.stop())
}

/// The MTU of the device, if the tunnel's headers fit on top of what routes allow.
///
/// # Errors
/// They do not: connections would hang without an error, because packets that are cut into segments later are dropped
/// further on.
fn fits(config: &Config) -> Result<u32, Failure> {
    let device = &config.device;
    let text = std::fs::read_to_string(format!("/sys/class/net/{device}/mtu"));
    let mtu: u32 = text
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .ok_or_else(|| Failure::Refused(format!("device = {device:?}: no such device in this network namespace")))?;
    let me = config.me();
    let room = ROOM as u32;
    for host in config.hosts.iter().filter(|host| host.rack != me.rack) {
        let refused = |error: &dyn std::fmt::Display| {
            Failure::Refused(format!("no route from {} to {}: {error}", me.address, host.address))
        };
        let socket = UdpSocket::bind(SocketAddrV4::new(me.address, 0)).map_err(|error| refused(&error))?;
        socket.connect(SocketAddrV4::new(host.address, config.port)).map_err(|error| refused(&error))?;
        let inner = rustix::net::sockopt::ip_mtu(&socket).map_err(|error| refused(&error))?;
        if inner + room > mtu {
            return Err(Failure::Refused(format!(
                "MTU too small: packets to {} may have {inner} bytes and the tunnel adds {room}, but {device} takes \
                 {mtu}. Set its MTU and the fabric's to {} or more, or the route's to {} or less (`ip route change ... \
                 mtu {} advmss {}`)",
                host.address,
                inner + room,
                mtu - room,
                mtu - room,
                mtu.saturating_sub(room + 40),
            )));
        }
    }
    Ok(mtu)
}

/// Keeps the capability needed to detach the data path in the end (CAP_NET_ADMIN), and nothing else; no privilege can
/// be gained any more, either.
fn drop_privileges() -> Result<(), Failure> {
    let failed = |error: rustix::io::Errno| Failure::Failed(format!("dropping privileges: {error}"));
    let kept = CapabilitySet::NET_ADMIN;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    set_no_new_privs(true).map_err(failed)?;
    set_capabilities(None, sets).map_err(failed)
}
