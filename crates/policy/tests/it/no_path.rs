//! Bad input that every host scheme may meet: a destination with no path, or with a single one.

use crate::common::{Lend, Shell, ack, data};
use spinewise_policy::*;

/// Returns what a host scheme writes on data and on an acknowledgement to rack 1, to which this many paths lead.
fn written<P: Policy>(ways: u16) -> Option<[Way; 2]>
where
    P::Site: Lend,
{
    if <P::Site as Site>::NAME != "host" {
        return None;
    }
    let mut shell = Shell::<P>::new(&P::Config::default(), Tier::Host, 0, 4);
    if layout(&shell).draws_tags {
        return None;
    }
    // The rows of all racks, as with `all_peers`; hosts are met as they come.
    (0..4).for_each(|leaf| shell.call(Some(leaf), None, |_, _, _| ()));
    shell.room.ways = vec![4, ways, ways, ways];
    shell.tick();
    let row = |shell: &Shell<P>| if layout(shell).peers == Peers::Hosts { 4 } else { 1 };
    let peer = row(&shell);
    let mut way = |packet: &Packet| shell.pick(peer, packet, &mut P::Header::default());
    let written = [way(&data(1)), way(&ack(2))];
    shell.feedback(peer, Feedback { way: Way::ANY, flow: None, event: Event::FlowEnd });
    shell.tick();
    Some(written)
}

fn layout<P: Policy>(shell: &Shell<P>) -> Layout {
    shell.policy.layout(&Shape { tier: Tier::Host, hosts: 16, leaves: 4, ports: 1, ways: 4 })
}

/// Returns what every host scheme of the registry writes whose tags are paths. Flow labels, and ELAB's ports of a
/// tunnel, lead wherever the switches hash them: such a path always exists.
fn all(ways: u16) -> Vec<(&'static str, [Way; 2])> {
    macro_rules! each {
        ($($variant:ident: $path:path,)*) => {
            [$(written::<$path>(ways).map(|written| (<$path as Policy>::SHEET.name, written))),*]
        };
    }
    each_scheme!(each).into_iter().flatten().filter(|(name, _)| *name != "elab").collect()
}

#[test]
fn without_a_path_nothing_is_written() {
    let written = all(0);
    assert!(written.len() > 8, "{written:?}");
    for (name, ways) in written {
        assert_eq!(ways, [Way::ANY; 2], "{name}");
    }
}

#[test]
fn a_single_path_is_taken() {
    for (name, ways) in all(1) {
        for way in ways {
            assert!(way == Way(0) || way == Way::ANY, "{name} writes {way:?}");
        }
    }
}
