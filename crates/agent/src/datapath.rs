//! The fast half in the kernel: `bpf/edge.bpf.c` and `bpf/mark.bpf.c`, loaded and attached by libbpf.
//!
//! libbpf rather than aya: the marker calls a kernel function (`bpf_cast_to_kern_ctx`) to read the real queue, which
//! aya cannot link. Programs are tc filters with their own handle and priority: a new agent replaces those of its
//! predecessor in one step, and those of a killed agent keep running until their lease expires.

use crate::Failure;
use crate::layout::{COUNTERS, Event, Headers, Own, State, Table};
use crate::plane::Plane;
use bytemuck::Zeroable;
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{
    MapCore, MapFlags, MapHandle, Object, ObjectBuilder, ProgramInput, RingBuffer, RingBufferBuilder, TC_EGRESS,
    TC_INGRESS, TcHook, TcHookBuilder,
};
use std::cell::RefCell;
use std::os::fd::AsFd;
use std::rc::Rc;

static EDGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/edge.o"));
static MARK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/mark.o"));

/// Handles of our filters. They differ: where both directions are one list, the second would replace the first.
const HANDLE_IN: u32 = 0x5357;
const HANDLE_OUT: u32 = 0x5358;
/// The edge comes first, the marker after all others.
const EDGE_PRIORITY: u32 = 11;
const MARK_PRIORITY: u32 = 49_000;

fn failed(what: &str) -> impl Fn(libbpf_rs::Error) -> Failure + '_ {
    move |error| Failure::Failed(format!("{what}: {error}"))
}

fn load(object: &[u8]) -> Result<Object, Failure> {
    // Its messages are for its developers; errors come back as values.
    libbpf_rs::set_print(None);
    let refused = |error: libbpf_rs::Error| {
        Failure::Unable(format!(
            "the kernel rejects the program: {error:#} (it needs CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON and Linux 6.2 or newer)"
        ))
    };
    ObjectBuilder::default().open_memory(object).map_err(refused)?.load().map_err(refused)
}

fn map(object: &Object, name: &str) -> Result<MapHandle, Failure> {
    let found = object.maps().find(|map| map.name() == name);
    let found = found.ok_or_else(|| Failure::Failed(format!("the program has no map {name}")))?;
    MapHandle::try_from(&found).map_err(failed(name))
}

fn hook(object: &Object, program: &str, index: u32, (egress, priority): (Way, u32)) -> Result<TcHook, Failure> {
    let found = object.progs().find(|found| found.name() == program);
    let found = found.ok_or_else(|| Failure::Failed(format!("there is no program {program}")))?;
    let mut builder = TcHookBuilder::new(found.as_fd());
    let (point, handle) = match egress {
        Way::Out => (TC_EGRESS, HANDLE_OUT),
        Way::In => (TC_INGRESS, HANDLE_IN),
    };
    Ok(builder.ifindex(index as i32).replace(true).handle(handle).priority(priority).hook(point))
}

/// The direction of packets through a device.
#[derive(Clone, Copy)]
enum Way {
    Out,
    In,
}

/// Returns the number of a device.
///
/// # Errors
/// No device has this name.
pub fn device(name: &str) -> Result<u32, Failure> {
    let text = std::fs::read_to_string(format!("/sys/class/net/{name}/ifindex"));
    let number = text.ok().and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| Failure::Unable(format!("there is no device {name:?} in this network namespace")))
}

/// The edge of a host.
pub struct Datapath {
    object: Object,
    index: u32,
    device: String,
    /// Both hooks, and the programs there: inside, outside.
    hooks: Option<[(TcHook, u32); 2]>,
    config: MapHandle,
    peers: MapHandle,
    tables: MapHandle,
    states: MapHandle,
    headers: MapHandle,
    counters: MapHandle,
    ring: RingBuffer<'static>,
    arrived: Rc<RefCell<Vec<Event>>>,
}

