//! Files that specs name: missing, of another kind, or wrong in a line.

use super::super::TempFile;
use super::{message, traffic};
use serde_json::Value;

/// The message for an entry that reads a file of this text, the path of the file left out.
fn file_message(entry: &str, key: &str, text: &str) -> String {
    let file = TempFile::new(&format!("message-{}", text.len()), text);
    let mut entry: Value = serde_json::from_str(entry).unwrap();
    entry[key] = file.path().into();
    message(traffic(entry)).replace(&format!("{:?}", file.path()), "PATH")
}

#[test]
fn files() {
    let cdf = |text| file_message(r#"{"kind": "poisson", "load": 0.5, "duration_us": 10}"#, "cdf_file", text);
    assert_eq!(
        cdf(""),
        "traffic[0].cdf_file = PATH: expected a distribution, one \"size probability\" per line; no points; at least \
         two are needed, from probability 0 to 1"
    );
    assert_eq!(
        cdf("0 0\n10 0.5\n5 1\n"),
        "traffic[0].cdf_file = PATH: expected a distribution, one \"size probability\" per line; line 3: size 5 after \
         10; sizes must not fall"
    );
    assert_eq!(
        cdf("0 0\n10 0.7\n20 0.6\n30 1\n"),
        "traffic[0].cdf_file = PATH: expected a distribution, one \"size probability\" per line; line 3: value 0.6 \
         after 0.7; values must not fall"
    );
    assert_eq!(
        cdf("0 0\n10 ninety\n"),
        "traffic[0].cdf_file = PATH: expected a distribution, one \"size probability\" per line; line 2: `ninety` is \
         not a number"
    );
    let csv = |text| file_message(r#"{"kind": "flows"}"#, "file", text);
    assert_eq!(
        csv("src,dst,bytes,start_ns\n0,1,5,0\n"),
        "traffic[0].file = PATH: expected a CSV file of at least one flow between the hosts of this topology; line 1, \
         column size_bytes: `missing`; allowed is a header with src, dst, size_bytes, start_ns"
    );
    assert_eq!(
        csv("src,dst,size_bytes,start_ns\n0,1,5,0\n0,1,-5,0\n"),
        "traffic[0].file = PATH: expected a CSV file of at least one flow between the hosts of this topology; line 3, \
         column size_bytes: `-5`; allowed is a whole number of bytes, 1 or more"
    );
    assert_eq!(
        csv("src,dst,size_bytes,start_ns\n0,99,5,0\n"),
        "traffic[0].file = PATH: expected a CSV file of at least one flow between the hosts of this topology; line 2, \
         column dst: `99`; allowed is a host, from 0 to 7"
    );
}
