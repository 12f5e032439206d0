//! The socket at which an agent answers.

use spinewise_agent::status::{Desk, ask};

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
