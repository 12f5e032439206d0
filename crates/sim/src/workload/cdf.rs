//! Flow-size distributions: cumulative distribution functions given by points, linear in between.

use core::fmt;

/// A last value above this is read as a percentage, otherwise as a probability.
const PERCENT_FROM: f64 = 1.5;
/// A last probability may differ from 1 by this much, as decimal fractions do.
const ONE_TOLERANCE: f64 = 1e-9;
/// A petabyte: larger "sizes" are mistakes.
const LARGEST_SIZE: f64 = 1e15;

/// A distribution of flow sizes in bytes: `P(size ≤ x)` rises linearly from each point to the next.
///
/// Two points of one size are a step (that size has a probability of its own); two points of one probability leave a
/// gap (no sizes between them).
#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    /// (bytes, probability), neither ever decreasing, the probability from exactly 0 to exactly 1.
    points: Vec<(f64, f64)>,
}

/// What is wrong with a distribution, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CdfError {
    /// The line of the text (or the position of the point), from 1; 0 for the whole.
    pub line: usize,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl fmt::Display for CdfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.problem),
            line => write!(f, "line {line}: {}", self.problem),
        }
    }
}

impl std::error::Error for CdfError {}

/// One point with the line it came from.
struct Row {
    line: usize,
    size: f64,
    value: f64,
}

impl Cdf {
    /// Reads the text form: one point per line, `size value` or (as in ns-2 scripts) `size 1 value`, separated by
    /// blanks or commas. Sizes are bytes; values are probabilities, or percentages if the last one exceeds 1.5. `#`
    /// starts a comment; blank lines, and a first line of names of columns, do not count as points.
    ///
    /// # Errors
    /// A line that is not two (or three) numbers; a middle number that changes; a size or value that falls; a first
    /// value other than 0 or a last one other than 1 (100); fewer than two points; no size above zero.
    pub fn parse(text: &str) -> Result<Cdf, CdfError> {
        let mut rows = Vec::new();
        let mut columns = 0;
        let mut middle = None;
        for (index, text) in text.lines().enumerate() {
            let line = index + 1;
            let body = text.split('#').next().unwrap_or_default();
            let fields: Vec<&str> =
                body.split(|c: char| c.is_whitespace() || c == ',').filter(|field| !field.is_empty()).collect();
            if fields.is_empty() {
                continue;
            }
            if !(2..=3).contains(&fields.len()) {
                return Err(problem(line, format!("{} columns; a point is `size value`", fields.len())));
            }
            if columns != 0 && columns != fields.len() {
                return Err(problem(line, format!("{} columns after lines of {columns}", fields.len())));
            }
            let names_columns = columns == 0 && fields.iter().all(|field| field.starts_with(char::is_alphabetic));
            columns = fields.len();
            if names_columns {
                continue;
            }
            // In files of another form, the last column need not be the value.
            if columns == 3 && *middle.get_or_insert(fields[1].to_owned()) != fields[1] {
                return Err(problem(
                    line,
                    format!(
                        "a second column that changes ({}): a point is `size value`, or `size 1 value` as in ns-2",
                        fields[1]
                    ),
                ));
            }
            rows.push(Row { line, size: number(line, fields[0])?, value: number(line, fields[columns - 1])? });
        }
        Cdf::from_rows(&rows)
    }

    /// From (bytes, probability or percentage) pairs, by the rules of [`Cdf::parse`].
    ///
    /// # Errors
    /// As [`Cdf::parse`], with the position of the point (from 1) as the line.
    pub fn from_points(points: Vec<(f64, f64)>) -> Result<Cdf, CdfError> {
        let rows: Vec<Row> =
            points.into_iter().enumerate().map(|(index, (size, value))| Row { line: index + 1, size, value }).collect();
        Cdf::from_rows(&rows)
    }

