//! The lazy machine against timers taken one by one, and against what can be worked out by hand.

use super::*;
use proptest::prelude::*;

const LINE: u64 = 100_000_000_000;

/// Events at one instant, in that order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Slot,
    Rise,
    Check,
    Touch(usize),
}

/// An action from outside.
#[derive(Clone, Copy, Debug)]
enum Touch {
    Cnp,
    Send(u32),
    Look,
}

/// DCQCN with every timer an event, written from the papers and not from the machine under test.
struct ByEvents<'a> {
    config: &'a DcqcnConfig,
    rate: u64,
    target: u64,
    alpha: f64,
    /// Instants of slot, rise and check.
    at: [Option<u64>; 3],
    time_rises: u64,
    byte_rises: u64,
    bytes: u64,
    cnp_in_slot: bool,
    cnp_since_check: bool,
}

impl ByEvents<'_> {
    fn new(config: &DcqcnConfig) -> ByEvents<'_> {
        ByEvents {
            config,
            rate: LINE,
            target: LINE,
            alpha: config.initial_alpha,
            at: [None; 3],
            time_rises: 0,
            byte_rises: 0,
            bytes: 0,
            cnp_in_slot: false,
            cnp_since_check: false,
        }
    }

    fn cut(&mut self, now: u64) {
        if self.config.clamp_target || self.time_rises + self.byte_rises > 0 {
            self.target = self.rate;
        }
        self.rate = ((self.rate as f64 * (1.0 - self.alpha / 2.0)) as u64).max(self.config.min_rate);
        (self.time_rises, self.byte_rises, self.bytes) = (0, 0, 0);
        self.at[1] = Some(now + self.config.increase_timer.0);
    }

    fn rise(&mut self) {
        let steps = u64::from(self.config.fast_recovery_steps);
        let mut stages = vec![self.time_rises];
        if self.config.byte_counter > 0 {
            stages.push(self.byte_rises);
        }
        if stages.iter().all(|&stage| stage > steps) {
            self.target += self.config.hyper_increase;
        } else if stages.iter().any(|&stage| stage >= steps) {
            self.target += self.config.additive_increase;
        }
        self.target = self.target.min(LINE);
        self.rate = (self.rate + self.target).div_ceil(2);
    }

    fn handle(&mut self, now: u64, event: Event, touches: &[(u64, Touch)]) {
        let g = self.config.g;
        match event {
            Event::Slot => {
                let decayed = (1.0 - g) * self.alpha;
                self.alpha = if self.cnp_in_slot { decayed + g } else { decayed };
                if !self.cnp_in_slot && self.alpha < LEAST_ALPHA {
                    self.alpha = 0.0;
                }
                self.cnp_in_slot = false;
                self.at[0] = Some(now + self.config.alpha_timer.0);
            }
            Event::Rise => {
                self.rise();
                self.time_rises += 1;
                self.at[1] = Some(now + self.config.increase_timer.0);
            }
            Event::Check => {
                self.at[2] = Some(now + self.config.decrease_interval.0);
                if self.cnp_since_check {
                    self.cut(now);
                }
                self.cnp_since_check = false;
            }
            Event::Touch(index) => match touches[index].1 {
                Touch::Cnp => self.cnp(now),
                Touch::Send(bytes) => self.send(bytes),
                Touch::Look => {}
            },
        }
    }

    fn cnp(&mut self, now: u64) {
        if self.config.decrease_interval == Span::ZERO {
            self.cut(now);
            self.alpha = (1.0 - self.config.g) * self.alpha + self.config.g;
            self.at[0] = Some(now + self.config.alpha_timer.0);
            return;
        }
        self.cnp_since_check = true;
        self.cnp_in_slot = self.at[0].is_some();
        if self.at[0].is_none() {
            self.at[0] = Some(now + self.config.alpha_timer.0);
            self.at[2] = Some(now + self.config.decrease_interval.0 + CHECK_LAG.0);
        }
    }

    fn send(&mut self, bytes: u32) {
        if self.config.byte_counter == 0 || self.at[0].is_none() {
            return;
        }
        self.bytes += u64::from(bytes);
        while self.bytes >= self.config.byte_counter {
            self.bytes -= self.config.byte_counter;
            self.rise();
            self.byte_rises += 1;
        }
    }

    /// Runs all touches; rate, target and alpha after each.
    fn run(config: &DcqcnConfig, touches: &[(u64, Touch)]) -> Vec<(u64, u64, u64)> {
        let mut machine = ByEvents::new(config);
        let mut seen = Vec::new();
        for (index, &(at, _)) in touches.iter().enumerate() {
            loop {
                let kinds = [Event::Slot, Event::Rise, Event::Check];
                let timers = kinds.into_iter().zip(machine.at).filter_map(|(kind, at)| Some((at?, kind)));
                let (now, event) = timers.chain([(at, Event::Touch(index))]).min().unwrap();
                machine.handle(now, event, touches);
                if event == Event::Touch(index) {
                    break;
                }
            }
            seen.push((machine.rate, machine.target, machine.alpha.to_bits()));
        }
        seen
    }
}

