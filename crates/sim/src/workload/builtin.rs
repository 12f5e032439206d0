//! The built-in flow-size distributions: public measurements in the form the field's programs use.
//!
//! The points are in `builtin/*.txt` in the form [`Cdf::parse`] reads, so each file is an example to copy.

use super::cdf::Cdf;

/// Payload bytes per packet in the tables that count packets.
const PACKET_BYTES: f64 = 1460.0;

/// One built-in distribution.
#[derive(Debug, PartialEq)]
pub struct BuiltinCdf {
    /// The name in a specification, such as `web_search`.
    pub name: &'static str,
    /// Other accepted names: those of the files that other programs keep it in.
    pub aliases: &'static [&'static str],
    /// The source of the points.
    pub source: &'static str,
    /// A remark to read before using it.
    pub remark: &'static str,
    /// The mean size in bytes by the sources' own arithmetic; a test compares.
    pub mean_bytes: f64,
    /// Bytes in one unit of the file's sizes: 1, or 1460 where it counts packets.
    pub unit_bytes: f64,
    /// The file: one `size value` per line.
    pub text: &'static str,
}

impl BuiltinCdf {
    /// The points as a distribution over bytes.
    pub fn cdf(&self) -> Cdf {
        // A test reads every table, so these cannot fail.
        let cdf = Cdf::parse(self.text).expect("a built-in distribution is well formed");
        if self.unit_bytes == 1.0 {
            return cdf;
        }
        let points = cdf.points().iter().map(|&(size, probability)| (size * self.unit_bytes, probability)).collect();
        Cdf::from_points(points).expect("a built-in distribution is well formed")
    }
}

/// All of them, in listing order.
pub fn builtins() -> &'static [BuiltinCdf] {
    TABLE
}

/// The distribution with this name or alias, ignoring case.
pub fn find(name: &str) -> Option<&'static BuiltinCdf> {
    builtins().iter().find(|entry| names(entry).any(|known| known.eq_ignore_ascii_case(name)))
}

/// The name whose spelling (or whose alias's) is nearest to `name`, if any is near.
pub fn nearest(name: &str) -> Option<&'static str> {
    let wanted = name.to_ascii_lowercase();
    let closeness = |entry: &BuiltinCdf| {
        names(entry).map(|known| strsim::jaro_winkler(&known.to_ascii_lowercase(), &wanted)).fold(0.0, f64::max)
    };
    let best = builtins().iter().max_by(|a, b| closeness(a).total_cmp(&closeness(b)))?;
    (closeness(best) > 0.75).then_some(best.name)
}

fn names(entry: &BuiltinCdf) -> impl Iterator<Item = &'static str> {
    core::iter::once(entry.name).chain(entry.aliases.iter().copied())
}