impl Datapath {
    /// Loads the programs; nothing is attached yet.
    ///
    /// # Errors
    /// The device or the kernel does not support it.
    pub fn load(device_name: &str) -> Result<Datapath, Failure> {
        let index = device(device_name)?;
        let object = load(EDGE)?;
        let arrived = Rc::new(RefCell::new(Vec::new()));
        let events = map(&object, "events")?;
        let sink = arrived.clone();
        let mut builder = RingBufferBuilder::new();
        builder
            .add(&events, move |bytes| {
                if let Some(event) = bytes.get(..size_of::<Event>()) {
                    sink.borrow_mut().push(bytemuck::pod_read_unaligned(event));
                }
                0
            })
            .map_err(failed("events"))?;
        let ring = builder.build().map_err(failed("events"))?;
        Ok(Datapath {
            config: map(&object, "config")?,
            peers: map(&object, "peers")?,
            tables: map(&object, "tables")?,
            states: map(&object, "states")?,
            headers: map(&object, "headers")?,
            counters: map(&object, "counters")?,
            object,
            index,
            device: device_name.to_owned(),
            hooks: None,
            ring,
            arrived,
        })
    }

    /// Attaches both programs, replacing those of a previous agent.
    ///
    /// # Errors
    /// The kernel does not allow it; then none of them is attached.
    pub fn attach(&mut self) -> Result<(), Failure> {
        let unable = |error: libbpf_rs::Error| Failure::Unable(format!("the program cannot be attached: {error:#}"));
        // The program that reads packets must be attached before any are sent.
        let mut inside = hook(&self.object, "edge_in", self.index, (Way::In, EDGE_PRIORITY))?;
        let mut outside = hook(&self.object, "edge_out", self.index, (Way::Out, EDGE_PRIORITY))?;
        inside.create().map_err(unable)?;
        inside.attach().map_err(unable)?;
        let attached = inside.query().map_err(unable).and_then(|id| {
            if outside.handle(HANDLE_IN).query().is_ok_and(|other| other == id) {
                let device = &self.device;
                return Err(Failure::Unable(format!(
                    "{device} has an ingress qdisc, which knows no egress; replace it by clsact (`tc qdisc del dev {device} \
                     ingress; tc qdisc add dev {device} clsact`)"
                )));
            }
            outside.handle(HANDLE_OUT).attach().map_err(unable)?;
            Ok([(inside, id), (outside, outside.query().map_err(unable)?)])
        });
        if attached.is_err() {
            // It is the failure above that counts.
            let _also = outside.handle(HANDLE_OUT).detach();
            let _also = inside.detach();
        }
        self.hooks = Some(attached?);
        Ok(())
    }

    /// Runs a program on bytes, without a device. Returns its answer, and the resulting bytes. For tests.
    ///
    /// # Errors
    /// The kernel does not allow it.
    pub fn test_run(&mut self, program: &str, bytes: &[u8]) -> Result<(u32, Vec<u8>), Failure> {
        let found = self.object.progs_mut().find(|found| found.name() == program);
        let found = found.ok_or_else(|| Failure::Failed(format!("there is no program {program}")))?;
        let mut out = vec![0; bytes.len() + 256];
        let input = ProgramInput { data_in: Some(bytes), data_out: Some(&mut out), ..ProgramInput::default() };
        let output = found.test_run(input).map_err(failed("a run of the program"))?;
        Ok((output.return_value, output.data.map(|data| data.to_vec()).unwrap_or_default()))
    }
}

fn put(map: &MapHandle, key: &[u8], value: &[u8]) -> Result<(), Failure> {
    map.update(key, value, MapFlags::ANY).map_err(failed("a table of the data path"))
}

impl Plane for Datapath {
    fn own(&mut self, own: &Own) -> Result<(), Failure> {
        put(&self.config, &0u32.to_ne_bytes(), bytemuck::bytes_of(own))
    }

    fn meet(&mut self, address: [u8; 4], number: u32) -> Result<(), Failure> {
        put(&self.peers, &address, &number.to_ne_bytes())
    }

    fn publish(&mut self, number: u32, table: &Table) -> Result<(), Failure> {
        put(&self.tables, &number.to_ne_bytes(), bytemuck::bytes_of(table))
    }

    fn offer(&mut self, number: u32, headers: &Headers) -> Result<(), Failure> {
        put(&self.headers, &number.to_ne_bytes(), bytemuck::bytes_of(headers))
    }

    fn state(&self, number: u32) -> Result<State, Failure> {
        let found = self.states.lookup(&number.to_ne_bytes(), MapFlags::ANY).map_err(failed("states"))?;
        Ok(found.map_or(State::zeroed(), |bytes| bytemuck::pod_read_unaligned(&bytes)))
    }

    fn counters(&self) -> Result<[u64; COUNTERS.len()], Failure> {
        let mut counts = [0; COUNTERS.len()];
        for (which, count) in (0u32..).zip(&mut counts) {
            let found = self.counters.lookup(&which.to_ne_bytes(), MapFlags::ANY).map_err(failed("counters"))?;
            *count = found.map_or(0, |bytes| bytemuck::pod_read_unaligned(&bytes));
        }
        Ok(counts)
    }

