//! The outcome of a flow, and its table: a field and its column are in one file.

use super::Flows;
use crate::columns::{Values, columns};
use crate::ids::{FlowId, Table};
use crate::workload::{FlowSpec, Job, Jobs, Place};

/// Declares the record with its fields, and how two records of one flow are added.
macro_rules! record {
    ($(#[$meta:meta])* $record:ident { $($(#[$about:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $record {
            $($(#[$about])* pub $field: $type,)*
        }

        impl $record {
            /// Adds what another thread has recorded of the same flow: each field has been recorded by at most one of
            /// them.
            pub fn add(&mut self, other: &$record) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

record! {
    /// The outcome of a flow. The sender's and the receiver's fields are written by their own hosts, and reroutes by
    /// the leaf of the sender.
    Record {
        /// From the start of the flow to the arrival of its last missing byte, in ps; 0 if unfinished.
        fct: u64,
        /// From the start of the flow to the acknowledgement of its last byte at the sender, in ps; 0 if unfinished.
        sender_fct: u64,
        /// From the start of the flow to the arrival of the last packet of its connection, in ps; 0 if none is sent.
        close_fct: u64,
        /// Data packets sent, retransmissions included.
        packets: u32,
        /// Data packets sent again.
        retransmits: u32,
        /// Expiries of the retransmission timer, that of the SYN included.
        timeouts: u32,
        /// Fast retransmits.
        fast_retransmits: u32,
        /// Times a third duplicate acknowledgement arrived.
        dupack3_events: u32,
        /// NACKs that reached the sender.
        nacks: u32,
        /// CNPs that reached the sender.
        cnps: u32,
        /// Data packets that arrived after a later byte of the flow.
        out_of_order: u32,
        /// Data packets that arrived with CE.
        marks: u32,
        /// Data packets sent again that had arrived, as far as DSACK told the sender (TCP with SACK).
        spurious_retransmits: u32,
        /// Data packets that took another way than the previous one (host schemes only).
        path_changes: u32,
        /// Data packets that left the leaf of their host by another uplink than the previous one; 0 if not counted.
        reroutes: u32,
        /// Data packets that arrived.
        arrived: u32,
        /// Payload bytes that arrived, each byte once.
        received: u64,
    }
}

impl Record {
    /// Changes its times; those that have not come yet stay 0.
    pub fn shift(&mut self, to: impl Fn(u64) -> u64) {
        for time in [&mut self.fct, &mut self.sender_fct, &mut self.close_fct] {
            if *time > 0 {
                *time = to(*time);
            }
        }
    }
}

/// Everything reported of a flow.
struct FlowRow<'a> {
    id: FlowId,
    spec: &'a FlowSpec,
    record: &'a Record,
    tcp: bool,
    ideal: u64,
    cut_off: bool,
    place: Option<(Place, Job)>,
}

columns! {
    /// Columns of `flows`: one row per flow, in the order of starting by the clock.
    FLOW_COLUMNS: FlowTable, |row: &FlowRow<'_>| {
        flow: u32, "", "number of the flow, in the order of starting by the clock" => row.id.number();
        src: u32, "host", "sending host" => row.spec.src;
        dst: u32, "host", "receiving host" => row.spec.dst;
        entry: u8, "", "the [[traffic]] entry it belongs to, from 0" => row.spec.entry;
        tcp: bool, "", "true: has a transport, whichever it is; false: UDP" => row.tcp;
        size_bytes: u64, "bytes", "payload to transfer (UDP: bytes on the wire, 0 if unlimited)" => row.spec.size;
        start_ps: u64, "ps",
            "when the sender had the whole flow to send; for a flow that waits for others, when it started or, if it \
             never did, the start of its entry"
            => row.spec.start.0;
        finished: bool, "", "the last missing byte arrived before the run ended" => row.record.fct != 0;
        fct_ps: u64, "ps", "flow completion time: from start to the arrival of the last missing byte, 1 at least; 0 if unfinished"
            => row.record.fct;
        sender_fct_ps: u64, "ps",
            "from start to the acknowledgement of the last byte at the sender; 0 if unfinished or UDP"
            => row.record.sender_fct;
        close_fct_ps: u64, "ps",
            "from the start to the arrival of the last packet of its closing (transport.fin); 0 if unfinished or not closed"
            => row.record.close_fct;
        ideal_fct_ps: u64, "ps",
            "a time that no scheme can beat, or with metrics.ideal = \"best_path\" the time of all packets sent \
             back-to-back on the best path without queueing; 0 for unlimited UDP"
            => row.ideal;
        slowdown: f64, "", "fct_ps / ideal_fct_ps; 0 if unfinished" => row.slowdown();
        packets: u32, "packets", "data packets sent, retransmissions included" => row.record.packets;
        retransmits: u32, "packets", "data packets retransmitted" => row.record.retransmits;
        timeouts: u32, "", "expiries of the retransmission timer, including the SYN's" => row.record.timeouts;
        fast_retransmits: u32, "", "recoveries started by acknowledgements or RACK's timer, not by a timeout"
            => row.record.fast_retransmits;
        dupack3_events: u32, "", "arrivals of a third duplicate acknowledgement" => row.record.dupack3_events;
        out_of_order: u32, "packets", "data packets that arrived after a later byte of the flow (not UDP)"
            => row.record.out_of_order;
        marks: u32, "packets", "data packets that arrived marked CE" => row.record.marks;
        path_changes: u32, "", "data packets tagged with a different path from the previous one (host schemes)"
            => row.record.path_changes;
        nacks: u32, "packets", "NACKs that reached the sender before it was done (RDMA)" => row.record.nacks;
        cnps: u32, "packets", "congestion notifications that reached the sender before it was done (RDMA)"
            => row.record.cnps;
        spurious_retransmits: u32, "packets",
            "data packets retransmitted although they had arrived, as far as duplicate SACK reports (TCP)"
            => row.record.spurious_retransmits;
        cut_off: bool, "",
            "unfinished, and when the run ended no path led from one of its hosts to the other and back (faults)"
            => row.cut_off;
        group: u32, "", "group of hosts within its entry's collective operations, from 0" => row.group();
        batch: u32, "", "round of its entry, or request, from 1; 0: a flow on its own" => row.batch();
        step: u32, "", "step of that round, from 1; 0: the round has no steps" => row.step();
    }
}

impl FlowRow<'_> {
    fn group(&self) -> u32 {
        self.place.map_or(0, |(place, _)| place.group)
    }

    fn batch(&self) -> u32 {
        self.place.map_or(0, |(place, _)| place.round + 1)
    }

    fn step(&self) -> u32 {
        self.place.filter(|(_, job)| job.steps > 1).map_or(0, |(place, _)| place.step + 1)
    }

    fn slowdown(&self) -> f64 {
        if self.record.fct == 0 || self.ideal == 0 { 0.0 } else { self.record.fct as f64 / self.ideal as f64 }
    }
}

impl Flows {
    /// The values of [`FLOW_COLUMNS`], with the jobs of entries, ideal completion times, and whether flows were cut off.
    pub fn columns(&self, jobs: &[Option<Jobs>], ideal: &[u64], cut_off: &Table<FlowId, bool>) -> Vec<Values> {
        let mut table = FlowTable::with_capacity(self.specs.len());
        for ((id, spec), &ideal) in self.specs.numbered().zip(ideal) {
            let (tcp, place) = (self.has_transport(id), spec.place(jobs));
            table.push(&FlowRow { id, spec, record: &self.records[id], tcp, ideal, cut_off: cut_off[id], place });
        }
        table.close()
    }
}
