//! The messages about entropy values: what a timeout means to REPS, which switches hash values, and how many a header
//! of 16 bits holds; and about credit, which Ultra Ethernet alone has.

use super::{check, message};
use serde_json::{Value, json};

#[test]
fn entropy_values() {
    let uet = |switch: Value, params: Value| json!({"preset": "uet-htsim", "switch": switch, "scheme": {"name": "reps", "params": params}});
    let trims = "reps takes a timeout for a failed path, and here it may be congestion; to trim, set";
    let told = |value: &str| {
        format!("scheme.params.freezing = \"{value}\": expected \"idle_timeout\" where switches do not trim; {trims}")
    };
    let here = "switch.model = \"trimming\" and switch.trim = true";
    let there = "transport.kind = \"uet\", the only transport that supports it, and leave switch.model = \"trimming\", \
                 its default";
    let [dropping, off, tcp] = [(told("timeout"), here), (told("off"), here), (told("timeout"), there)]
        .map(|(told, how)| format!("{told} {how}"));
    let hashing = "\"ecmp\", \"hedera\", \"wcmp\", \"round_robin\", \"host_ar\", \"resilient\" or \"loopback_switch\"";
    let drill = format!(
        "scheme.fabric = \"drill\": expected {hashing}; drill does not hash the header of data packets: what oblivious \
         writes there would choose no path"
    );
    check(vec![
        (uet(json!({"trim": false}), json!({})), dropping.as_str()),
        (uet(json!({"model": "output_queued"}), json!({"freezing": "off"})), off.as_str()),
        (json!({"scheme": {"name": "reps"}}), tcp.as_str()),
        (json!({"switch": {"model": "trimming"}, "scheme": {"name": "reps"}}), tcp.as_str()),
        (
            uet(json!({}), json!({"values": 65_536})),
            "scheme.params.values = 65536: expected a whole number from 1 to 65535",
        ),
        (
            json!({"scheme": {"name": "oblivious", "params": {"values": 65_536}}}),
            "scheme.params.values = 65536: expected a power of two from 1 to 32768",
        ),
        (json!({"preset": "uet-htsim", "scheme": {"name": "oblivious", "fabric": "drill"}}), drill.as_str()),
        (
            json!({"preset": "uet-htsim", "scheme": {"name": "mrc", "path_tag": "inner"}}),
            "scheme.path_tag = \"inner\": expected \"outer\"; mrc probes what it draws, and an inner tag selects a \
             different path for a probe than for a flow's data",
        ),
        (
            json!({"preset": "uet-htsim", "scheme": {"name": "mrc", "params": {"planes": 4, "backups": 33}}}),
            "scheme.params.backups = 33: expected a whole number from 0 to 32; planes is 4",
        ),
        (
            json!({"transport": {"receiver_credit": true}}),
            "transport.receiver_credit = true: expected no such key with transport.kind = TCP; \
             receiver_credit is a key of kind = \"uet\"",
        ),
        (
            json!({"transport": {"kind": "rdma", "pull_share": 0.5}}),
            "transport.pull_share = 0.5: expected no such key with transport.kind = \"rdma\"; pull_share is a key of kind \
             = \"uet\"",
        ),
    ]);
    let allowed = |spec: Value| message(spec).starts_with("accepted");
    assert!(allowed(uet(json!({"trim": false}), json!({"freezing": "idle_timeout"}))));
    // Packets that overtake each other are a transport's own affair, as with every scheme that sprays.
    for name in ["rps", "drb", "oblivious", "bitmap", "reps_fifo", "uet_mixed", "mrc", "uno", "mprdma_reuse"] {
        assert!(allowed(json!({"scheme": {"name": name}})), "{name} over TCP");
    }
    assert!(allowed(json!({"scheme": {"name": "reps", "params": {"freezing": "idle_timeout"}}})));
}