    fn events(&mut self) -> Result<Vec<Event>, Failure> {
        self.ring.consume().map_err(failed("events"))?;
        Ok(std::mem::take(&mut *self.arrived.borrow_mut()))
    }

    fn keep_attached(&mut self) -> Result<bool, Failure> {
        let Some(hooks) = &mut self.hooks else { return Ok(false) };
        let device = self.device.clone();
        let mut gone = false;
        for (hook, program) in hooks {
            match hook.query() {
                Ok(found) if found == *program => {}
                Ok(_) => {
                    // Whoever has replaced them has its own.
                    self.hooks = None;
                    return Err(Failure::Failed(format!(
                        "other programs have replaced those of this agent at {device}"
                    )));
                }
                Err(_) => gone = true,
            }
        }
        if gone {
            let failed = |failure| Failure::Failed(format!("the programs at {device} were removed: {failure}"));
            self.attach().map_err(failed)?;
        }
        Ok(gone)
    }

    fn detach(&mut self) -> Result<(), Failure> {
        let Some([mut inside, mut outside]) = self.hooks.take() else { return Ok(()) };
        // The program that sends by the tunnel is detached before the one that reads it, which goes in any case. One that
        // is not there any more need not be detached.
        let detach = |(hook, program): &mut (TcHook, u32)| match hook.query() {
            Ok(found) if found == *program => hook.detach().map_err(failed("detaching")),
            Ok(_) | Err(_) => Ok(()),
        };
        let outcome = detach(&mut outside);
        outcome.and(detach(&mut inside))
    }
}

/// Counts of a marker: packets that passed, packets it marked, and the longest queue in bytes.
pub type Marked = (u64, u64, u32);

/// The marker of a switch's port.
pub struct Marker;

impl Marker {
    /// Attaches it permanently: it stays when this program ends.
    ///
    /// # Errors
    /// The device or the kernel does not support it.
    pub fn attach(device_name: &str, above: u32) -> Result<(), Failure> {
        let index = device(device_name)?;
        let object = load(MARK)?;
        let state = map(&object, "mark_state")?;
        let mut value = [0u8; 24];
        value[16..20].copy_from_slice(&above.to_ne_bytes());
        put(&state, &0u32.to_ne_bytes(), &value)?;
        let refused = |error: libbpf_rs::Error| Failure::Unable(format!("the marker cannot be attached: {error:#}"));
        let mut hook = hook(&object, "edge_mark", index, (Way::Out, MARK_PRIORITY))?;
        hook.create().map_err(refused)?;
        hook.attach().map_err(refused)?;
        Ok(())
    }

    fn attached(index: u32) -> Result<(TcHook, u32), Failure> {
        let object = load(MARK)?;
        let mut hook = hook(&object, "edge_mark", index, (Way::Out, MARK_PRIORITY))?;
        let program = hook.query().map_err(|_| Failure::Unable("there is no marker at this device".to_owned()))?;
        Ok((hook, program))
    }

    /// Detaches the marker.
    ///
    /// # Errors
    /// No marker is attached.
    pub fn detach(device_name: &str) -> Result<(), Failure> {
        let (mut hook, _) = Marker::attached(device(device_name)?)?;
        hook.detach().map_err(failed("detaching"))
    }

    /// Returns the counts of the marker.
    ///
    /// # Errors
    /// No marker is attached.
    pub fn read(device_name: &str) -> Result<Marked, Failure> {
        let (_, program) = Marker::attached(device(device_name)?)?;
        let gone = || Failure::Failed("the marker's table is gone".to_owned());
        let options = ProgInfoQueryOptions::default().include_map_ids(true);
        let info = ProgInfoIter::with_query_opts(options).find(|info| info.id == program).ok_or_else(gone)?;
        let id = *info.map_ids.first().ok_or_else(gone)?;
        let state = MapHandle::from_map_id(id).map_err(failed("the marker's table"))?;
        let bytes = state.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).map_err(failed("the marker's table"))?;
        let bytes = bytes.filter(|bytes| bytes.len() == 24).ok_or_else(gone)?;
        let long = |at: usize| bytemuck::pod_read_unaligned::<u64>(&bytes[at..at + 8]);
        Ok((long(0), long(8), bytemuck::pod_read_unaligned(&bytes[20..24])))
    }
}
