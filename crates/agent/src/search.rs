//! Which source port takes which path to a peer: a search, as traceroute does it with a fixed flow (Paris traceroute).
//!
//! Ports are traced a few at a time, each by a probe with TTL 2, then 3, and so on until the peer itself answers; the
//! first hop is the same for all, because a host has one way out. Then one as long as the longest packet must arrive. A
//! search ends when the probability of having missed one more path, all being equally likely, is only [`MISSED`] (the
//! stopping rule of Multipath Detection, Augustin et al., 2007), or when as many ports have been traced as are allowed.
//!
//! A switch that was silent may have been late, or its answer lost. Ports whose path differs from another's only in
//! silent hops are therefore traced again, one after another, beyond the allowed number. If one is silent [`AGAIN`]
//! more times, its path counts as separate, and so do those of the others that look the same. Not so if one of its known
//! hops is on a single path of those that answer throughout: then it is that path, and a switch had no answers left
//! (net.ipv4.icmp_ratelimit). A switch that never answers is missed if it shares all other hops with one that does.

use spinewise_policy::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

/// Probability of a path that is not found.
pub const MISSED: f64 = 0.001;

/// Ports traced at a time.
const AT_ONCE: usize = 8;

/// A hop that does not answer is asked again this many times.
const TRIES: u8 = 3;

/// How many times a port is traced again if only silent hops distinguish its path.
const AGAIN: u8 = 2;

/// Ports are drawn from here up (RFC 6335: the dynamic range), except the last, which stands for none in ELAB.
const FIRST_PORT: u16 = 0xc000;

/// As a TTL: as far as it takes, and as long as the longest packet of the tunnel.
pub const FULL: u8 = u8::MAX;

/// A path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    /// Switches on it beyond the first, 0.0.0.0 for one that does not answer.
    pub hops: Vec<Ipv4Addr>,
    /// A source port that takes it.
    pub port: u16,
}

impl Path {
    /// Whether it can be that other path, with switches that did not answer. A peer that did not answer at once looks
    /// like one more silent switch.
    fn may_be(&self, other: &Path) -> bool {
        let silent = Ipv4Addr::is_unspecified;
        let beyond = self.hops.iter().skip(other.hops.len()).all(silent);
        let fits = self.hops.iter().zip(&other.hops).all(|(own, its)| silent(own) || own == its);
        self.hops != other.hops && self.hops.len() >= other.hops.len() && beyond && fits
    }
}

/// A port being traced.
#[derive(Clone, Debug, Default)]
struct Trace {
    hops: Vec<Ipv4Addr>,
    tries: u8,
    /// A hop was silent, so the peer itself is probed to see whether anything arrives there.
    asks: bool,
    /// The peer has confirmed that.
    arrives: bool,
    /// All hops are known, and a packet of full length is on its way.
    fills: bool,
}

/// A search for the paths to one peer.
#[derive(Clone, Debug)]
pub struct Search {
    under_way: BTreeMap<u16, Trace>,
    waiting: Vec<u16>,
    found: Vec<Path>,
    /// Paths on which only short packets arrive.
    narrow: Vec<Path>,
    /// Ports that have been traced again, and how many times.
    again: BTreeMap<u16, u8>,
    traced: u32,
    most_ports: u32,
    most_hops: u8,
    rng: Rng,
}

/// A probe that a search requests: source port, and TTL, or 0 for one that goes all the way, or [`FULL`].
pub type Wanted = (u16, u8);

impl Search {
    /// Begins with ports that are in use.
    pub fn new(known: &[u16], most_ports: u32, most_hops: u8, seed: u64) -> Search {
        Search {
            under_way: BTreeMap::new(),
            waiting: known.to_vec(),
            found: Vec::new(),
            narrow: Vec::new(),
            again: BTreeMap::new(),
            traced: 0,
            most_ports,
            most_hops,
            rng: Rng::stream(seed, "search", 0),
        }
    }

