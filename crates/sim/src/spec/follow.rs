//! `[follow]`: the rules of the program that a run follows event by event (`run.follow`).
//!
//! That program differs in places from its papers and from other programs. Each difference is a named rule, and this is
//! the one place that sets them: the names are here, and [`Rules`] hands each to the struct that owns it. Their meaning
//! for a scheme is given with the program's preset ([`FOLLOWED`]). All are on when the program is followed; a spec can
//! turn each off, which is how docs/agreement.md measures its effect.

use serde_json::{Map, Value};

use super::fault::FaultSpec;
use super::presets::{FOLLOWED, Followed, Param};
use super::run::{EngineKind, Follow, RunSpec};
use super::switch::SwitchSpec;
use crate::keys::{Default, Kind, Reader, SpecError, keys, one_of};
use crate::packet::Clock;
use crate::tape::Draws;
use crate::topology::TopologySpec;
use crate::transport::{RdmaConfig, TransportSpec};

keys! {
    /// `[follow]`: the rules of the public ns-3 code of ConWeave.
    #[derive(Default, PartialEq)]
    FollowKeys {
        /// Time is a double in seconds, truncated to 2⁻⁶⁴ s and then to whole nanoseconds: what takes 82 ns takes 81.
        double_clock: bool, Kind::Bool, Default::Bool(true);
        /// At a host, a transmission that ends now has not yet ended for a packet that arrives now.
        nic_ties_wait: bool, Kind::Bool, Default::Bool(true);
        /// A NIC that found no queue pair ready looks again when the first of them was due to be, and no sooner, even
        /// if another becomes ready earlier.
        nic_look_stays: bool, Kind::Bool, Default::Bool(true);
        /// A packet that a host neither answers nor needs does not make its NIC look for something to send: data for
        /// which a NACK is held back, an answer to a flow that is done, a pause.
        silent_arrivals: bool, Kind::Bool, Default::Bool(true);
        /// A receiver forgets a queue pair when its sender is done. Retransmitted data that arrives after that meets a
        /// new queue pair, which expects the first byte.
        receivers_anew: bool, Kind::Bool, Default::Bool(true);
        /// IRN's window counts from the packet before the newest, so a short last packet may exceed it.
        window_from_newest: bool, Kind::Bool, Default::Bool(true);
        /// An IRN timeout leaves the end of the recovery where it was, so the next NACK sends the sender back again.
        recover_kept_on_timeout: bool, Kind::Bool, Default::Bool(true);
        /// Under IRN a sender skips packets that NACKs reported as received when its NIC looks at it, or when the
        /// program counts what is open, every 10 us, and not as it sends. The NIC checks the window for room before the
        /// sender skips.
        steps_at_looks: bool, Kind::Bool, Default::Bool(true);
        /// A CNP that arrives as a slot of alpha ends belongs to that slot.
        cnp_before_slot: bool, Kind::Bool, Default::Bool(true);
        /// As DCQCN's rate rises, rate and target are halved separately, and half a bit per second is cut off.
        halves_cut: bool, Kind::Bool, Default::Bool(true);
        /// All ports of a switch draw marks from one stream, and every switch opens the same one: stream 0 of MRG32k3a,
        /// seed 1, run 1.
        one_stream_for_marks: bool, Kind::Bool, Default::Bool(true);
        /// All switches draw paths from one stream, the C library's rand() seeded with 1, in the order of events.
        one_stream_for_paths: bool, Kind::Bool, Default::Bool(true);
        /// Two flows from one rack to one host are one flowlet if their source ports are equal and their destination
        /// ports differ only in the lowest two bits: the key leaves out the source and ORs the priority, 3, into the
        /// port.
        shared_flowlets: bool, Kind::Bool, Default::Bool(true);
        /// Pause frames queue with other control packets, each separately.
        pauses_queue: bool, Kind::Bool, Default::Bool(true);
        /// An arrival can end a pause, as well as a departure.
        resume_on_arrival: bool, Kind::Bool, Default::Bool(true);
        /// An ingress resumes below its threshold including the threshold's fraction of a byte.
        resume_below_fraction: bool, Kind::Bool, Default::Bool(true);
        /// The sum of headrooms counts a port 0 that no switch has, with a default of 14,596 bytes, and omits the last
        /// port.
        headroom_of_port_0: bool, Kind::Bool, Default::Bool(true);
        /// Packets that a scheme holds back are outside the buffer. On release they are admitted one by one, with PFC
        /// and all thresholds, as if they arrived at that time.
        holds_outside_buffer: bool, Kind::Bool, Default::Bool(true);
        /// A scheme's message to other switches goes before the packet that triggered it.
        messages_first: bool, Kind::Bool, Default::Bool(true);
        /// Messages between switches about a flow carry the addresses and ports of its acknowledgements, so they take
        /// the same path.
        messages_by_flow: bool, Kind::Bool, Default::Bool(true);
        /// Resetting a scheme's timer makes a new event, behind those already scheduled for that instant.
        timers_set_anew: bool, Kind::Bool, Default::Bool(true);
        /// ConWeave draws three numbers for every data packet, the first of which it never uses.
        conweave_draws_three: bool, Kind::Bool, Default::Bool(true);
        /// ConWeave's last leaf does not read a packet of an older epoch.
        old_epochs_unread: bool, Kind::Bool, Default::Bool(true);
        /// A new epoch of ConWeave overtakes packets of the last one that are still held.
        new_epoch_overtakes: bool, Kind::Bool, Default::Bool(true);
        /// Packets that wait for ConWeave's TAIL are released 1 ns after it, or by a timer that each packet on the old
        /// path postpones.
        late_release: bool, Kind::Bool, Default::Bool(true);
        /// DRILL shuffles all ports for each data packet (std::random_shuffle) and looks at the first two.
        drill_shuffles: bool, Kind::Bool, Default::Bool(true);
        /// CONGA draws what a packet feeds back before it draws the packet's path, and takes a random number for each
        /// draw even if there is only one choice.
        conga_draws_first: bool, Kind::Bool, Default::Bool(true);
        /// CONGA's estimators decay and its tables age at intervals that start with the first packet that a switch
        /// sees.
        conga_beats_begin: bool, Kind::Bool, Default::Bool(true);
        /// CONGA's estimators count in doubles, and metrics may exceed their bits.
        conga_by_doubles: bool, Kind::Bool, Default::Bool(true);
    }
}

