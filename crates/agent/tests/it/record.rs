//! The file of a record, as somebody reads it while the agent runs.

use spinewise_agent::record::{Happened, Record};

const SECOND: u64 = 1_000_000_000;

#[test]
fn events_are_there_at_once_and_samples_within_a_second() {
    let path = std::env::temp_dir().join(format!("swagent-record-{}.jsonl", std::process::id()));
    let mut record = Record::open(Some(&path)).expect("a file");
    let lines = || std::fs::read_to_string(&path).expect("the file").lines().count();
    let begin = 100 * SECOND;
    record.happened(begin, Happened::Began);
    record.happened(begin + 1, Happened::PeerUp { host: 2 });
    assert_eq!(lines(), 2);
    record.point(begin + 2, "queue", 1.0);
    record.keep_up(begin + SECOND / 2);
    assert_eq!(lines(), 2, "samples are written together");
    // Nothing else happens.
    record.keep_up(begin + 2 * SECOND);
    assert_eq!(lines(), 3);
    std::fs::remove_file(&path).expect("it was ours");
}