    /// Ports to start tracing now.
    pub fn begin(&mut self) -> Vec<Wanted> {
        let mut wanted = Vec::new();
        while self.under_way.len() < AT_ONCE && !self.is_enough() {
            let port = self.waiting.pop().unwrap_or_else(|| FIRST_PORT + self.rng.below(0x3fff) as u16);
            if !self.under_way.contains_key(&port) && !self.found.iter().any(|path| path.port == port) {
                self.under_way.insert(port, Trace::default());
                wanted.push((port, 2));
            }
            self.traced += 1;
        }
        while self.under_way.is_empty() && self.is_enough() {
            let Some(at) = self.doubtful() else { break };
            let port = self.found.swap_remove(at).port;
            *self.again.entry(port).or_default() += 1;
            self.under_way.insert(port, Trace::default());
            wanted.push((port, 2));
        }
        wanted
    }

    /// A port that must be traced again, by its index among those found.
    fn doubtful(&self) -> Option<usize> {
        let times = |path: &Path| self.again.get(&path.port).copied().unwrap_or(0);
        let is_known = |path: &Path| self.found.iter().any(|one| one.hops == path.hops && times(one) >= AGAIN);
        let may_be_another = |path: &Path| self.found.iter().any(|other| path.may_be(other));
        let whole = self.whole();
        self.found.iter().position(|path| may_be_another(path) && !is_known(path) && !is_one_of(path, &whole))
    }

    /// The paths on which every switch has answered.
    fn whole(&self) -> BTreeSet<&[Ipv4Addr]> {
        let answers = |path: &&Path| !path.hops.iter().any(Ipv4Addr::is_unspecified);
        self.found.iter().filter(answers).map(|path| &path.hops[..]).collect()
    }

    fn is_enough(&self) -> bool {
        let needed = ports_needed(self.paths().len()).min(self.most_ports);
        self.traced >= needed && self.waiting.is_empty()
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.under_way.is_empty() && self.is_enough() && self.doubtful().is_none()
    }

    /// A switch has answered. Returns the next probe.
    pub fn hop(&mut self, port: u16, by: Ipv4Addr) -> Option<Wanted> {
        let trace = self.under_way.get_mut(&port)?;
        trace.hops.push(by);
        trace.tries = 0;
        let ttl = trace.hops.len() as u8 + 2;
        if ttl > self.most_hops {
            self.under_way.remove(&port);
            return None;
        }
        Some((port, ttl))
    }

    /// The peer itself has answered: the port is done, or at least known to lead there. Returns the next probe.
    pub fn through(&mut self, port: u16) -> Option<Wanted> {
        let trace = self.under_way.get_mut(&port)?;
        if trace.asks {
            (trace.asks, trace.arrives) = (false, true);
            return self.hop(port, Ipv4Addr::UNSPECIFIED);
        }
        if !trace.fills {
            (trace.fills, trace.tries) = (true, 0);
            return Some((port, FULL));
        }
        let trace = self.under_way.remove(&port)?;
        self.found.push(Path { hops: trace.hops, port });
        None
    }

    /// No answer came in time. Returns the next probe.
    pub fn silent(&mut self, port: u16) -> Option<Wanted> {
        let trace = self.under_way.get_mut(&port)?;
        trace.tries += 1;
        if trace.tries < TRIES {
            let onward = trace.hops.len() as u8 + 2;
            let ttl = if trace.fills { FULL } else { onward };
            return Some((port, if trace.asks { 0 } else { ttl }));
        }
        if trace.fills {
            let hops = self.under_way.remove(&port)?.hops;
            self.narrow.push(Path { hops, port });
            return None;
        }
        if trace.asks {
            // A port by which nothing arrives is not a path, and is not traced to its end.
            self.under_way.remove(&port);
            return None;
        }
        if trace.arrives {
            return self.hop(port, Ipv4Addr::UNSPECIFIED);
        }
        (trace.asks, trace.tries) = (true, 0);
        Some((port, 0))
    }

    /// The paths that were found; a known one keeps its port if that still takes it.
    pub fn paths_beside(&self, known: &[Path]) -> Vec<Path> {
        let keeps = |path: Path| {
            let same = known.iter().find(|old| old.hops == path.hops && self.found.contains(old));
            same.cloned().unwrap_or(path)
        };
        self.paths().into_iter().map(keeps).collect()
    }

    /// The number of paths on which only short packets arrive.
    pub fn narrow(&self) -> usize {
        let fits = |path: &Path| self.found.iter().any(|found| found.hops == path.hops);
        let narrow = self.narrow.iter().filter(|path| !fits(path)).map(|path| &path.hops);
        narrow.collect::<BTreeSet<_>>().len()
    }

