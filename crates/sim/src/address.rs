//! Devices as packets name them.

use crate::ids::{HostId, NodeId, SwitchId};
use spinewise_policy::{Device, To};

/// The bit that distinguishes switches from hosts.
const SWITCH: u32 = 1 << 31;

/// A host or a switch, as the source or the destination of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address(u32);

impl Address {
    /// No device.
    pub const NOBODY: Address = Address(u32::MAX);

    /// A host.
    #[inline(always)]
    pub const fn host(id: HostId) -> Address {
        Address(id.number())
    }

    /// A switch.
    #[inline(always)]
    pub const fn switch(id: SwitchId) -> Address {
        Address(id.number() | SWITCH)
    }

    /// The device that is this node of a topology with `hosts` hosts: they come first, then switches.
    pub fn of_node(node: NodeId, hosts: u32) -> Address {
        node.number().checked_sub(hosts).map_or(Address(node.number()), |switch| Address(switch | SWITCH))
    }

    /// Returns the destination of a scheme's message, if it is one device.
    pub fn of(to: To) -> Address {
        match to {
            To::Host(host) => Address::host(HostId::new(host)),
            To::Leaf(leaf) => Address::switch(SwitchId::new(leaf)),
            To::Rack | To::Neighbours { .. } | To::Port(_) => Address::NOBODY,
        }
    }

    /// The host, if it is one.
    #[inline(always)]
    pub fn as_host(self) -> Option<HostId> {
        (self.0 & SWITCH == 0).then_some(HostId::new(self.0))
    }

    /// The switch, if it is one.
    #[inline(always)]
    pub fn as_switch(self) -> Option<SwitchId> {
        (self.0 & SWITCH != 0).then_some(SwitchId::new(self.number()))
    }

    /// Its number among the hosts, or among the switches.
    #[inline(always)]
    pub fn number(self) -> u32 {
        self.0 & !SWITCH
    }

    /// Returns it as one number, which differs between any two devices.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Returns the device in the form of the contract.
    pub fn device(self) -> Device {
        self.as_host().map_or(Device::Switch(self.number()), |host| Device::Host(host.number()))
    }
}
