//! `cargo run --release --example bench -- [case] [rounds] [share]`: the bench without Python, for profilers.

fn main() {
    let mut words = std::env::args().skip(1);
    let only = words.next().unwrap_or_default();
    let rounds = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
    let share = words.next().and_then(|word| word.parse().ok()).unwrap_or(1.0);
    println!("{:#}", spinewise_sim::bench::run(&only, rounds, share));
}