    fn from_rows(rows: &[Row]) -> Result<Cdf, CdfError> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return Err(problem(0, "no points; at least two are needed, from probability 0 to 1".into()));
        };
        if rows.len() == 1 {
            return Err(problem(first.line, "only one point; a constant size needs two, `size 0` and `size 1`".into()));
        }
        let percent = last.value > PERCENT_FROM;
        let one = if percent { 100.0 } else { 1.0 };
        let mut before = Row { line: 0, size: 0.0, value: 0.0 };
        for row in rows {
            check_row(row, &before)?;
            before = Row { ..*row };
        }
        if first.value != 0.0 {
            let text = format!(
                "the first value is {}; it must be 0 (put the smallest size with value 0 before it)",
                first.value
            );
            return Err(problem(first.line, text));
        }
        if (last.value / one - 1.0).abs() > ONE_TOLERANCE {
            return Err(problem(
                last.line,
                format!("the last value is {}; it must be 1, or 100 for percent", last.value),
            ));
        }
        let mut points: Vec<(f64, f64)> = rows.iter().map(|row| (row.size, (row.value / one).min(1.0))).collect();
        points[rows.len() - 1].1 = 1.0;
        let cdf = Cdf { points };
        if cdf.mean() > 0.0 { Ok(cdf) } else { Err(problem(last.line, "every size is zero".into())) }
    }

    /// The points, as (bytes, probability).
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The mean size in bytes, exactly: every segment adds its probability times its midpoint.
    pub fn mean(&self) -> f64 {
        self.points.windows(2).map(|pair| (pair[1].1 - pair[0].1) * (pair[1].0 + pair[0].0) / 2.0).sum()
    }

    /// The standard deviation of sizes in bytes.
    pub fn deviation(&self) -> f64 {
        let squares = self.points.windows(2).map(|pair| {
            let ((from, p), (to, q)) = (pair[0], pair[1]);
            (q - p) * (from * from + from * to + to * to) / 3.0
        });
        (squares.sum::<f64>() - self.mean() * self.mean()).max(0.0).sqrt()
    }

    /// The size below which the fraction `p` of all flows lies, in bytes, not rounded. For `p` outside [0, 1], the
    /// nearer end.
    pub fn quantile(&self, p: f64) -> f64 {
        // The first point above p, so that no segment without probability is ever entered.
        let above = self.points.partition_point(|point| point.1 <= p);
        match (above.checked_sub(1), self.points.get(above)) {
            (Some(below), Some(&(size, probability))) => {
                let (size_below, probability_below) = self.points[below];
                size_below + (size - size_below) * ((p - probability_below) / (probability - probability_below))
            }
            (None, _) => self.points[0].0,
            (Some(below), None) => self.points[below].0,
        }
    }

    /// The size of the flow whose uniform draw in [0, 1) is `u`: the quantile, rounded to whole bytes, at least 1.
    ///
    /// conweave-ns3 truncates instead, which lowers the mean by half a byte.
    pub fn sample(&self, u: f64) -> u64 {
        ((self.quantile(u) + 0.5) as u64).max(1)
    }
}

fn check_row(row: &Row, before: &Row) -> Result<(), CdfError> {
    if !(0.0..=LARGEST_SIZE).contains(&row.size) {
        return Err(problem(row.line, format!("size {}; sizes must be from 0 to {LARGEST_SIZE:e} bytes", row.size)));
    }
    if !row.value.is_finite() || row.value < 0.0 {
        return Err(problem(
            row.line,
            format!("value {}; values must be from 0 to 1, or to 100 for percent", row.value),
        ));
    }
    if row.size < before.size {
        return Err(problem(row.line, format!("size {} after {}; sizes must not fall", row.size, before.size)));
    }
    if row.value < before.value {
        return Err(problem(row.line, format!("value {} after {}; values must not fall", row.value, before.value)));
    }
    Ok(())
}

fn number(line: usize, field: &str) -> Result<f64, CdfError> {
    field.parse().map_err(|_| problem(line, format!("`{field}` is not a number")))
}

