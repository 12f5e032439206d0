//! A host's perception of each path: the rack's measurements and its probes together, and which paths are best.

use super::RouteBy;
use super::congestion::{Score, Tally};
use crate::edge::rounds::Rounds;
use crate::{Rng, Time, Way};

/// The result of the last probe on a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Probed {
    /// None was sent, or data have reported more since.
    #[default]
    Not,
    /// It came back.
    Answered(Score),
    /// It was lost: the penalty.
    Lost(Score),
}

/// Row of a path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Route {
    /// Reports of this host's packets since its last report.
    pub own: Tally,
    /// At the proxy: the reports since its last broadcast.
    pub rack: Tally,
    /// The score of it by the rack's data.
    pub heard: Score,
    /// Its assumed congestion.
    pub score: Score,
    /// The result of its last probe.
    pub probed: Probed,
    /// The last probe that was answered: its round, and its result.
    pub result: Option<(u32, Score)>,
    /// When the last probe that was answered was sent.
    proven: Time,
    /// Whether that was since the last tick.
    pub fresh: bool,
    /// Whether no path is better.
    pub tied: bool,
    /// Row i of a peer's paths: the i-th of those than which no path is better.
    pub order: u16,
}

impl Route {
    /// A period has passed: data outdo a probe of the previous one.
    pub fn age(&mut self) {
        if !self.fresh && self.heard.is_known() {
            self.probed = Probed::Not;
        }
        self.fresh = false;
    }

    /// Its congestion as the rack's data have it; a probe counts where they have nothing, or if it was lost.
    pub(crate) fn pooled(&self) -> Score {
        perceive(self.heard, self.probed, false)
    }

    /// A probe sent at this instant was answered.
    pub(crate) fn proves(&mut self, sent: Time) {
        self.proven = self.proven.max(sent);
    }

    /// Whether a probe was answered that was sent later than this.
    pub(crate) fn has_outdone(&self, sent: Time) -> bool {
        self.proven > sent
    }

    /// A probe was answered or lost.
    pub fn probed(&mut self, probed: Probed) {
        (self.probed, self.fresh) = (probed, true);
    }
}

/// Row of a destination rack.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peer {
    /// Flows of this host to it.
    pub active: u32,
    /// At the proxy: whether any host of the rack has flows to it, by the reports since the last broadcast.
    pub wanting: bool,
    /// The same, for the previous window.
    pub wanted: bool,
    /// The probes.
    pub rounds: Rounds,
    /// Rounds of probes so far.
    pub round: u32,
    /// The host there that answers them.
    pub target: Option<u32>,
    /// Number of best paths; zero before anything was heard.
    pub tied: u16,
}

/// The assumed congestion of a path. `best`: its probe was the best of the round.
// MEET §3.2 and §3.3; where the paper is silent, see the scheme's head.
pub(crate) fn perceive(heard: Score, probed: Probed, best: bool) -> Score {
    match probed {
        // MEET §4.2: "failed links will be considered as congested".
        Probed::Lost(penalty) if heard.is_known() => penalty.max(heard),
        Probed::Lost(penalty) => penalty,
        Probed::Answered(score) if !heard.is_known() => score,
        // The better of the least congested path and the best probed one is chosen, by whichever value made it so.
        Probed::Answered(score) if best => score.min(heard),
        _ => heard,
    }
}

/// The latest round of probes, this one or the previous one, that has an answer.
fn answered(peer: &Peer, routes: &[Route]) -> Option<u32> {
    let rounds = routes.iter().filter_map(|route| route.result).map(|(round, _)| round);
    rounds.filter(|round| round + 1 >= peer.round).max()
}

/// Computes the assumed congestion of each path to a rack, and which paths are best.
pub(crate) fn settle(by: RouteBy, peer: &mut Peer, routes: &mut [Route]) {
    let best = peer.rounds.best().map(|(way, _)| way.index());
    // MEET §3.3: "selects the path with the best probing result".
    let round = (by == RouteBy::BestProbe).then(|| answered(peer, routes)).flatten();
    let mut least = None;
    for (way, route) in routes.iter_mut().enumerate() {
        route.score = match (round, route.result) {
            (None, _) => perceive(route.heard, route.probed, best == Some(way)),
            (Some(round), Some((of, score))) if of == round => score,
            _ => Score::PASSED_OVER,
        };
        least = Some(least.map_or(route.score, |least: Score| least.min(route.score)));
    }
    let mut tied = 0;
    for way in 0..routes.len() {
        routes[way].tied = Some(routes[way].score) == least;
        if routes[way].tied {
            routes[tied].order = way as u16;
            tied += 1;
        }
    }
    peer.tied = tied as u16;
}