/// Which rules hold in a run: those of the program that it follows, or none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// What nodes do.
    pub habits: Habits,
    /// What schemes take from the one tape that all switches draw paths from, if they do.
    pub draws: Option<Draws>,
    /// Some flows share the row of a flowlet.
    pub shared_flowlets: bool,
    /// Parameters of its scheme.
    params: Vec<Param>,
    /// Those that the structs of transport and switch own: see [`Self::set`].
    on: FollowKeys,
}

/// The rules of nodes that no part of them owns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Habits {
    /// At a host, a transmission that ends now has not yet ended for a packet that arrives now.
    pub nic_ties_wait: bool,
    /// A NIC's plan to look again stays as it is, even if there is reason to look sooner.
    pub nic_look_stays: bool,
    /// What a host neither answers nor needs does not make its NIC look for something to send.
    pub silent_arrivals: bool,
    /// A receiver forgets a queue pair as its sender is done, and what comes after that meets a new one.
    pub receivers_anew: bool,
    /// All ports of all switches draw marks from one stream.
    pub one_stream_for_marks: bool,
    /// A scheme's message to other switches goes before the packet that triggered it.
    pub messages_first: bool,
    /// Such messages go by the addresses and ports of their flow's acknowledgements.
    pub messages_by_flow: bool,
    /// A timer of a scheme that is set again is a new event.
    pub timers_set_anew: bool,
    /// What arrives at an instant comes before what ends then, as it does on a clock of whole nanoseconds.
    pub arrivals_first: bool,
    /// Ports keep control until its transmission starts, though that is known before.
    pub keeps_control: bool,
    /// Flows that start at one instant have the order of their list.
    pub flows_as_listed: bool,
}

impl Rules {
    /// Those of a run whose events have the order of uet-htsim (`run.engine = "htsim"`). What that program does in its
    /// transport and switches, the preset uet-htsim sets.
    fn htsim() -> Rules {
        let habits = Habits {
            nic_ties_wait: true,
            arrivals_first: true,
            keeps_control: true,
            flows_as_listed: true,
            ..Habits::default()
        };
        Rules { habits, ..Rules::default() }
    }

    /// Hands transport and switch their own.
    pub(super) fn set(&self, transport: &mut TransportSpec, switch: &mut SwitchSpec) {
        if let TransportSpec::Rdma(config) = transport {
            config.clock = self.clock(config.clock);
            config.window_from_newest = self.on.window_from_newest;
            config.recover_kept_on_timeout = self.on.recover_kept_on_timeout;
            config.steps_at_looks = self.on.steps_at_looks;
            config.control.dcqcn.cnp_before_slot = self.on.cnp_before_slot;
            config.control.dcqcn.halves_cut = self.on.halves_cut;
        }
        if let SwitchSpec::SharedBuffer(buffer) = switch {
            buffer.pauses_queue = self.on.pauses_queue;
            buffer.resume_on_arrival = self.on.resume_on_arrival;
            buffer.resume_below_fraction = self.on.resume_below_fraction;
            buffer.headroom_of_port_0 = self.on.headroom_of_port_0;
            buffer.holds_outside = self.on.holds_outside_buffer;
        }
    }