fn problem(line: usize, problem: String) -> CdfError {
    CdfError { line, problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spinewise_policy::rng::Rng;

    fn fails(text: &str) -> (usize, String) {
        let error = Cdf::parse(text).expect_err(text);
        (error.line, error.problem)
    }

    #[test]
    fn reads_probabilities_percentages_and_three_columns() {
        let plain = Cdf::parse("0 0\n100 0.5\n300 1\n").unwrap();
        assert_eq!(plain.points(), [(0.0, 0.0), (100.0, 0.5), (300.0, 1.0)]);
        assert_eq!(Cdf::parse("# sizes\n\n0 0\n100, 50 # half\r\n300\t100").unwrap(), plain);
        assert_eq!(Cdf::parse("0 1 0\n100 1 0.5\n300 1 1").unwrap(), plain);
        assert_eq!(Cdf::parse("# of a day\nsize_bytes,cdf\n0,0\n100,0.5\n300,1").unwrap(), plain);
        assert_eq!(Cdf::from_points(vec![(0.0, 0.0), (100.0, 0.5), (300.0, 1.0)]).unwrap(), plain);
        assert_eq!(plain.mean(), 125.0);
    }

    #[test]
    fn the_deviation_by_hand() {
        // Half from 0 to 100, half from 100 to 300: squares of 1e4 / 3 and 13e4 / 3 on average.
        let cdf = Cdf::parse("0 0\n100 0.5\n300 1").unwrap();
        assert!((cdf.deviation().powi(2) - (7e4 / 3.0 - 125.0 * 125.0)).abs() < 1e-9);
        assert_eq!(Cdf::parse("7 0\n7 1").unwrap().deviation(), 0.0);
    }

    #[test]
    fn interpolates_linearly_with_steps_and_gaps() {
        let cdf = Cdf::parse("10 0\n10 .5\n20 .75\n40 .75\n60 1").unwrap();
        let at = |u: f64| cdf.sample(u);
        assert_eq!([at(0.0), at(0.499), at(0.5), at(0.625), at(0.75), at(0.875)], [10, 10, 10, 15, 40, 50]);
        assert_eq!([at(0.56), at(0.57)], [12, 13], "12.4 and 12.8 go to the nearest byte");
        assert_eq!([cdf.quantile(-1.0), cdf.quantile(1.0), cdf.quantile(2.0)], [10.0, 60.0, 60.0]);
        assert_eq!(Cdf::parse("0 0\n1 1").unwrap().sample(0.0), 1);
        assert_eq!(Cdf::parse("7 0\n7 1").unwrap().sample(0.3), 7);
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(fails("size cdf\nbytes share\n0 0\n1 1"), (2, "`bytes` is not a number".into()));
        assert_eq!(fails("size cdf\n0 1 0\n1 1 1"), (2, "3 columns after lines of 2".into()));
        assert_eq!(fails(""), (0, "no points; at least two are needed, from probability 0 to 1".into()));
        assert_eq!(fails("# only words\n\n").0, 0);
        assert_eq!(fails("5 1"), (1, "only one point; a constant size needs two, `size 0` and `size 1`".into()));
        assert_eq!(fails("0 0\n#\n20 .5\n10 1"), (4, "size 10 after 20; sizes must not fall".into()));
        assert_eq!(fails("0 0\n10 .5\n20 .4\n30 1"), (3, "value 0.4 after 0.5; values must not fall".into()));
        assert_eq!(fails("0 0\n10 .9"), (2, "the last value is 0.9; it must be 1, or 100 for percent".into()));
        assert_eq!(fails("0 0\n10 99").0, 2);
        assert_eq!(fails("0 0\n10 1.2").0, 2);
        assert_eq!(fails("\n5 .1\n10 1").0, 2);
        assert_eq!(fails("0 0\nten 1"), (2, "`ten` is not a number".into()));
        assert_eq!(fails("0 0\n10 nan").0, 2);
        assert_eq!(fails("0 0\n10 inf").0, 2);
        assert_eq!(fails("0 0\ninf 1").0, 2);
        assert_eq!(fails("-3 0\n10 1").0, 1);
        assert_eq!(fails("0 0\n10"), (2, "1 columns; a point is `size value`".into()));
        let changing = "a second column that changes (0.5): a point is `size value`, or `size 1 value` as in ns-2";
        assert_eq!(fails("0 0 0\n10 0.5 0.5\n20 0.5 1"), (2, changing.into()));
        assert_eq!(fails("0 0\n10 1 1"), (2, "3 columns after lines of 2".into()));
        assert_eq!(fails("0 0\n0 1"), (2, "every size is zero".into()));
        let error = Cdf::from_points(vec![(0.0, 0.0), (9.0, 0.5), (8.0, 1.0)]).unwrap_err();
        assert_eq!(error.to_string(), "line 3: size 8 after 9; sizes must not fall");
    }

    #[test]
    fn sampling_follows_the_quantiles() {
        let cdf = Cdf::parse("100 0\n1000 .3\n1000 .5\n1e6 1").unwrap();
        let n = 200_000;
        let mut rng = Rng::stream(3, "test", 0);
        let mut sizes: Vec<u64> = (0..n).map(|_| cdf.sample(rng.unit())).collect();
        sizes.sort_unstable();
        for p in [0.1, 0.25, 0.6, 0.9] {
            let below = sizes.partition_point(|&size| (size as f64) < cdf.quantile(p)) as f64;
            let sigma = (n as f64 * p * (1.0 - p)).sqrt();
            assert!((below - p * n as f64).abs() < 4.0 * sigma + 1.0, "p {p}: {below}");
        }
        let step = sizes.iter().filter(|&&size| size == 1000).count() as f64;
        assert!((step - 0.2 * n as f64).abs() < 4.0 * (n as f64 * 0.16).sqrt() + 200.0, "{step} flows at the step");
    }
}
