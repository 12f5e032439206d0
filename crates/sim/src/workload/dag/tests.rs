//! Tables of operations: what is read, what is refused, and the resulting actions.

use super::super::testing::Fabric;
use super::super::{Plan, Workload};
use super::*;

const HEADER: &str = "id,rank,op,peer,size_bytes,tag,duration_ns,requires,irequires,needs,unit,start_ns,batch,step\n";

fn table(rows: &str) -> Table {
    Table::from_csv(&format!("{HEADER}{rows}")).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    Table::from_csv(text).expect_err("a bad table").to_string()
}

const PING_PONG: &str = "\
c,0,calc,,,,1500.5,,,,,,,
ping,0,send,1,1000,3,,c,,,,,1,1
pang,1,recv,0,,3,,,,,,,,
pong,1,send,0,2000,,,pang,,,,,1,2
back,0,recv,1,2000,,,,ping,,,700,,
";

#[test]
fn a_table_is_read_as_it_stands() {
    let table = table(PING_PONG);
    assert_eq!((table.ranks(), table.sends(), table.batches, table.steps), (2, 2, 1, 2));
    let [c, ping, pang, pong, back] = table.operations() else { panic!("five operations") };
    assert_eq!(c.does, Does::Compute { takes: Span(1_500_500), unit: 0 });
    assert_eq!((ping.does, ping.mate, ping.needs), (Does::Send { to: 1, bytes: 1000 }, 2, 1));
    assert_eq!((pang.does, pang.mate, pang.needs), (Does::Receive { from: 0 }, 1, 0));
    assert_eq!((pong.mate, pong.batch, pong.step), (4, 1, 2));
    assert_eq!((back.mate, back.start, back.needs), (3, Time(700_000), 1));
    assert_eq!((table.waiting(0, Milestone::Ended), table.waiting(0, Milestone::Started)), (&[1][..], &[][..]));
    assert_eq!((table.waiting(1, Milestone::Ended), table.waiting(1, Milestone::Started)), (&[][..], &[4][..]));
    assert_eq!(table.name(4), "back");
}

#[test]
fn messages_with_one_tag_pair_in_order() {
    let rows = "a,0,send,1,10,,,,,,,,,\nb,0,send,1,20,,,,,,,,,\nc,0,send,1,30,9,,,,,,,,\n\
                x,1,recv,0,30,9,,,,,,,,\ny,1,recv,0,10,,,,,,,,,\nz,1,recv,0,20,,,,,,,,,\n";
    let mates: Vec<u32> = table(rows).operations().iter().map(|operation| operation.mate).collect();
    assert_eq!(mates, [4, 5, 3, 2, 0, 1]);
}

#[test]
fn a_bad_table_is_refused_with_its_line() {
    let with = |rows: &str| refused(&format!("{HEADER}{rows}"));
    let cases = [
        (refused("id,rank\n"), "line 1, column op: `missing`; allowed is a header with id, rank and op"),
        (refused("id,rank,op,require\n"), "did you mean `requires`?"),
        (refused("id,rank,op,op\n"), "line 1, column op: `there twice`"),
        (refused("id,rank,op\n"), "`only a header`; allowed is at least one operation"),
        (refused("id,rank,op\na,0\n"), "line 2, column all: `2 fields`; allowed is 3 fields, as in the header"),
        (with("a b,0,calc,,,,1,,,,,,,\n"), "line 2, column id: `a b`; allowed is a name without blanks"),
        (with("a,-1,calc,,,,1,,,,,,,\n"), "column rank: `-1`; allowed is the number of a rank"),
        (with("a,0,sned,1,5,,,,,,,,,\n"), "column op: `sned`; allowed is send, recv or calc"),
        (with("a,0,send,,5,,,,,,,,,\n"), "column peer: `nothing`; allowed is a value, since op is send"),
        (with("a,0,send,0,5,,,,,,,,,\n"), "column peer: `0`; allowed is another rank"),
        (with("a,0,send,1,0,,,,,,,,,\n"), "column size_bytes: `0`"),
        (with("a,0,calc,1,,,5,,,,,,,\n"), "column peer: `1`; allowed is nothing, since op is calc"),
        (with("a,0,calc,,,,,,,,,,,\n"), "column duration_ns: `nothing`"),
        (with("a,0,calc,,,,1.2345,,,,,,,\n"), "up to three decimals"),
        (with("a,0,calc,,,,1,,,,,,,\n# b\na,0,calc,,,,1,,,,,,,\n"), "line 4, column id: `a`; allowed is each id once"),
        (with("a,0,calc,,,,1,b,,,,,,\n"), "line 2, column requires: `b`; allowed is the id of an operation"),
        (with("a,0,calc,,,,1,,b,,,,,\nb,1,calc,,,,1,,,,,,,\n"), "this is one of rank 1"),
        (with("a,0,calc,,,,1,b,,2,,,,\nb,0,calc,,,,1,,,,,,,\n"), "column needs: `2`; allowed is at most 1"),
        (with("a,0,calc,,,,1,b,,0,,,,\nb,0,calc,,,,1,,,,,,,\n"), "column needs: `0`; allowed is from 1 to 1"),
        (with("a,0,calc,,,,1,,,,,,,2\n"), "column step: `2`; allowed is nothing, since there is no batch"),
        (with("a,0,send,1,5,,,,,,,,,\n"), "`send a`; allowed is a recv for each send from rank 0 to rank 1 with tag 0"),
        (
            with("b,1,recv,0,5,4,,,,,,,,\n"),
            "`recv b`; allowed is a send for each recv from rank 0 to rank 1 with tag 4",
        ),
        (
            with("a,0,send,1,5,,,,,,,,,\nb,1,recv,0,6,,,,,,,,,\n"),
            "line 3, column size_bytes: `6`; allowed is 5, as in its send a (line 2)",
        ),
    ];
    for (found, expected) in cases {
        assert!(found.contains(expected), "{found}\ninstead of\n{expected}");
    }
}

