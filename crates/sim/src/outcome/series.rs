//! The table of series: points in time.

use super::Values;
use crate::columns::columns;
use crate::engine::Sim;
use crate::log::{EDGE_SERIES, FABRIC_SERIES, Point, SERIES};

columns! {
    /// Columns of `series`: one row per point, in the order of time, series and entity.
    SERIES_COLUMNS: SeriesTable, |point: &Point| {
        time_ps: u64, "ps", "end of the interval, or the instant of the event" => point.time.0;
        series: u16, "", "the series: position in series_names of the report" => point.series;
        entity: u32, "", "what it is about: a node by number, or a link, numbered after the nodes; names are in the \
                          report"
            => point.entity;
        value: f64, "", "value, in the unit of the series" => point.value;
    }
}

/// The columns of these points.
pub(super) fn columns_of(points: &[Point]) -> Vec<Values> {
    let mut table = SeriesTable::with_capacity(points.len());
    points.iter().for_each(|point| table.push(point));
    table.close()
}

/// Names of series by number; gaps are empty.
pub(super) fn names(sim: &Sim<'_>) -> Vec<String> {
    let mut names: Vec<String> = SERIES.iter().map(|&(_, name, _)| name.into()).collect();
    let mut scheme = |from: u16, bank: Option<&crate::bank::Bank>| {
        let Some(bank) = bank else { return };
        names.resize(usize::from(from), String::new());
        let sheet = bank.sheet();
        names.extend(sheet.series.iter().map(|series| format!("{}.{}", sheet.name, series.name)));
    };
    scheme(EDGE_SERIES, sim.world.edge.as_ref());
    scheme(FABRIC_SERIES, Some(&sim.world.fabric));
    names
}
