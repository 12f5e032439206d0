//! Which device the kernel sends packets to an address through, asked by netlink (`man 7 rtnetlink`).

use socket2::{Domain, Socket, Type};
use std::io::{Error, Read, Write};
use std::net::Ipv4Addr;
use std::time::Duration;

/// Numbers of the kernel's interface: `linux/netlink.h`, `linux/rtnetlink.h`.
const AF_NETLINK: i32 = 16;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const RTA_DST: u16 = 1;
const RTA_SRC: u16 = 2;
const RTA_OIF: u16 = 4;
/// Bytes of the header of a message, and of a route.
const HEAD: usize = 16;
const ROUTE: usize = 12;

/// The number of the device.
///
/// # Errors
/// There is no route.
pub(crate) fn device(from: Ipv4Addr, to: Ipv4Addr) -> Result<u32, Error> {
    let mut socket = Socket::new(Domain::from(AF_NETLINK), Type::RAW, None)?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    socket.write_all(&question(from, to))?;
    let mut room = [0; 4096];
    let length = socket.read(&mut room)?;
    answer(&room[..length])
}

fn question(from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let mut asked = vec![0; HEAD];
    // AF_INET, and 32 bits of either address.
    asked.extend([2, 32, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for (kind, address) in [(RTA_DST, to), (RTA_SRC, from)] {
        asked.extend(8u16.to_ne_bytes());
        asked.extend(kind.to_ne_bytes());
        asked.extend(address.octets());
    }
    let length = asked.len() as u32;
    asked[..4].copy_from_slice(&length.to_ne_bytes());
    asked[4..6].copy_from_slice(&RTM_GETROUTE.to_ne_bytes());
    asked[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    asked
}

fn answer(told: &[u8]) -> Result<u32, Error> {
    let short = || Error::other("the kernel's answer is cut short");
    let word = |at: usize| Some(u16::from_ne_bytes(told.get(at..at + 2)?.try_into().ok()?));
    let long = |at: usize| Some(u32::from_ne_bytes(told.get(at..at + 4)?.try_into().ok()?));
    match word(4).ok_or_else(short)? {
        RTM_NEWROUTE => {}
        NLMSG_ERROR => return Err(Error::from_raw_os_error(-(long(HEAD).ok_or_else(short)? as i32))),
        other => return Err(Error::other(format!("the kernel answers with message {other}"))),
    }
    let mut at = HEAD + ROUTE;
    while let (Some(length), Some(kind)) = (word(at), word(at + 2)) {
        if kind == RTA_OIF {
            return long(at + 4).ok_or_else(short);
        }
        at += usize::from(length).next_multiple_of(4).max(4);
    }
    Err(short())
}
