//! The socket at which an agent answers.

use spinewise_agent::status::{Desk, ask};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let path = std::env::temp_dir().join(format!("swagent-gone-{}.sock", std::process::id()));
    let desk = UnixListener::bind(&path).expect("a socket");
    for what in ["status", "metrics"] {
        // Nobody reads what it writes, as in `spinewise-agent status | true`.
        let (reader, out) = UnixStream::pair().expect("a pair");
        drop(reader);
        let mut program = Command::new(env!("CARGO_BIN_EXE_spinewise-agent"));
        program.args([what, "--socket"]).arg(&path).stdout(OwnedFd::from(out)).stderr(Stdio::piped());
        let child = program.spawn().expect("it starts");
        let (mut client, _) = desk.accept().expect("it asks");
        client.read_exact(&mut vec![0; what.len() + 1]).expect("a question");
        client.write_all(b"{}\n").expect("an answer");
        drop((client, program));
        let ended = child.wait_with_output().expect("it ends");
        assert!(ended.status.success() && ended.stderr.is_empty(), "{what}: {ended:?}");
    }
    std::fs::remove_file(&path).expect("it was ours");
}

#[test]
fn a_socket_that_was_left_is_replaced_and_a_file_is_not() {
    let folder = std::env::temp_dir().join(format!("swagent-desk-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("agent.sock");
    // The socket is left as by an agent that was killed: nothing listens.
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
    assert!(path.exists());
    drop(Desk::open(&path).expect("it is replaced"));
    assert!(!path.exists(), "it goes with its agent");
    std::fs::write(&path, "of somebody").expect("a file");
    let words = Desk::open(&path).err().expect("refused").to_string();
    assert!(words.contains("something else is there"), "{words}");
    assert_eq!(std::fs::read_to_string(&path).expect("it is still there"), "of somebody");
    std::fs::remove_dir_all(&folder).expect("it was ours");
}

#[test]
fn an_agent_that_hangs_is_not_waited_for() {
    let path = std::env::temp_dir().join(format!("swagent-hangs-{}.sock", std::process::id()));
    // It listens, and that is all it does.
    let _listens = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
    let words = ask(&path, "status").expect_err("nothing answers").to_string();
    assert!(words.contains("no agent answers"), "{words}");
    std::fs::remove_file(&path).expect("it was ours");
}