/// The same from the lazy machine.
fn lazily(config: &DcqcnConfig, touches: &[(u64, Touch)]) -> Vec<(u64, u64, u64)> {
    let mut machine = Dcqcn::at(config, LINE);
    let after = |&(at, touch): &(u64, Touch)| {
        let now = Time(at);
        match touch {
            Touch::Cnp => machine.on_cnp(config, now),
            Touch::Send(bytes) => {
                machine.advance(config, now);
                machine.count(config, bytes);
            }
            Touch::Look => machine.advance(config, now),
        }
        (machine.rate(), machine.target(), machine.alpha(config, now).to_bits())
    };
    touches.iter().map(after).collect()
}

/// Both presets, and one where slots, rises and checks often fall together.
fn configs() -> [DcqcnConfig; 4] {
    let public = DcqcnConfig::defaults();
    let crowded = DcqcnConfig {
        alpha_timer: Span(1000),
        decrease_interval: Span(3000),
        increase_timer: Span(4000),
        byte_counter: 5000,
        ..public.clone()
    };
    let eager = DcqcnConfig { g: 0.3, clamp_target: true, fast_recovery_steps: 0, ..public.clone() };
    [public, DcqcnConfig::paper(), crowded, eager]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn lazy_equals_events(
        which in 0_usize..4,
        steps in proptest::collection::vec((0_u8..4, 0_u64..10_000, 0_u8..5, 1_u32..2_000_000), 1..120),
    ) {
        let config = &configs()[which];
        let mut at = 0;
        // Gaps from zero to many timers, often whole numbers of them.
        let touches: Vec<_> = steps.into_iter().map(|(scale, gap, kind, bytes)| {
            let slot = config.alpha_timer.0;
            at += [gap, gap * slot / 1000, gap % 9 * slot, gap % 20 * config.increase_timer.0 / 3][usize::from(scale)];
            (at, match kind { 0 | 1 => Touch::Cnp, 2 | 3 => Touch::Send(bytes), _ => Touch::Look })
        }).collect();
        prop_assert_eq!(lazily(config, &touches), ByEvents::run(config, &touches));
    }
}

const US: u64 = 1_000_000;

#[test]
fn a_long_silence_is_the_same_in_one_step() {
    for config in configs() {
        let slot = config.alpha_timer.0;
        let long = (20_000 * slot).max(2_000 * config.increase_timer.0);
        let touches = [
            (0, Touch::Cnp),
            (7 * slot, Touch::Cnp),
            (long, Touch::Look),
            (long + 5, Touch::Cnp),
            (2 * long, Touch::Look),
        ];
        let seen = lazily(&config, &touches);
        assert_eq!(seen, ByEvents::run(&config, &touches));
        assert_eq!((seen[2].0, seen[2].2), (LINE, 0), "back at the full rate, alpha gone");
    }
}

