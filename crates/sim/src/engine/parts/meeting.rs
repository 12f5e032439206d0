//! The meeting point of the threads of one run.

use super::Sim;
use crate::ids::{SwitchId, Table};
use crate::link::Carried;
use crate::operations::News;
use crate::switch::Switch;
use crate::warden::Interrupted;
use spinewise_policy::Time;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Turns of the loop in which a thread waits before it sleeps: some hundred microseconds.
const TURNS: u32 = 4000;

/// Whether threads are worthwhile is judged at these times; later than that it is too late to start over.
const LOOKS: [Duration; 4] =
    [Duration::from_millis(50), Duration::from_millis(200), Duration::from_millis(600), Duration::from_millis(1500)];

/// A part's report to the others before a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// When the next thing that it knows of happens.
    pub(super) next: Time,
    /// Flows not done yet, as far as this part sees: to it, flows that other parts have finished are still open.
    pub(super) open: u64,
    /// Operations that have not ended, as far as this part sees.
    operations: u64,
    /// Packets that keep the run going: those that entered here, less those that left here.
    alive: i64,
    /// Transmissions so far.
    pub(super) hops: u64,
    /// Data packets that have arrived here.
    arrived: u64,
    /// Nodes that had something to do in the last window that was inspected.
    busy: usize,
}

impl Told {
    /// Returns the report of a part that next has something to do at `next`, and had `busy` nodes in its last window.
    pub(super) fn of(sim: &Sim<'_>, next: Time, busy: usize) -> Told {
        let flows = &sim.world.flows;
        let (hops, arrived) = (sim.world.wires.hops, sim.world.log.arrived);
        Told { next, open: flows.open, operations: flows.operations.open, alive: flows.alive, hops, arrived, busy }
    }
}

/// A [`Told`] that all threads can read, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Board {
    next: AtomicU64,
    open: AtomicU64,
    operations: AtomicU64,
    alive: AtomicU64,
    hops: AtomicU64,
    arrived: AtomicU64,
    busy: AtomicUsize,
    /// How long the thread has waited, in ns.
    waited: AtomicU64,
}

impl Board {
    // The counter of a meeting orders what is written before it and read after it.
    fn write(&self, told: Told) {
        self.next.store(told.next.0, Ordering::Relaxed);
        self.open.store(told.open, Ordering::Relaxed);
        self.operations.store(told.operations, Ordering::Relaxed);
        self.alive.store(told.alive.cast_unsigned(), Ordering::Relaxed);
        self.hops.store(told.hops, Ordering::Relaxed);
        self.arrived.store(told.arrived, Ordering::Relaxed);
        self.busy.store(told.busy, Ordering::Relaxed);
    }

    fn read(&self) -> Told {
        Told {
            next: Time(self.next.load(Ordering::Relaxed)),
            open: self.open.load(Ordering::Relaxed),
            operations: self.operations.load(Ordering::Relaxed),
            alive: self.alive.load(Ordering::Relaxed).cast_signed(),
            hops: self.hops.load(Ordering::Relaxed),
            arrived: self.arrived.load(Ordering::Relaxed),
            busy: self.busy.load(Ordering::Relaxed),
        }
    }
}

/// Packets in transit from one part to another, on cache lines of its own: processors fetch two at once.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Mailbox(Mutex<Vec<Carried>>);

/// The mail of a part: packets that it carries off for each of the others, and room to open arrivals.
#[derive(Debug)]
pub(super) struct Mail {
    /// Packets for each part.
    pub(super) out: Vec<Vec<Carried>>,
    opened: Vec<Carried>,
}

impl Mail {
    /// Empty, for a run in `parts` parts.
    pub(super) fn new(parts: usize) -> Mail {
        Mail { out: (0..parts).map(|_| Vec::new()).collect(), opened: Vec::new() }
    }
}

/// The meeting point of the threads of one run: none continues before all have come.
#[derive(Debug)]
pub struct Meeting {
    boards: Vec<Board>,
    /// Packets from one part to another, by sender and receiver.
    boxes: Vec<Mailbox>,
    /// News for hosts of a part, outside the network.
    news: Vec<Mutex<Vec<News>>>,
    /// The switches of each part, while they are lent.
    lent: Vec<Mutex<Table<SwitchId, Switch>>>,
    locked: AtomicBool,
    /// Number of threads that have come to this meeting, and number of meetings so far.
    here: AtomicUsize,
    held: AtomicUsize,
    /// Some thread no longer comes to meetings.
    left: AtomicBool,
    /// Index of the next of [`LOOKS`], beyond the last when there is none; and whether threads were found not to be
    /// worthwhile.
    next_look: AtomicUsize,
    given_up: AtomicBool,
    /// When the first check was made, and how long all threads had waited for each other's setup by that time.
    began: OnceLock<(Instant, u64)>,
    /// Turns before a thread sleeps.
    turns: u32,
    asleep: Mutex<()>,
    changed: Condvar,
}

