//! The C of the data path, compiled natively (`bpf/native.c`).
#![allow(unsafe_code)]

use spinewise_agent::layout::{Flow, Table};
use spinewise_agent::shim::{Outer, ROOM, Shim};

unsafe extern "C" {
    fn spinewise_edge_choose(
        table: *const Table,
        flow: *mut Flow,
        cursor: *mut u32,
        now: u64,
        packets: u32,
        burst: *mut u16,
    ) -> u16;
    fn spinewise_edge_read(bytes: *const u8, had: u32, length: u32, port: u16, shim: *mut Shim) -> i32;
    #[allow(clippy::too_many_arguments)]
    fn spinewise_edge_write(
        bytes: *mut u8,
        length: u16,
        tos: u8,
        ttl: u8,
        id: u16,
        src: *const u8,
        dst: *const u8,
        from: u16,
        to: u16,
        shim: *const Shim,
    );
    fn spinewise_edge_size(which: u32) -> u32;
}

/// `edge_choose`: the way and the burst.
pub(crate) fn choose(table: &Table, flow: &mut Flow, cursor: &mut u32, now: u64, packets: u32) -> (u16, u16) {
    let mut burst = 0;
    // SAFETY: all pointers are of live references to structs of the layout that `sizes` compares.
    let way = unsafe { spinewise_edge_choose(table, flow, cursor, now, packets, &mut burst) };
    (way, burst)
}

/// `edge_read`: the kind of packet, and the shim.
pub(crate) fn read(bytes: &[u8], length: u32, port: u16) -> (i32, Shim) {
    let mut shim = Shim::default();
    // SAFETY: it reads no more than `had` bytes, and writes one shim.
    let what = unsafe { spinewise_edge_read(bytes.as_ptr(), bytes.len() as u32, length, port, &mut shim) };
    (what, shim)
}

/// `edge_write_outer` and `edge_write_shim`.
pub(crate) fn write(shim: &Shim, outer: &Outer) -> [u8; ROOM] {
    let mut bytes = [0; ROOM];
    let Outer { src, dst, from, to, length, tos, ttl, id } = outer;
    // SAFETY: it writes `ROOM` bytes, and reads four of each address.
    unsafe {
        spinewise_edge_write(
            bytes.as_mut_ptr(),
            *length,
            *tos,
            *ttl,
            *id,
            src.as_ptr(),
            dst.as_ptr(),
            *from,
            *to,
            shim,
        );
    }
    bytes
}

/// Sizes of the structs in C.
pub(crate) fn size(which: u32) -> usize {
    // SAFETY: no pointers.
    unsafe { spinewise_edge_size(which) as usize }
}