    /// The parameters of its scheme, in place of its defaults.
    pub(super) fn params(&self) -> &[Param] {
        &self.params
    }

    /// The clock of a run, in place of its usual one.
    pub fn clock(&self, usual: Clock) -> Clock {
        if self.on.double_clock { Clock::Ns3 } else { usual }
    }
}

impl FollowKeys {
    /// For a run with this scheme; `holds` tells by name which rules do.
    fn rules(self, scheme: &Followed, holds: impl Fn(&str) -> bool) -> Rules {
        let drawn = scheme.draws.filter(|(rule, _)| holds(rule)).map_or(Draws::AsNeeded, |(_, draws)| draws);
        Rules {
            draws: self.one_stream_for_paths.then_some(drawn),
            shared_flowlets: self.shared_flowlets && !scheme.rows_of_flows,
            params: scheme.params.iter().filter(|(rule, _)| holds(rule)).map(|&(_, param)| param).collect(),
            habits: Habits {
                nic_ties_wait: self.nic_ties_wait,
                nic_look_stays: self.nic_look_stays,
                silent_arrivals: self.silent_arrivals,
                receivers_anew: self.receivers_anew,
                one_stream_for_marks: self.one_stream_for_marks,
                messages_first: self.messages_first,
                messages_by_flow: self.messages_by_flow,
                timers_set_anew: self.timers_set_anew,
                arrivals_first: true,
                keeps_control: true,
                flows_as_listed: true,
            },
            on: self,
        }
    }
}

/// Reads `[follow]`: the rules of the program that a run with this scheme follows, if it does.
pub(super) fn read(
    given: Option<&Map<String, Value>>,
    run: &RunSpec,
    scheme: &str,
) -> Result<(Rules, Option<Value>), SpecError> {
    let none = Map::new();
    let given = given.unwrap_or(&none);
    let mut reader = Reader::new("follow", FollowKeys::KEYS, given)?;
    let first = given.iter().find(|(_, value)| !value.is_null());
    match (run.follow, first) {
        (Follow::ConweaveNs3, _) => {
            let keys = FollowKeys::read(&mut reader)?;
            let told = reader.finish();
            // `check` refuses other schemes.
            let scheme = Followed::of(scheme).unwrap_or(&Followed::NOTHING);
            Ok((keys.rules(scheme, |rule| told[rule] == true), Some(told)))
        }
        (Follow::Nothing, None) if run.engine == EngineKind::Htsim => Ok((Rules::htsim(), None)),
        (Follow::Nothing, None) => Ok((Rules::default(), None)),
        (Follow::Nothing, Some((name, value))) => {
            let program = Follow::ConweaveNs3.word();
            let allowed =
                format!("no [follow] without run.follow = \"{program}\", the program that these rules describe");
            Err(SpecError::new(reader.path_of(name), value, allowed))
        }
    }
}

/// What can be followed is what that program has: queue pairs over a shared buffer on a clock of whole nanoseconds.
pub(super) fn check(
    topology: &TopologySpec,
    (switch, transport): (&SwitchSpec, &TransportSpec),
    scheme: &str,
    faults: Option<&FaultSpec>,
) -> Result<(), SpecError> {
    let program = Follow::ConweaveNs3.word();
    if Followed::of(scheme).is_none() {
        let schemes = one_of(FOLLOWED.iter().map(|followed| followed.name));
        let allowed = format!("{schemes} with run.follow = \"{program}\", which has these schemes");
        return Err(SpecError::new("scheme.name", &scheme.into(), allowed));
    }
    if let TransportSpec::Rdma(RdmaConfig { queue_pairs: Some(many), .. }) = transport {
        let allowed = "no queue_pairs with run.follow: in that code each flow has its own queue pair";
        return Err(SpecError::new("transport.queue_pairs", &(*many).into(), allowed));
    }
    let fits = topology.clock() == Clock::Floor1Ns
        && matches!(switch, SwitchSpec::SharedBuffer(shared) if shared.priorities == 1)
        && matches!(transport, TransportSpec::Rdma(config) if config.clock == Clock::Floor1Ns)
        && faults.is_none();
    if fits {
        return Ok(());
    }
    let allowed = format!(
        "\"nothing\", or preset = \"{program}\" with its switch, transport and clock, one data priority and no [[fault]]"
    );
    Err(SpecError::new("run.follow", &program.into(), allowed))
}