#[test]
fn what_can_never_start_is_refused_with_the_circle() {
    let direct = refused(&format!("{HEADER}x,0,calc,,,,1,,,,,,,\na,0,calc,,,,1,b x,,,,,,\nb,0,calc,,,,1,a,,,,,,\n"));
    assert!(direct.contains("line 3, column requires: `a waits for b, which waits for a"), "{direct}");
    // Each rank sends only when it has received.
    let rows = "s,0,send,1,5,,,r,,,,,,\nr,0,recv,1,5,,,,,,,,,\nt,1,send,0,5,,,u,,,,,,\nu,1,recv,0,5,,,,,,,,,\n";
    let across = refused(&format!("{HEADER}{rows}"));
    assert!(across.contains("s waits for r, which waits for t, which waits for u, which waits for s"), "{across}");
    // One of two is enough.
    let rows = "x,0,calc,,,,1,,,,,,,\na,0,calc,,,,1,b x,,1,,,,\nb,0,calc,,,,1,a,,,,,,\n";
    assert_eq!(table(rows).operations().len(), 3);
}

fn plan(dag: &Dag) -> Plan {
    Workload::Dag(dag.clone()).plan(1, 0, &Fabric::new(2, 2, 1).places()).unwrap()
}

#[test]
fn sends_become_flows_between_the_hosts_of_ranks() {
    let dag = Dag::new(table(PING_PONG), vec![3, 1], None, 4).unwrap();
    let Plan { flows, programmes, .. } = plan(&dag);
    let ends: Vec<_> = flows.iter().map(|flow| (flow.src, flow.dst, flow.size, flow.part)).collect();
    assert_eq!(ends, [(1, 3, 2000, 2), (3, 1, 1000, 1)]);
    let [programme] = &programmes[..] else { panic!("one entry") };
    assert_eq!((programme.actions[1], programme.actions[3]), ((3, Action::Send(1)), (1, Action::Send(0))));
    assert_eq!(programme.actions[0], (3, Action::Compute { takes: Span(1_500_500), unit: 0 }));
}

#[test]
fn ranks_of_a_server_send_without_the_network() {
    let local = Local { ranks: 2, rate: 8_000_000_000, delay: Span(5) };
    let dag = Dag::new(table(PING_PONG), vec![3, 1], Some(local), 4).unwrap();
    let Plan { flows, programmes, .. } = plan(&dag);
    assert!(flows.is_empty());
    // 1 ns a byte; computing and copying use different units.
    let copy = |bytes: u64, unit| Action::Copy { takes: Span(bytes * 1000), unit, delay: Span(5) };
    assert_eq!((programmes[0].actions[1], programmes[0].actions[3]), ((3, copy(1000, 1)), (1, copy(2000, 2))));
}

#[test]
fn hosts_of_ranks_must_be_there() {
    let error = |hosts: Vec<u32>, local| Dag::new(table(PING_PONG), hosts, local, 4).unwrap_err().to_string();
    assert_eq!(error(vec![0], None), "hosts = 1 hosts: allowed is a host for each of 2 ranks; the last is rank 1");
    assert_eq!(error(vec![0, 4], None), "hosts = 4: allowed is hosts from 0 to 3");
    let shared = error(vec![2, 2], None);
    assert!(shared.starts_with("local_rate_gbps = ping: rank 0 to rank 1"), "{shared}");
    let no_delay = error(vec![0, 1], Some(Local { ranks: 2, rate: 1, delay: Span::ZERO }));
    assert!(no_delay.starts_with("local_delay_ns = 0"), "{no_delay}");
}

#[test]
fn the_longest_chain_by_hand() {
    let dag = Dag::new(table(PING_PONG), vec![0, 1], None, 4).unwrap();
    // c, then ping, then pong.
    assert_eq!(dag.longest_chain(Span(10_000)), Span(1_500_500 + 20_000));
}

#[test]
fn a_million_operations_are_read_in_seconds() {
    let mut text = String::from(HEADER);
    for n in 0..500_000u32 {
        let (a, b) = (n % 64, (n + 1) % 64);
        let after = if n < 64 { String::new() } else { format!("s{}", n - 64) };
        text += &format!("s{n},{a},send,{b},1000,{n},,{after},,,,,,\nr{n},{b},recv,{a},1000,{n},,,,,,,,\n");
    }
    let table = Table::from_csv(&text).unwrap();
    assert_eq!((table.operations().len(), table.sends()), (1_000_000, 500_000));
    assert_eq!(check::longest_chain(&table, Span(1)), Span(500_000u64.div_ceil(64)));
}
