//! TCP between the hosts of a rig, counted at both ends.

use crate::rig::Rig;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, spawn};

const PORT: u16 = 5001;

/// Moves this thread to that namespace.
pub(crate) fn enter(namespace: &File) {
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).expect("root may");
}

/// A connection from the first host to the second that carries as much as it can.
pub(crate) struct Stream {
    received: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    sender: JoinHandle<u64>,
    receiver: JoinHandle<()>,
}

impl Stream {
    /// Begins; ends on its own after this many bytes.
    fn up_to(rig: &Rig, address: &'static str, most: u64) -> Stream {
        let (from, to) = (rig.namespace(0), rig.namespace(1));
        let (received, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let count = received.clone();
        let (listening, heard) = std::sync::mpsc::channel();
        let receiver = spawn(move || {
            enter(&to);
            let listener = TcpListener::bind((address, PORT)).expect("a port");
            listening.send(()).expect("somebody waits");
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut room = vec![0; 1 << 16];
            loop {
                match stream.read(&mut room).expect("the connection lives") {
                    0 => return,
                    bytes => count.fetch_add(bytes as u64, Ordering::Relaxed),
                };
            }
        });
        heard.recv().expect("it listens");
        let stop = over.clone();
        let sender = spawn(move || {
            enter(&from);
            let mut stream = TcpStream::connect((address, PORT)).expect("a connection");
            let room = vec![7; 1 << 16];
            let mut sent = 0;
            while sent < most && !stop.load(Ordering::Relaxed) {
                let bytes = room.len().min((most - sent) as usize);
                stream.write_all(&room[..bytes]).expect("the connection lives");
                sent += bytes as u64;
            }
            sent
        });
        Stream { received, over, sender, receiver }
    }

    /// Begins, without end.
    pub(crate) fn begin(rig: &Rig) -> Stream {
        Stream::up_to(rig, "10.11.0.2", u64::MAX)
    }

    /// Bytes that have arrived.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Ends it. Returns bytes sent, and bytes that have arrived.
    pub(crate) fn end(self) -> (u64, u64) {
        self.over.store(true, Ordering::Relaxed);
        let sent = self.sender.join().expect("it sends");
        self.receiver.join().expect("it receives");
        (sent, self.received.load(Ordering::Relaxed))
    }
}

/// Sends this many bytes; returns how many have arrived.
pub(crate) fn transfer(rig: &Rig, bytes: u64) -> u64 {
    transfer_to(rig, "10.11.0.2", bytes)
}

/// The same to another address of the second host.
pub(crate) fn transfer_to(rig: &Rig, address: &'static str, bytes: u64) -> u64 {
    let stream = Stream::up_to(rig, address, bytes);
    let sent = stream.sender.join().expect("it sends");
    assert_eq!(sent, bytes);
    stream.receiver.join().expect("it receives");
    stream.received.load(Ordering::Relaxed)
}