impl Meeting {
    /// A meeting of one thread for each of `parts` parts.
    pub fn new(parts: usize) -> Meeting {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Meeting {
            boards: (0..parts).map(|_| Board::default()).collect(),
            boxes: (0..parts * parts).map(|_| Mailbox::default()).collect(),
            news: (0..parts).map(|_| Mutex::default()).collect(),
            lent: (0..parts).map(|_| Mutex::default()).collect(),
            locked: AtomicBool::new(false),
            here: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            left: AtomicBool::new(false),
            next_look: AtomicUsize::new(LOOKS.len()),
            given_up: AtomicBool::new(false),
            began: OnceLock::new(),
            turns: if processors < parts { 0 } else { TURNS },
            asleep: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// The same, but given up if its threads wait more than they work.
    pub fn if_worth(self) -> Meeting {
        Meeting { next_look: AtomicUsize::new(0), ..self }
    }

    /// Whether it has been given up.
    pub fn was_given_up(&self) -> bool {
        self.given_up.load(Ordering::Acquire)
    }

    /// Gives the meeting up if that is due: all threads together have worked less than one alone could have.
    ///
    /// # Errors
    /// [`Interrupted`]: it is given up.
    pub(super) fn look(&self) -> Result<(), Interrupted> {
        let next = self.next_look.load(Ordering::Relaxed);
        let Some(&at) = LOOKS.get(next) else { return Ok(()) };
        let waited = || self.boards.iter().map(|board| board.waited.load(Ordering::Relaxed)).sum::<u64>();
        let &(began, before) = self.began.get_or_init(|| (now(), waited()));
        let spent = began.elapsed();
        if spent < at {
            return Ok(());
        }
        self.next_look.store(next + 1, Ordering::Relaxed);
        if u128::from(waited().saturating_sub(before)) <= spent.as_nanos() * (self.boards.len() as u128 - 1) {
            return Ok(());
        }
        self.given_up.store(true, Ordering::Release);
        Err(Interrupted)
    }

    /// Waits for all others.
    ///
    /// # Errors
    /// [`Interrupted`]: one of them has left.
    pub(super) fn wait(&self, own: usize) -> Result<(), Interrupted> {
        let began = now();
        let met = self.meet();
        self.boards[own].waited.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        met
    }

    fn meet(&self) -> Result<(), Interrupted> {
        let held = self.held.load(Ordering::Acquire);
        if self.here.fetch_add(1, Ordering::AcqRel) + 1 == self.boards.len() {
            self.here.store(0, Ordering::Relaxed);
            self.wake(|| self.held.store(held.wrapping_add(1), Ordering::Release));
            return Ok(());
        }
        let goes_on = || self.held.load(Ordering::Acquire) != held;
        let is_over = || goes_on() || self.left.load(Ordering::Acquire);
        // Usually the others come before a sleep would pay off; not if they cannot, because this thread has their
        // processor.
        if !(0..self.turns).any(|_| {
            std::hint::spin_loop();
            is_over()
        }) {
            let awake = locked(&self.asleep);
            drop(self.changed.wait_while(awake, |()| !is_over()));
        }
        if goes_on() { Ok(()) } else { Err(Interrupted) }
    }

    /// Wakes all sleeping threads, after making this change.
    fn wake(&self, change: impl FnOnce()) {
        let awake = locked(&self.asleep);
        change();
        drop(awake);
        self.changed.notify_all();
    }

    /// When this is dropped, even by a panic, its thread no longer arrives, and no other thread waits for it.
    pub fn leaving(&self) -> Leaving<'_> {
        Leaving(self)
    }

    /// Publishes a part's report to the others.
    pub(super) fn tell(&self, own: usize, told: Told) {
        self.boards[own].write(told);
    }

    /// When the next thing happens anywhere.
    pub(super) fn next(&self) -> Time {
        self.boards.iter().map(|board| board.read().next).min().unwrap_or(Time::NEVER)
    }

    /// Number of nodes that had something to do.
    pub(super) fn busy(&self) -> usize {
        self.boards.iter().map(|board| board.read().busy).sum()
    }

    /// Data packets that have arrived.
    pub(super) fn arrived(&self) -> u64 {
        self.boards.iter().map(|board| board.read().arrived).sum()
    }

    /// Puts the switches of a part where other threads can take them.
    pub(super) fn put_switches(&self, part: usize, switches: Table<SwitchId, Switch>) {
        *locked(&self.lent[part]) = switches;
    }

    /// Takes the switches of a part from there.
    pub(super) fn take_switches(&self, part: usize) -> Table<SwitchId, Switch> {
        std::mem::take(&mut locked(&self.lent[part]))
    }

    /// Publishes to the other threads whether pauses are deadlocked.
    pub(super) fn tell_locked(&self, locked: bool) {
        self.locked.store(locked, Ordering::Relaxed);
    }

    /// The last value [reported](Self::tell_locked).
    pub(super) fn is_locked(&self) -> bool {
        self.locked.load(Ordering::Relaxed)
    }

    /// Returns the last reports of the other parts.
    pub(super) fn others(&self, own: usize) -> impl Iterator<Item = Told> {
        self.boards.iter().enumerate().filter(move |&(part, _)| part != own).map(|(_, board)| board.read())
    }

    /// Flows not done yet, out of `at_first`, the number each part began with.
    pub(super) fn open(&self, at_first: u64) -> u64 {
        self.of_all(at_first, |told| told.open)
    }

    /// Whether nothing more happens to any flow that ends on its own, or to any operation. All parts began with the
    /// same `began`.
    pub(super) fn all_done(&self, began: Told) -> bool {
        self.open(began.open) == 0
            && self.of_all(began.operations, |told| told.operations) == 0
            && self.boards.iter().map(|board| board.read().alive).sum::<i64>() == 0
    }

    /// Returns how much of `at_first` all parts together have left, given what each has left, as far as it sees.
    fn of_all(&self, at_first: u64, left: impl Fn(Told) -> u64) -> u64 {
        let done: u64 = self.boards.iter().map(|board| at_first.saturating_sub(left(board.read()))).sum();
        at_first.saturating_sub(done)
    }

    /// Hands over the packets that a part has carried off for the others.
    pub(super) fn hand_over(&self, from: usize, mail: &mut Mail) {
        for (to, out) in mail.out.iter_mut().enumerate().filter(|(_, out)| !out.is_empty()) {
            let mut letters = locked(&self.boxes[from * self.boards.len() + to].0);
            if letters.is_empty() {
                std::mem::swap(&mut *letters, out);
            } else {
                letters.append(out);
            }
        }
    }

    /// Hands over news to a host of a part outside the network.
    pub(super) fn hand_over_news(&self, to: usize, news: News) {
        locked(&self.news[to]).push(news);
    }

    /// Returns the news from hosts of other parts to hosts of this part, outside the network.
    pub(super) fn news_for(&self, to: usize) -> Vec<News> {
        std::mem::take(&mut locked(&self.news[to]))
    }

    /// Takes over the packets for a part from the others.
    pub(super) fn take_over(&self, to: usize, mail: &mut Mail, mut take: impl FnMut(Carried)) {
        for from in 0..self.boards.len() {
            std::mem::swap(&mut *locked(&self.boxes[from * self.boards.len() + to].0), &mut mail.opened);
            mail.opened.drain(..).for_each(&mut take);
        }
    }
}

/// Wall-clock time: it decides whether threads are worthwhile, and affects nothing that happens in a run.
#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}

/// Locks data shared by threads. A thread that panicked holding it has left the meeting, and all others will too.
fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread that comes to meetings for as long as it holds this.
#[derive(Debug)]
pub struct Leaving<'m>(&'m Meeting);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.wake(|| self.0.left.store(true, Ordering::Release));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_goes_on_before_all_have_come() {
        let (meeting, sum) = (Meeting::new(3), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for own in 0..3u64 {
                let (meeting, sum) = (&meeting, &sum);
                scope.spawn(move || {
                    for round in 1..=2000 {
                        sum.fetch_add(own + 1, Ordering::Relaxed);
                        meeting.wait(own as usize).expect("all come");
                        assert_eq!(sum.load(Ordering::Relaxed), round * 6);
                        meeting.wait(own as usize).expect("all come");
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_one_who_has_left() {
        let meeting = Meeting::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(meeting.wait(1), Err(Interrupted)));
            drop(meeting.leaving());
        });
    }

    #[test]
    fn threads_that_wait_more_than_they_work_give_up_if_they_may() {
        let waits = |meeting: &Meeting, ms: u64| {
            meeting.boards[0].waited.store(ms * 1_000_000, Ordering::Relaxed);
            meeting.look().is_err()
        };
        let mut meeting = Meeting::new(3).if_worth();
        assert!(!waits(&meeting, 10_000), "too soon to tell");
        // Three threads, two of which may wait the whole time.
        let ago = |ms| (now().checked_sub(Duration::from_millis(ms)).expect("the clock runs since"), 10_000_000_000);
        assert_eq!(meeting.began.get().map(|began| began.1), Some(ago(0).1), "waited for setup");
        let waits = |meeting: &Meeting, ms: u64| waits(meeting, 10_000 + ms);
        meeting.began = ago(100).into();
        assert!(!waits(&meeting, 190));
        assert!(!waits(&meeting, 1_000_000), "asked for once at this time");
        meeting.began = ago(1_000).into();
        assert!(waits(&meeting, 1_000_000));
        assert!(meeting.was_given_up());
        let mut at_any_cost = Meeting::new(2);
        at_any_cost.began = ago(1_000).into();
        assert!(!waits(&at_any_cost, 1_000_000));
    }
}