const TABLE: &[BuiltinCdf] = &[
    BuiltinCdf {
        name: "web_search",
        aliases: &["websearch", "DCTCP_CDF", "WebSearch_distribution"],
        source: "DCTCP (SIGCOMM 2010), in bytes as in ns3-load-balance, conweave-ns3 and HPCC",
        remark: "papers quote a mean of 1.6 MB; 95 % of the bytes are in the 30 % of flows above 1 MB",
        mean_bytes: 1_711_250.0,
        unit_bytes: 1.0,
        text: include_str!("builtin/web_search.txt"),
    },
    BuiltinCdf {
        name: "web_search_conweave",
        aliases: &["search"],
        source: "conweave-ns3, workloads/search.txt",
        remark: "web search with a smallest flow of 9000 bytes",
        mean_bytes: 1_710_004.445,
        unit_bytes: 1.0,
        text: include_str!("builtin/web_search_conweave.txt"),
    },
    BuiltinCdf {
        name: "web_search_packets",
        aliases: &[],
        source: "the packet table that ns-2 scripts of DCTCP and pFabric use, at 1460 bytes per packet",
        remark: "1140.98 packets on average, 1.666 MB",
        mean_bytes: 1140.98 * PACKET_BYTES,
        unit_bytes: PACKET_BYTES,
        text: include_str!("builtin/web_search_packets.txt"),
    },
    BuiltinCdf {
        name: "data_mining",
        aliases: &["datamining", "mining"],
        source: "conweave-ns3, workloads/mining.txt, after VL2 (SIGCOMM 2009)",
        remark: "the one whose mean (7.4 MB) and shape PDLB states; 3.4 % of flows, those above 35 MB, carry 95.3 % of the bytes",
        mean_bytes: 7_487_884.0,
        unit_bytes: 1.0,
        text: include_str!("builtin/data_mining.txt"),
    },
    BuiltinCdf {
        name: "data_mining_vl2",
        aliases: &["VL2_CDF", "vl2"],
        source: "ns3-load-balance, VL2_CDF.txt, after VL2 (SIGCOMM 2009)",
        remark: "the one that MEET's program uses; its mean is 1.7 times that of data_mining",
        mean_bytes: 12_658_199.0,
        unit_bytes: 1.0,
        text: include_str!("builtin/data_mining_vl2.txt"),
    },
    BuiltinCdf {
        name: "data_mining_packets",
        aliases: &[],
        source: "the packet table that ns-2 scripts use, at 1460 bytes per packet",
        remark: "5116.6 packets on average, 7.470 MB; from general knowledge, not checked against a publication",
        mean_bytes: 5116.6 * PACKET_BYTES,
        unit_bytes: PACKET_BYTES,
        text: include_str!("builtin/data_mining_packets.txt"),
    },
    BuiltinCdf {
        name: "enterprise_meet",
        aliases: &["FB_CDF"],
        source: "ns3-load-balance, FB_CDF.txt",
        remark: "fits the percentiles MEET quotes for \"enterprise\"; not CONGA's enterprise workload. Headers and ACKs add a third to these bytes",
        mean_bytes: 342.2,
        unit_bytes: 1.0,
        text: include_str!("builtin/enterprise_meet.txt"),
    },
    BuiltinCdf {
        name: "ali_storage",
        aliases: &["AliStorage2019", "alistorage"],
        source: "HPCC and conweave-ns3, traffic_gen/AliStorage2019.txt",
        remark: "SELB's \"AliCloud Storage\"",
        mean_bytes: 40_869.8,
        unit_bytes: 1.0,
        text: include_str!("builtin/ali_storage.txt"),
    },
    BuiltinCdf {
        name: "fb_hadoop",
        aliases: &["FbHdp2015", "meta_hadoop", "hadoop"],
        source: "HPCC and conweave-ns3, traffic_gen/FbHdp2015.txt, after Facebook's Hadoop cluster (SIGCOMM 2015)",
        remark: "SELB's \"Meta Hadoop\"",
        mean_bytes: 121_848.9,
        unit_bytes: 1.0,
        text: include_str!("builtin/fb_hadoop.txt"),
    },
    BuiltinCdf {
        name: "solar2022",
        aliases: &["solar"],
        source: "conweave-ns3, traffic_gen/Solar2022.txt",
        remark: "storage traffic; 64 KB is the largest block for all but one flow in twenty",
        mean_bytes: 39_423.5,
        unit_bytes: 1.0,
        text: include_str!("builtin/solar2022.txt"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use spinewise_policy::rng::Rng;

    fn cdf(name: &str) -> Cdf {
        find(name).unwrap_or_else(|| panic!("no {name}")).cdf()
    }

    /// The probability that a flow is no larger than `size`, and the share of all bytes in the larger ones.
    fn at_most_and_bytes_above(cdf: &Cdf, size: f64) -> (f64, f64) {
        let (mut at_most, mut bytes) = (0.0, 0.0);
        for pair in cdf.points().windows(2) {
            let ((from, p), (to, q)) = (pair[0], pair[1]);
            let cut = size.clamp(from, to);
            let share = if to > from { (cut - from) / (to - from) } else { f64::from(size >= to) };
            at_most += (q - p) * share;
            bytes += (q - p) * (1.0 - share) * (cut + to) / 2.0;
        }
        (at_most, bytes / cdf.mean())
    }

    #[test]
    fn means_are_those_of_the_sources() {
        for entry in builtins() {
            let mean = entry.cdf().mean();
            let digits = if entry.mean_bytes.fract() == 0.0 { 0.5 } else { 0.05 };
            assert!((mean - entry.mean_bytes).abs() <= digits, "{}: {mean} against {}", entry.name, entry.mean_bytes);
        }
    }

    #[test]
    fn point_counts_are_those_of_the_files() {
        let counts: Vec<(&str, usize)> =
            builtins().iter().map(|entry| (entry.name, entry.cdf().points().len())).collect();
        let expected = [
            ("web_search", 12),
            ("web_search_conweave", 12),
            ("web_search_packets", 12),
            ("data_mining", 7),
            ("data_mining_vl2", 13),
            ("data_mining_packets", 9),
            ("enterprise_meet", 17),
            ("ali_storage", 9),
            ("fb_hadoop", 461),
            ("solar2022", 8),
        ];
        assert_eq!(counts, expected);
    }

    #[test]
    fn percentiles_are_those_of_the_sources() {
        let levels = [0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
        let expected = [
            ("ali_storage", [4179.0, 6340.0, 12063.0, 31237.0, 93037.0, 1_293_927.0]),
            ("fb_hadoop", [461.0, 655.0, 42271.0, 119_336.0, 269_287.0, 3_094_208.0]),
            ("web_search", [25000.0, 73077.0, 1.5e6, 5e6, 8.57e6, 2.33e7]),
            ("data_mining_vl2", [388.0, 1100.0, 6580.0, 4e5, 3.16e6, 5.5e8]),
        ];
        for (name, sizes) in expected {
            for (p, size) in levels.into_iter().zip(sizes) {
                // The sources round to whole bytes or to three digits.
                let slack = if size >= 8e6 { 0.002 * size } else { 1.0 };
                let quantile = cdf(name).quantile(p);
                assert!((quantile - size).abs() <= slack, "{name} at {p}: {quantile} against {size}");
            }
        }
        assert_eq!([0.5, 0.9, 0.99].map(|p| cdf("enterprise_meet").quantile(p)), [75.0, 350.0, 6326.0]);
    }

    #[test]
    fn facts_the_papers_state_hold() {
        // PDLB: "over 95% of the bytes are from 30% of flows larger than 1MB". By hand: 0.1 · 1.5 + 0.1 · 3.5 + 0.07 · 7.5
        // + 0.03 · 20 = 1.625 MB of 1.71125 MB, 94.96 %.
        let (at_most, bytes) = at_most_and_bytes_above(&cdf("web_search"), 1e6);
        assert!((at_most - 0.7).abs() < 1e-9, "{at_most}");
        assert!((bytes - 1.625 / 1.71125).abs() < 1e-9, "{bytes}");
        // PDLB: "95% of all bytes are from 3.6% flows that are larger than 35MB, while more than 80% of flows are less
        // than 10KB".
        let (at_most, bytes) = at_most_and_bytes_above(&cdf("data_mining"), 35e6);
        assert!((1.0 - at_most - 0.0343).abs() < 5e-5, "{at_most}");
        assert!((bytes - 0.9534).abs() < 5e-5, "{bytes}");
        assert_eq!(cdf("data_mining").quantile(0.8), 10_000.0);
    }

    #[test]
    fn sample_means_are_within_four_sigma() {
        let n = 100_000;
        for (index, entry) in builtins().iter().enumerate() {
            let cdf = entry.cdf();
            let mut rng = Rng::stream(11, "test", index as u64);
            let sizes: Vec<f64> = (0..n).map(|_| cdf.sample(rng.unit()) as f64).collect();
            let mean = sizes.iter().sum::<f64>() / n as f64;
            let variance = sizes.iter().map(|size| (size - mean) * (size - mean)).sum::<f64>() / n as f64;
            let sigma = (variance / n as f64).sqrt();
            assert!((mean - cdf.mean()).abs() < 4.0 * sigma, "{}: {mean} against {}", entry.name, cdf.mean());
        }
    }

    #[test]
    fn names_aliases_and_near_misses() {
        assert_eq!(find("DCTCP_cdf").map(|entry| entry.name), Some("web_search"));
        assert_eq!(find("vl2").map(|entry| entry.name), Some("data_mining_vl2"));
        assert_eq!(find("web search"), None);
        assert_eq!(nearest("web-serch"), Some("web_search"));
        assert_eq!(nearest("alistorage2018"), Some("ali_storage"));
        assert_eq!(nearest("zzz"), None);
        let mut all: Vec<String> = builtins().iter().flat_map(names).map(str::to_ascii_lowercase).collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count, "a name answers for two distributions");
    }
}