#[test]
fn alpha_halves_in_177_microseconds() {
    let config = DcqcnConfig::defaults();
    let mut machine = Dcqcn::at(&config, LINE);
    machine.on_cnp(&config, Time::ZERO);
    let at = |us: u64| machine.alpha(&config, Time(us * US));
    // ln 2 / -ln(255/256) = 177.1 slots.
    assert!(at(177) > 0.5 && at(178) < 0.5, "{} {}", at(177), at(178));
    assert!((at(354) - 0.25).abs() < 1e-3);
}

#[test]
fn the_first_check_halves_a_rate_with_a_cnp_in_every_slot() {
    let config = DcqcnConfig::defaults();
    let mut machine = Dcqcn::at(&config, LINE);
    for slot in 0..4 {
        machine.on_cnp(&config, Time(slot * US + slot));
        assert_eq!(machine.rate(), LINE, "a CNP by itself changes no rate");
    }
    let check = 4 * US + 1000;
    machine.advance(&config, Time(check - 1));
    assert_eq!(machine.rate(), LINE);
    machine.advance(&config, Time(check));
    // The slot of the first CNP counted as empty: alpha = 255/256 + … is within 1/256 of 1.
    assert!((machine.rate() as f64 / LINE as f64 - 0.5).abs() < 0.002, "{}", machine.rate());
    // No rise came before the second cut: the target stays where the first one found the rate.
    machine.on_cnp(&config, Time(check + 1));
    machine.advance(&config, Time(check + 4 * US));
    assert_eq!(machine.target(), LINE);
    assert!(machine.rate() < LINE * 27 / 100);
}

#[test]
fn rises_by_hand() {
    let config = DcqcnConfig::defaults();
    let mut machine = Dcqcn::at(&config, LINE);
    machine.on_cnp(&config, Time::ZERO);
    let cut = 4 * US + 1000;
    machine.advance(&config, Time(cut));
    let low = machine.rate();
    let alpha = (255.0_f64 / 256.0).powi(4);
    assert!((low as f64 - 1e11 * (1.0 - alpha / 2.0)).abs() < 2.0);
    // A target below the line, to see it grow.
    machine.target = 80_000_000_000;
    let mut expected = (low, machine.target());
    for (step, more) in [0, 40_000_000, 100_000_000, 100_000_000].into_iter().enumerate() {
        let at = cut + (step as u64 + 1) * 300 * US;
        machine.advance(&config, Time(at - 1));
        assert_eq!((machine.rate(), machine.target()), expected, "before rise {step}");
        machine.advance(&config, Time(at));
        expected.1 += more;
        expected.0 = (expected.0 + expected.1).div_ceil(2);
        assert_eq!((machine.rate(), machine.target()), expected, "after rise {step}");
    }
}

#[test]
fn the_paper_cuts_on_each_cnp_and_rises_with_bytes() {
    let config = DcqcnConfig::paper();
    let mut machine = Dcqcn::at(&config, LINE);
    machine.on_cnp(&config, Time::ZERO);
    assert_eq!((machine.rate(), machine.target()), (LINE / 2, LINE), "alpha is 1 at first");
    machine.count(&config, 9_999_999);
    assert_eq!(machine.rate(), LINE / 2);
    machine.count(&config, 1);
    assert_eq!(machine.rate(), LINE * 3 / 4);
    // Alpha stays at 1 with eq. (1) and decays only after a whole timer without a CNP.
    machine.on_cnp(&config, Time(54 * US));
    assert_eq!((machine.rate(), machine.target()), (LINE * 3 / 8, LINE * 3 / 4));
    assert_eq!(machine.alpha(&config, Time(108 * US)), 1.0);
    assert_eq!(machine.alpha(&config, Time(109 * US)), 255.0 / 256.0);
    for _ in 0..40 {
        machine.on_cnp(&config, Time(110 * US));
    }
    assert_eq!(machine.rate(), config.min_rate);
}
