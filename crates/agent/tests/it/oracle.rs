//! A scheme as the simulator seats it: the reference for the fast half.

use spinewise_agent::config::Scheme;
use spinewise_agent::plan::{Plan, plan};
use spinewise_agent::view::View;
use spinewise_policy::{FlowKey, HostView, Packet, Peers, Shape, Span, Tier, Time, Way};
use spinewise_sim::bank::{Bank, Call, Called, NO_PEER, Places, Room, Tags};

/// Rack of each host.
pub(crate) const RACKS: [u32; 4] = [0, 0, 1, 1];
/// The destination of packets.
pub(crate) const TO: u32 = 2;

/// The configuration of a host of four, two per rack.
pub(crate) fn view(ways: u16) -> View {
    View {
        host: 0,
        racks: RACKS.to_vec(),
        ways: vec![0, ways],
        link_rate: 200_000_000,
        path_rate: 200_000_000,
        base_rtt: Span::from_us(500),
        base_one_way: Span::from_us(250),
        mss: 1448,
        mtu: 1500,
    }
}

/// The scheme as the simulator seats it, alone.
pub(crate) struct Oracle {
    bank: Bank,
    ways: [u16; 2],
}

impl Oracle {
    /// Seated.
    pub(crate) fn new(plan: &Plan, ways: u16, seed: u64) -> Oracle {
        let shape = Shape { tier: Tier::Host, hosts: 4, leaves: 2, ports: 0, ways: 16 };
        let places = Places { shapes: vec![shape], kinds: vec![0; 4], tags: Tags::Outer };
        Oracle { bank: plan.chosen.seat(&places, seed, Called::AsItSays), ways: [0, ways] }
    }

    /// The way of a full packet of this flow to [`TO`], ns.
    pub(crate) fn pick(&mut self, now: u64, flow: u32) -> Way {
        let view = HostView {
            host: 0,
            leaf: 0,
            leaf_of: &RACKS,
            ways: &self.ways,
            link_rate: 200_000_000,
            path_rate: 200_000_000,
            base_rtt: Span::from_us(500),
            base_one_way: Span::from_us(250),
            mss: 1448,
            mtu: 1500,
            ..HostView::default()
        };
        let peer = match self.bank.peers(0) {
            Peers::None => NO_PEER,
            Peers::Hosts => TO,
            Peers::Leaves => RACKS[TO as usize],
        };
        let call = Call { seat: 0, now: Time(now * 1000), room: Room::Host(view), peer };
        let packet = Packet {
            flow: FlowKey::data(flow),
            src: 0,
            dst: TO,
            wire: 1500,
            payload: 1448,
            way: Way::ANY,
            ..Packet::default()
        };
        let (way, _) = self.bank.pick_for(call, &packet, &mut [0; 16], None);
        let asked = self.bank.asked();
        self.bank.give_back(asked);
        way
    }
}

/// A plan for a scheme with parameters in JSON.
pub(crate) fn scheme(name: &str, params: &str) -> Plan {
    let params = serde_json::from_str(params).expect("JSON");
    plan(&Scheme { name: name.to_owned(), params }).expect("runs at hosts")
}