    /// The paths that were found, in an order that is the same for all hosts of a rack; each by its lowest port.
    pub fn paths(&self) -> Vec<Path> {
        let whole = self.whole();
        let mut found: Vec<Path> = self.found.iter().filter(|path| !is_one_of(path, &whole)).cloned().collect();
        found.sort();
        found.dedup_by(|later, first| later.hops == first.hops);
        found
    }
}

/// Whether a path with silent switches is one of those without, as a hop tells that only that one has.
fn is_one_of(path: &Path, whole: &BTreeSet<&[Ipv4Addr]>) -> bool {
    let fits = |hops: &[Ipv4Addr]| path.may_be(&Path { hops: hops.to_vec(), port: 0 });
    let tells = |(at, hop): (usize, &Ipv4Addr)| {
        let mut having = whole.iter().filter(|hops| !hop.is_unspecified() && hops.get(at) == Some(hop));
        having.next().is_some_and(|hops| fits(hops)) && having.next().is_none()
    };
    whole.len() > 1 && path.hops.iter().enumerate().any(tells)
}

/// Ports to trace, if this many paths have been found, before it may be assumed that there are no more.
pub fn ports_needed(paths: usize) -> u32 {
    let paths = paths.max(1) as f64;
    ((MISSED / (paths + 1.0)).ln() / (paths / (paths + 1.0)).ln()).ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fabric of `spines`, where a port uses the spine given by port modulo their number; hop 3 is the far leaf.
    fn run(spines: u16, silent_leaf: bool) -> Search {
        let mut search = Search::new(&[], 4096, 8, 7);
        for _ in 0..10_000 {
            let mut wanted = search.begin();
            while let Some((port, ttl)) = wanted.pop() {
                let next = match ttl {
                    2 => search.hop(port, Ipv4Addr::new(10, 0, 0, (port % spines) as u8)),
                    3 if silent_leaf => search.silent(port),
                    3 => search.hop(port, Ipv4Addr::new(10, 1, 0, 1)),
                    _ => search.through(port),
                };
                wanted.extend(next);
            }
            if search.is_over() {
                break;
            }
        }
        search
    }

    #[test]
    fn all_paths_are_found_in_one_order() {
        for spines in [1, 2, 4, 8, 16] {
            for silent in [false, true] {
                let paths = run(spines, silent).paths();
                let hops: Vec<u8> = paths.iter().map(|path| path.hops[0].octets()[3]).collect();
                assert_eq!(hops, (0..spines as u8).collect::<Vec<_>>(), "{spines} spines");
                assert!(paths.iter().all(|path| u16::from(path.hops[0].octets()[3]) == path.port % spines));
            }
        }
    }

    #[test]
    fn a_known_path_keeps_its_port() {
        let search = run(4, false);
        let mut known = search.paths();
        let higher = search.found.iter().filter(|path| path.hops == known[2].hops).max().expect("several").clone();
        assert!(higher.port > known[2].port);
        known[2] = higher;
        known[3].port = 7;
        let paths = search.paths_beside(&known);
        assert_eq!((&paths[..3], &paths[3]), (&known[..3], &search.paths()[3]));
    }

    /// A search of four spines; `answer` gives the answer to each probe, by its port, its TTL and how many times it was
    /// sent.
    fn search(answer: impl Fn(u16, u8, u32) -> Option<Ipv4Addr>) -> Search {
        let mut search = Search::new(&[], 4096, 8, 7);
        let mut sent = BTreeMap::<Wanted, u32>::new();
        for _ in 0..10_000 {
            let mut wanted = search.begin();
            while let Some((port, ttl)) = wanted.pop() {
                let times = sent.entry((port, ttl)).or_default();
                *times += 1;
                let next = match answer(port, ttl, *times) {
                    Some(hop) if hop == Ipv4Addr::BROADCAST => search.through(port),
                    Some(hop) => search.hop(port, hop),
                    None => search.silent(port),
                };
                wanted.extend(next);
            }
            if search.is_over() {
                return search;
            }
        }
        panic!("the search does not end");
    }

    /// The device that answers when all do: a spine, the far leaf by the port that leads to that spine, the peer.
    fn all_answer(port: u16, ttl: u8) -> Option<Ipv4Addr> {
        let spine = (port % 4) as u8;
        Some(match ttl {
            2 => Ipv4Addr::new(10, 0, 0, spine),
            3 => Ipv4Addr::new(10, 1, 0, spine),
            _ => Ipv4Addr::BROADCAST,
        })
    }

    #[test]
    fn switches_that_answer_late_make_no_further_paths() {
        let clean = search(|port, ttl, _| all_answer(port, ttl)).paths();
        for silent in [2, 3] {
            let found = search(|port, ttl, times| {
                let late = ttl == silent && port % 8 < 4 && times <= u32::from(TRIES);
                if late { None } else { all_answer(port, ttl) }
            });
            let hops = |paths: &[Path]| paths.iter().map(|path| path.hops.clone()).collect::<Vec<_>>();
            assert_eq!(hops(&found.paths()), hops(&clean));
        }
    }

    #[test]
    fn a_switch_that_answers_rarely_makes_no_further_paths() {
        let asked = std::cell::Cell::new(0u32);
        let found = search(|port, ttl, _| {
            asked.set(asked.get() + u32::from(ttl == 3));
            if ttl == 3 && !asked.get().is_multiple_of(5) { None } else { all_answer(port, ttl) }
        });
        let hops = |paths: &[Path]| paths.iter().map(|path| path.hops.clone()).collect::<Vec<_>>();
        assert_eq!(hops(&found.paths()), hops(&search(|port, ttl, _| all_answer(port, ttl)).paths()));
    }

    #[test]
    fn a_path_that_only_short_packets_pass_is_none() {
        let found = search(|port, ttl, _| all_answer(port, ttl).filter(|_| ttl != FULL || port % 4 != 2));
        let spines: Vec<u8> = found.paths().iter().map(|path| path.hops[0].octets()[3]).collect();
        assert_eq!((spines, found.narrow()), (vec![0, 1, 3], 1));
    }

    #[test]
    fn a_peer_that_answers_late_is_no_switch() {
        let found = search(|port, ttl, times| {
            let late = ttl == 4 && port % 8 < 4 && times <= u32::from(TRIES);
            if late { None } else { all_answer(port, ttl) }
        });
        assert!(found.paths().iter().all(|path| path.hops.len() == 2), "{:?}", found.paths());
        assert_eq!(found.paths().len(), 4);
    }

    #[test]
    fn a_spine_that_never_answers_is_a_path_of_its_own() {
        // The far leaf answers by one address, as it does where icmp_errors_use_inbound_ifaddr is off.
        let found = search(|port, ttl, _| match (ttl, port % 4) {
            (2, 3) => None,
            (3, _) => Some(Ipv4Addr::new(10, 1, 0, 1)),
            _ => all_answer(port, ttl),
        });
        let silent = found.paths().iter().filter(|path| path.hops[0].is_unspecified()).count();
        assert_eq!((found.paths().len(), silent), (4, 1));
    }

    #[test]
    fn the_stopping_rule_is_that_of_multipath_detection() {
        // One path more than k is missed by n ports with probability (k + 1) (k / (k + 1))^n.
        for paths in 1..20 {
            let missed = |ports: u32| (paths as f64 + 1.0) * (paths as f64 / (paths as f64 + 1.0)).powi(ports as i32);
            let needed = ports_needed(paths);
            assert!(missed(needed) <= MISSED * 1.000_001 && missed(needed - 1) > MISSED, "{paths}: {needed}");
        }
    }

    #[test]
    fn the_allowed_number_of_ports_suffices_for_the_allowed_number_of_paths() {
        let allowed = crate::config::Discovery::default();
        assert!(ports_needed(usize::from(allowed.most_paths)) <= allowed.ports);
    }

    #[test]
    fn a_port_that_never_arrives_is_none() {
        let mut search = Search::new(&[50_000], 1, 5, 7);
        let mut wanted = search.begin();
        let mut probes = 0;
        while let Some((port, _)) = wanted.pop() {
            wanted.extend(search.silent(port));
            probes += 1;
        }
        assert!(search.is_over() && search.paths().is_empty());
        assert_eq!(probes, 2 * u32::from(TRIES), "the first hop, and the peer itself");
    }
}
