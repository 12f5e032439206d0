//! Logarithm, exponential and normal deviates from + − × ÷ √ alone, which IEEE 754 rounds the same everywhere.
//!
//! `f64::ln` and `f64::exp` come from the system's mathematics library and differ in the last bit between systems; one
//! such bit would move an arrival by a picosecond and change the outcome hash. These differ from the true value by a
//! few units in the last place, always the same ones.

use spinewise_policy::rng::Rng;

/// ln 2 to 32 bits, so that its product with an exponent is exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
/// The remainder of ln 2 beyond `LN2_HIGH`.
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Terms of the series: the twelfth is below 10⁻¹⁷ of the first at the ends of the reduced range.
const LN_TERMS: u32 = 12;
/// As above, for the exponential within ± ½ ln 2.
const EXP_TERMS: u32 = 15;
const MANTISSA_BITS: u32 = 52;
const BIAS: i64 = 1023;

/// Natural logarithm of a positive, finite number.
pub fn ln(x: f64) -> f64 {
    debug_assert!(x > 0.0 && x.is_finite(), "ln of {x}");
    if x < f64::MIN_POSITIVE {
        return ln(x * (1u64 << 54) as f64) - 54.0 * (LN2_HIGH + LN2_LOW);
    }
    let bits = x.to_bits();
    let mut exponent = (bits >> MANTISSA_BITS) as i64 - BIAS;
    let mut mantissa = f64::from_bits(bits & ((1 << MANTISSA_BITS) - 1) | (BIAS as u64) << MANTISSA_BITS);
    if mantissa > core::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    // ln m = 2 artanh((m − 1) / (m + 1)), with |s| ≤ 3 − 2√2 by the reduction above.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut tail = 0.0;
    for k in (1..LN_TERMS).rev() {
        tail = square * (tail + 1.0 / (2 * k + 1) as f64);
    }
    let exponent = exponent as f64;
    exponent * LN2_HIGH + (exponent * LN2_LOW + 2.0 * (s + s * tail))
}

/// e to the power `x`; 0 where the result would be subnormal, infinity where it would overflow.
pub fn exp(x: f64) -> f64 {
    let power = (x / core::f64::consts::LN_2 + 0.5).floor();
    if power > 1023.0 {
        return f64::INFINITY;
    }
    if power < -1022.0 {
        return 0.0;
    }
    let rest = (x - power * LN2_HIGH) - power * LN2_LOW;
    let mut sum = 1.0;
    for k in (1..EXP_TERMS).rev() {
        sum = 1.0 + sum * rest / k as f64;
    }
    sum * f64::from_bits(((power as i64 + BIAS) as u64) << MANTISSA_BITS)
}

/// `base` to the power `exponent`, for a positive base.
pub fn pow(base: f64, exponent: f64) -> f64 {
    exp(exponent * ln(base))
}

/// An exponential deviate of mean 1, by inversion: `1 − u` is exact and never zero.
pub fn exponential(rng: &mut Rng) -> f64 {
    -ln(1.0 - rng.unit())
}

/// A normal deviate of mean 0 and variance 1 (Marsaglia's polar method; the second deviate is not kept).
pub fn normal(rng: &mut Rng) -> f64 {
    loop {
        let x = 2.0 * rng.unit() - 1.0;
        let y = 2.0 * rng.unit() - 1.0;
        let s = x * x + y * y;
        if s > 0.0 && s < 1.0 {
            return x * (-2.0 * ln(s) / s).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(ours: f64, theirs: f64, x: f64) {
        let error = (ours - theirs).abs();
        assert!(error <= 1e-14 * theirs.abs(), "at {x:e}: {ours:e} against {theirs:e}");
    }

    #[test]
    fn ln_agrees_with_the_library() {
        let mut rng = Rng::stream(1, "test", 0);
        for _ in 0..200_000 {
            let x = rng.unit() + 1e-17;
            close(ln(x), x.ln(), x);
            close(ln(1.0 + x), (1.0 + x).ln(), 1.0 + x);
            close(ln(x * 1e12), (x * 1e12).ln(), x * 1e12);
        }
        for x in [f64::MIN_POSITIVE, 5e-324, f64::MAX, 2.0, 0.5, 1.0 - f64::EPSILON, 1.0 + f64::EPSILON] {
            close(ln(x), x.ln(), x);
        }
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn exp_and_pow_agree_with_the_library() {
        let mut rng = Rng::stream(1, "test", 1);
        for _ in 0..200_000 {
            let x = 40.0 * (rng.unit() - 0.5);
            close(exp(x), x.exp(), x);
            let base = 1e6 * (rng.unit() + 1e-9);
            close(pow(base, 0.8), base.powf(0.8), base);
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-1e4), 0.0);
        assert_eq!(exp(1e4), f64::INFINITY);
    }

    #[test]
    fn exponential_has_its_moments() {
        let n = 400_000;
        let mut rng = Rng::stream(7, "test", 2);
        let draws: Vec<f64> = (0..n).map(|_| exponential(&mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64;
        let root = (n as f64).sqrt();
        assert!((mean - 1.0).abs() < 4.0 / root, "mean {mean}");
        // Var((X − 1)²) = 9 − 1 for a unit exponential.
        assert!((variance - 1.0).abs() < 4.0 * 8f64.sqrt() / root, "variance {variance}");
    }

    #[test]
    fn normal_has_its_moments_and_tails() {
        let n = 400_000;
        let mut rng = Rng::stream(7, "test", 3);
        let draws: Vec<f64> = (0..n).map(|_| normal(&mut rng)).collect();
        let root = (n as f64).sqrt();
        let moment = |k: i32| draws.iter().map(|x| x.powi(k)).sum::<f64>() / n as f64;
        assert!(moment(1).abs() < 4.0 / root);
        assert!((moment(2) - 1.0).abs() < 4.0 * 2f64.sqrt() / root);
        assert!(moment(3).abs() < 4.0 * 15f64.sqrt() / root);
        assert!((moment(4) - 3.0).abs() < 4.0 * 96f64.sqrt() / root);
        // P(|X| > 3) = 0.0026998
        let tail = draws.iter().filter(|x| x.abs() > 3.0).count() as f64 / n as f64;
        assert!((tail - 0.002_699_8).abs() < 4.0 * 0.0519 / root, "tail {tail}");
    }

    #[test]
    fn bits_are_pinned() {
        let bits = |x: f64| x.to_bits();
        let mut rng = Rng::stream(1, "pinned", 0);
        let seen = [bits(ln(10.0)), bits(exp(1.0)), bits(exponential(&mut rng)), bits(normal(&mut rng))];
        let pinned = [
            4_612_367_379_483_415_830,
            4_613_303_445_314_885_482,
            4_609_459_038_283_689_841,
            4_605_891_580_714_256_689,
        ];
        assert_eq!(seen, pinned);
    }
}
