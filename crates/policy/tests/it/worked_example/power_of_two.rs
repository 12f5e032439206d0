//! Power of two: each flowlet on the shorter of two queues drawn at random.
//!
//! Mitzenmacher, "The power of two choices in randomized load balancing", IEEE TPDS 12(10), 2001.
//!
//! | our word | the paper's |
//! |---|---|
//! | queue | bin |
//! | flowlet | ball |
//!
//! Departures: a flowlet takes time, where a ball is placed at once. Every switch with a choice decides by itself.

use crate::{AtSwitch, Cx, Kind, Layout, Packet, Policy, Port, Rng, Shape, Sheet, Span, Time, Way};

crate::params! {
    /// Parameters of power of two.
    Config {
        /// Flowlet gap, microseconds: a longer idle time opens a new flowlet (own choice).
        flowlet_gap_us: f64 = 100.0, Allowed::Number { min: 0.0, max: 1e9 };
    }
}

/// Row per flow and direction: its last flowlet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flowlet {
    last: Time,
    port: Option<u16>,
}

/// The shorter of two random queues, per flowlet.
#[derive(Clone, Copy, Debug)]
pub struct PowerOfTwo {
    gap: Span,
}

impl Policy for PowerOfTwo {
    const SHEET: Sheet = Sheet {
        name: "power_of_two",
        summary: "each flowlet on the shorter of two queues drawn at random",
        source: "Mitzenmacher, IEEE TPDS 2001",
        unit: "flowlet",
        ..Sheet::AT_SWITCH
    };
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { flow: Flowlet }

    fn new(config: &Config) -> Self {
        PowerOfTwo { gap: Span::from_us_f64(config.flowlet_gap_us) }
    }

    fn layout(&self, _: &Shape) -> Layout {
        // A row older than the gap says no more than no row.
        Layout { flow_idle: self.gap, ..Layout::default() }
    }

    fn pick(&self, cx: &mut Cx<'_, Self>, flowlet: &mut Flowlet, packet: &Packet, _: &mut ()) -> Way {
        let candidates = cx.view.candidates;
        let of_flow = matches!(packet.kind, Kind::Data | Kind::Ack);
        let goes_on = of_flow && cx.now.since(flowlet.last) <= self.gap;
        let kept = flowlet.port.filter(|_| goes_on).and_then(|port| candidates.iter().position(|&p| p == port));
        let way = kept.unwrap_or_else(|| {
            let (a, b) = two(cx.rng, candidates.len() as u32);
            let length = |way: usize| cx.view.queue_bytes(Port(candidates[way]));
            if length(b) < length(a) { b } else { a }
        });
        if of_flow {
            *flowlet = Flowlet { last: cx.now, port: Some(candidates[way]) };
        }
        Way(way as u16)
    }
}

/// Two different numbers below `n`, any pair as likely as any other; the same twice if there is only one.
fn two(rng: &mut Rng, n: u32) -> (usize, usize) {
    let first = rng.below(n);
    let further = if n > 1 { 1 + rng.below(n - 1) } else { 0 };
    (first as usize, ((first + further) % n) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_differ_and_no_pair_is_preferred() {
        let mut rng = Rng::stream(1, "test", 0);
        let mut seen = [[0u32; 4]; 4];
        for _ in 0..12_000 {
            let (a, b) = two(&mut rng, 4);
            seen[a][b] += 1;
        }
        for (a, row) in seen.iter().enumerate() {
            for (b, &times) in row.iter().enumerate() {
                let expected = if a == b { 0 } else { 1_000 };
                assert!(times.abs_diff(expected) < 150, "({a}, {b}) came {times} times");
            }
        }
        assert_eq!(two(&mut rng, 1), (0, 0));
    }
}
