//! Round-robin packet scatter at a leaf with four uplinks: whose pointer is next.

use crate::common::{Shell, data};
use spinewise_policy::schemes::packet_scatter::{InTurn, PacketScatter, Pointer};
use spinewise_policy::{Kind, Packet, Peers, Policy, Shape, Tier};

const UPLINKS: u16 = 4;

fn scatter(pointer: Pointer) -> Shell<PacketScatter> {
    Shell::new(&InTurn { pointer }, Tier::Leaf, 0, UPLINKS)
}

/// The way, from zero, of a packet to host `dst`.
fn pick_to(shell: &mut Shell<PacketScatter>, dst: u32) -> usize {
    shell.pick(dst, &Packet { dst, ..data(1) }, &mut ()).index()
}

/// The ways of packets to the hosts of `to`, in this order.
fn ways(shell: &mut Shell<PacketScatter>, to: &[u32]) -> Vec<usize> {
    to.iter().map(|dst| pick_to(shell, *dst)).collect()
}

#[test]
fn one_pointer_for_the_switch_goes_round_over_all_destinations() {
    let mut shell = scatter(Pointer::Switch);
    assert_eq!(ways(&mut shell, &[4, 8, 4, 12, 4, 8]), [0, 1, 2, 3, 0, 1]);
}

#[test]
fn as_in_ns2_each_destination_host_has_a_pointer_that_starts_at_the_first_port() {
    let mut shell = scatter(Pointer::Destination);
    assert_eq!(ways(&mut shell, &[4, 8, 4, 12, 4, 8]), [0, 0, 1, 0, 2, 1]);
    // Another host in the same rack is a separate destination; flows and kinds of packets are not.
    assert_eq!(ways(&mut shell, &[5, 4, 5]), [0, 3, 1]);
    let ack = Packet { dst: 4, kind: Kind::Ack, ..data(7) };
    assert_eq!(shell.pick(4, &ack, &mut ()).index(), 0);
}

#[test]
fn two_streams_that_alternate_share_every_port_only_with_a_pointer_per_destination() {
    // Packets of two flows alternate at a switch with two uplinks: a common pointer sends each flow to one of them,
    // separate pointers spread both.
    for (pointer, spread) in [(Pointer::Switch, false), (Pointer::Destination, true)] {
        let mut shell = Shell::<PacketScatter>::new(&InTurn { pointer }, Tier::Leaf, 0, 2);
        let taken = ways(&mut shell, &[4, 8, 4, 8, 4, 8, 4, 8]);
        let first: Vec<usize> = taken.iter().step_by(2).copied().collect();
        assert_eq!(first, if spread { [0, 1, 0, 1] } else { [0, 0, 0, 0] }, "{pointer:?}: {taken:?}");
    }
}

#[test]
fn a_port_that_is_gone_is_skipped_and_the_others_stay_even() {
    let mut shell = scatter(Pointer::Destination);
    assert_eq!(ways(&mut shell, &[4; 4]), [0, 1, 2, 3]);
    shell.room.candidates.pop();
    assert_eq!(ways(&mut shell, &[4; 7]), [0, 1, 2, 0, 1, 2, 0]);
}

#[test]
fn rows_are_kept_only_for_pointers_of_destinations() {
    let shape = Shape { tier: Tier::Spine, hosts: 16, leaves: 4, ports: 12, ways: 8 };
    for (pointer, peers) in [(Pointer::Switch, Peers::None), (Pointer::Destination, Peers::Hosts)] {
        assert_eq!(scatter(pointer).policy.layout(&shape).peers, peers);
    }
}