/// The path of a new flowlet: one of the best, equally likely, so that a rack does not move as one; `old`, if it is one
/// of them.
#[inline]
pub(crate) fn choose(tied: u16, routes: &[Route], old: Option<Way>, rng: &mut Rng) -> Way {
    match old {
        Some(way) if tied == 0 || routes[way.index()].tied => way,
        _ if tied == 0 => Way(rng.below(routes.len() as u32) as u16),
        _ => Way(routes[rng.below(u32::from(tied)) as usize].order),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_and_probes_together() {
        let of = Score::of;
        let (unknown, answered, lost) = (Score::UNKNOWN, Probed::Answered(of(8)), Probed::Lost(of(1_000)));
        for (heard, probed, best, expected) in [
            (unknown, Probed::Not, false, unknown),
            (unknown, answered, false, of(8)),
            (unknown, lost, false, of(1_000)),
            (of(27), Probed::Not, false, of(27)),
            (of(27), answered, false, of(27)),
            (of(27), answered, true, of(8)),
            (of(1), answered, true, of(1)),
            (of(27), lost, false, of(1_000)),
            (of(2_000), lost, true, of(2_000)),
        ] {
            assert_eq!(perceive(heard, probed, best), expected, "{heard:?} {probed:?} {best}");
        }
    }

    fn routes(heard: &[Score]) -> std::vec::Vec<Route> {
        heard.iter().map(|&heard| Route { heard, ..Route::default() }).collect()
    }

    extern crate std;

    #[test]
    fn ties_are_drawn_evenly_and_the_old_path_is_kept_in_one() {
        let (mut peer, mut rng) = (Peer::default(), Rng::stream(1, "test", 0));
        let mut routes = routes(&[8, 0, 1, 0, 0].map(Score::of));
        settle(RouteBy::Combined, &mut peer, &mut routes);
        assert_eq!(peer.tied, 3);
        let mut seen = [0u32; 5];
        for _ in 0..9_000 {
            seen[choose(peer.tied, &routes, Some(Way(2)), &mut rng).index()] += 1;
        }
        assert_eq!((seen[0], seen[2]), (0, 0));
        assert!([1, 3, 4].iter().all(|&way: &usize| seen[way].abs_diff(3_000) < 200), "{seen:?}");
        assert!((0..50).all(|_| choose(peer.tied, &routes, Some(Way(3)), &mut rng) == Way(3)));
    }

    #[test]
    fn a_path_of_which_nothing_is_known_comes_after_an_idle_one_and_before_a_busy_one() {
        let mut peer = Peer::default();
        for (heard, best) in
            [([Score::of(8), Score::UNKNOWN, Score::of(0)], 2), ([Score::of(8), Score::UNKNOWN, Score::of(1)], 1)]
        {
            let mut routes = routes(&heard);
            settle(RouteBy::Combined, &mut peer, &mut routes);
            assert_eq!((peer.tied, routes[0].order), (1, best));
        }
    }

    #[test]
    fn the_best_of_the_latest_round_that_was_answered_is_chosen_whatever_data_say() {
        let results = [Some((7, 30)), Some((8, 90)), Some((8, 64)), Some((6, 0)), None];
        for (round, chosen) in [(8, Some(2)), (9, Some(2)), (10, None)] {
            let mut peer = Peer { round, ..Peer::default() };
            let mut routes = routes(&[0, 0, 500, 0, 0].map(Score::of));
            routes.iter_mut().zip(results).for_each(|(route, result)| {
                route.result = result.map(|(round, c)| (round, Score::of(c)));
            });
            settle(RouteBy::BestProbe, &mut peer, &mut routes);
            let best: std::vec::Vec<usize> = (0..5).filter(|&way| routes[way].tied).collect();
            match chosen {
                Some(way) => assert_eq!((best, routes[0].score), (std::vec![way], Score::PASSED_OVER)),
                None => assert_eq!(best, [0, 1, 3, 4], "two rounds without an answer: as combined"),
            }
        }
    }

    #[test]
    fn equal_results_are_a_tie() {
        let mut peer = Peer { round: 1, ..Peer::default() };
        let mut routes = routes(&[Score::UNKNOWN; 4]);
        [(1, 0), (3, 0), (2, 1)]
            .iter()
            .for_each(|&(way, c): &(usize, u64)| routes[way].result = Some((1, Score::of(c))));
        settle(RouteBy::BestProbe, &mut peer, &mut routes);
        assert_eq!((peer.tied, routes[0].order, routes[1].order), (2, 1, 3));
    }

    #[test]
    fn a_probe_is_believed_until_data_say_more() {
        let mut route = Route::default();
        route.probed(Probed::Lost(Score::of(9)));
        route.age();
        route.age();
        assert_eq!(route.probed, Probed::Lost(Score::of(9)), "nothing else was heard of that path");
        route.heard = Score::of(0);
        route.probed(Probed::Lost(Score::of(9)));
        route.age();
        assert_eq!(route.probed, Probed::Lost(Score::of(9)), "the tick after it");
        route.age();
        assert_eq!(route.probed, Probed::Not);
    }
}
