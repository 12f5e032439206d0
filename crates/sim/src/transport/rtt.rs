//! The round-trip estimate and the retransmission timeout of RFC 6298, in whole picoseconds.

use super::config::TcpConfig;
use spinewise_policy::time::Span;

/// SRTT and RTTVAR of RFC 6298 §2. Sixteen bytes; the backoff count is kept by the timer's owner.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RttEstimator {
    /// Zero until the first sample.
    srtt: u64,
    rttvar: u64,
}

impl RttEstimator {
    /// Takes a sample. Divisions truncate, by one picosecond at most.
    #[inline]
    pub(super) fn sample(&mut self, rtt: Span) {
        let r = rtt.0.max(1);
        if self.srtt == 0 {
            // RFC 6298 (2.2)
            self.srtt = r;
            self.rttvar = r / 2;
        } else {
            // RFC 6298 (2.3): alpha = 1/8, beta = 1/4, and RTTVAR before SRTT.
            self.rttvar = (3 * self.rttvar + self.srtt.abs_diff(r)) / 4;
            self.srtt = (7 * self.srtt + r) / 8;
        }
    }

    /// The timeout after `backoff` consecutive expiries.
    #[inline]
    pub(super) fn rto(&self, config: &TcpConfig, backoff: u8) -> Span {
        let base = if self.srtt == 0 {
            config.initial_rto.0 // RFC 6298 (2.1)
        } else {
            // RFC 6298 (2.3), K = 4, then the bounds of (2.4)
            let spread = (4 * self.rttvar).max(config.rto_granularity.0);
            (self.srtt + spread).max(config.min_rto.0)
        };
        // RFC 6298 (5.5), doubled once for each expiry, and (2.5)
        let doubled = base.saturating_mul(1 << backoff.min(40));
        Span(doubled.min(config.max_rto.0))
    }

    /// The smoothed round-trip time, if there has been a sample.
    pub(super) fn srtt(&self) -> Option<Span> {
        (self.srtt != 0).then_some(Span(self.srtt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> TcpConfig {
        TcpConfig { min_rto: Span::ZERO, ..TcpConfig::datacenter() }
    }

    #[test]
    fn samples_follow_rfc_6298_by_hand() {
        let mut rtt = RttEstimator::default();
        let config = config();
        assert_eq!(rtt.srtt(), None);
        assert_eq!(rtt.rto(&config, 0), Span::from_ms(10));
        // 100 us: SRTT 100, RTTVAR 50, RTO 300.
        rtt.sample(Span::from_us(100));
        assert_eq!(rtt.rto(&config, 0), Span::from_us(300));
        // 180 us: RTTVAR 3/4*50 + 80/4 = 57.5, SRTT 7/8*100 + 180/8 = 110, RTO 340.
        rtt.sample(Span::from_us(180));
        assert_eq!((rtt.srtt, rtt.rttvar), (110_000_000, 57_500_000));
        assert_eq!(rtt.rto(&config, 0), Span::from_us(340));
        // 30 us: RTTVAR 3/4*57.5 + 80/4 = 63.125, SRTT 7/8*110 + 30/8 = 100, RTO 352.5.
        rtt.sample(Span::from_us(30));
        assert_eq!((rtt.srtt, rtt.rttvar), (100_000_000, 63_125_000));
        assert_eq!(rtt.rto(&config, 0), Span(352_500_000));
        assert_eq!(rtt.srtt(), Some(Span::from_us(100)));
    }

    #[test]
    fn granularity_and_bounds() {
        let mut rtt = RttEstimator::default();
        rtt.sample(Span::from_us(100));
        let coarse = TcpConfig { rto_granularity: Span::from_us(500), ..config() };
        assert_eq!(rtt.rto(&coarse, 0), Span::from_us(600));
        assert_eq!(rtt.rto(&TcpConfig::datacenter(), 0), Span::from_ms(10));
        let capped = TcpConfig { max_rto: Span::from_us(200), ..config() };
        assert_eq!(rtt.rto(&capped, 0), Span::from_us(200));
    }

    #[test]
    fn backoff_doubles_and_saturates() {
        let rtt = RttEstimator::default();
        let config = TcpConfig { max_rto: Span::from_ms(75), ..TcpConfig::datacenter() };
        let rtos: Vec<u64> = (0..5).map(|n| rtt.rto(&config, n).0 / 1_000_000_000).collect();
        assert_eq!(rtos, [10, 20, 40, 75, 75]);
        assert_eq!(rtt.rto(&config, 255), Span::from_ms(75));
    }
}
