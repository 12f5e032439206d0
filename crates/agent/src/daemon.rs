//! `run`: check everything first; then attach the data path, drop privileges, and start the loop.

use crate::route;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use spinewise_agent::Failure;
use spinewise_agent::agent::{Agent, Doors, clock, life};
use spinewise_agent::config::Config;
use spinewise_agent::datapath::{self, Datapath};
use spinewise_agent::layout::Own;
use spinewise_agent::plan::plan;
use spinewise_agent::shim::ROOM;
use spinewise_agent::status::Desk;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) fn run(config: Config) -> Result<(), Failure> {
    let plan = plan(&config.scheme).map_err(Failure::Refused)?;
    let (mtu, longest) = fits(&config)?;
    let instance = life();
    let desk = Desk::open(&config.socket)?;
    let doors = Doors::open(&config, instance, longest)?;
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
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT] {
        signal_hook::flag::register(signal, stop.clone())
            .map_err(|error| Failure::Unable(format!("signals: {error}")))?;
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

/// The MTU of the device, and the length of the longest packet to each host with the tunnel's headers, if they fit on
/// top of what routes allow.
///
/// # Errors
/// They do not: connections would hang without an error, because packets that are cut into segments later are dropped
/// further on. Or this machine is not as the configuration says.
fn fits(config: &Config) -> Result<(u32, Vec<u16>), Failure> {
    let device = &config.device;
    let text = std::fs::read_to_string(format!("/sys/class/net/{device}/mtu"));
    let mtu: u32 = text
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .ok_or_else(|| Failure::Unable(format!("device = {device:?}: no such device in this network namespace")))?;
    let me = config.me();
    UdpSocket::bind(SocketAddrV4::new(me.address, 0)).map_err(|error| {
        let (host, address) = (config.host, me.address);
        Failure::Unable(format!("hosts[{host}].address = {address}: this machine has no such address ({error})"))
    })?;
    let room = ROOM as u32;
    let mut longest = vec![0; config.hosts.len()];
    for (host, longest) in config.hosts.iter().zip(&mut longest).filter(|(host, _)| host.rack != me.rack) {
        let inner = route_mtu(config, host.address)?;
        if inner + room > mtu {
            return Err(Failure::Unable(format!(
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
        *longest = u16::try_from(inner + room).unwrap_or(u16::MAX);
    }
    Ok((mtu, longest))
}

/// The MTU of the route to a host, which must lead through the device: its programs see nothing else.
fn route_mtu(config: &Config, to: Ipv4Addr) -> Result<u32, Failure> {
    let (from, device) = (config.me().address, &config.device);
    let unable = |error: &dyn std::fmt::Display| Failure::Unable(format!("no route from {from} to {to}: {error}"));
    if route::device(from, to).map_err(|error| unable(&error))? != datapath::device(device)? {
        return Err(Failure::Unable(format!("device = {device:?}: the route from {from} to {to} uses another one")));
    }
    let socket = UdpSocket::bind(SocketAddrV4::new(from, 0)).map_err(|error| unable(&error))?;
    socket.connect(SocketAddrV4::new(to, config.port)).map_err(|error| unable(&error))?;
    rustix::net::sockopt::ip_mtu(&socket).map_err(|error| unable(&error))
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
