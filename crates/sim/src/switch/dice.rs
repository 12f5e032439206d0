//! Random numbers for marking: which stream each port draws from.

use spinewise_policy::Rng;

/// The random source of a switch when a queue marks some of its packets.
#[derive(Clone, Debug)]
pub(super) enum Dice {
    /// Each port has a stream of its own: what one port draws never shifts what another draws.
    PerPort(Vec<Rng>),
    /// All ports of a switch draw from one stream, and all switches from the same: in the followed program every switch
    /// opens stream 0 of ns-3's default seed and run.
    Ns3(Box<Mrg32k3a>),
}

impl Dice {
    /// Returns a number uniform in (0, 1), for this port.
    #[cold]
    pub(super) fn roll(&mut self, port: u16) -> f64 {
        match self {
            Dice::PerPort(streams) => streams.get_mut(usize::from(port)).map_or(1.0, Rng::unit),
            Dice::Ns3(stream) => stream.unit(),
        }
    }
}

/// One half of the generator: x(n) = (a·x(n−i) − b·x(n−3)) mod m, as a 3 × 3 matrix of residues.
type Matrix = [[u64; 3]; 3];

const M: [u64; 2] = [4_294_967_087, 4_294_944_443];
const A12: u64 = 1_403_580;
const A13: u64 = 810_728;
const A21: u64 = 527_612;
const A23: u64 = 1_370_589;
/// 1 / (m₁ + 1).
const NORM: f64 = 2.328_306_549_295_728e-10;
/// Streams are 2¹²⁷ numbers apart, their substreams (ns-3: runs) 2⁷⁶.
const STREAM: u32 = 127;
const SUBSTREAM: u32 = 76;

/// The combined multiple recursive generator MRG32k3a of ns-3 (P. L'Ecuyer et al., An object-oriented random-number
/// package with many long streams and substreams, Operations Research 50(6), 2002).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mrg32k3a([[u64; 3]; 2]);

impl Mrg32k3a {
    /// Stream 0 as opened by an ns-3 program that never sets a seed (1) or a run (1): ns-3 counts streams that are
    /// requested by number from 2⁶³ on.
    pub(super) fn ns3_stream_0() -> Mrg32k3a {
        let mut it = Mrg32k3a([[1; 3]; 2]);
        it.skip(STREAM + 63);
        it.skip(SUBSTREAM);
        it
    }

    /// Skips 2^`power` numbers.
    fn skip(&mut self, power: u32) {
        let steps: [Matrix; 2] =
            [[[0, 1, 0], [0, 0, 1], [M[0] - A13, A12, 0]], [[0, 1, 0], [0, 0, 1], [M[1] - A23, 0, A21]]];
        for ((half, step), m) in self.0.iter_mut().zip(steps).zip(M) {
            let leap = (0..power).fold(step, |it, _| product(&it, &it, m));
            *half = leap.map(|row| dot(&row, half, m));
        }
    }

    /// Uniform in (0, 1), 32 bits.
    pub(super) fn unit(&mut self) -> f64 {
        let [[x0, x1, x2], [y0, y1, y2]] = self.0;
        let x = difference(A12 * x1, A13 * x0, M[0]);
        let y = difference(A21 * y2, A23 * y0, M[1]);
        self.0 = [[x1, x2, x], [y1, y2, y]];
        (if x > y { x - y } else { x + M[0] - y }) as f64 * NORM
    }
}

/// (a − b) mod m, where `a` and `b` are below 2⁶³. Adding (m − b) instead would occasionally pass 2⁶⁴.
fn difference(a: u64, b: u64, m: u64) -> u64 {
    (a.cast_signed() - b.cast_signed()).rem_euclid(m.cast_signed()).cast_unsigned()
}

fn dot(row: &[u64; 3], column: &[u64; 3], m: u64) -> u64 {
    row.iter().zip(column).fold(0, |sum, (a, b)| (sum + a * b % m) % m)
}

fn product(a: &Matrix, b: &Matrix, m: u64) -> Matrix {
    let column = |j: usize| [b[0][j], b[1][j], b[2][j]];
    a.map(|row| [0, 1, 2].map(|j| dot(&row, &column(j), m)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_those_of_the_published_package() {
        let mut stream = Mrg32k3a([[12_345; 3]; 2]);
        for expected in [0.127_011_122_05, 0.318_527_565_40] {
            assert!((stream.unit() - expected).abs() < 1e-10);
        }
    }

    #[test]
    fn residues_that_are_all_as_large_as_can_be_are_multiplied_whole() {
        // -1 for all of them: x = A13 - A12 and y = A23 - A21 (mod m).
        let mut stream = Mrg32k3a([[M[0] - 1; 3], [M[1] - 1; 3]]);
        stream.unit();
        assert_eq!([stream.0[0][2], stream.0[1][2]], [M[0] + A13 - A12, A23 - A21]);
    }

    #[test]
    fn skipping_is_drawing() {
        let (mut walked, mut skipped) = (Mrg32k3a([[12_345; 3]; 2]), Mrg32k3a([[12_345; 3]; 2]));
        (0..1 << 10).for_each(|_| {
            walked.unit();
        });
        skipped.skip(10);
        assert_eq!(walked, skipped);
    }
}
