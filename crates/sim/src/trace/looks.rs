//! Second pass: the ports that are observed, by switch.

use super::paths::Candidate;
use crate::choices::Choices;
use crate::engine::Sim;
use crate::ids::SwitchId;
use crate::keys::SpecError;
use crate::switch::Looks;
use crate::timers::What;
use spinewise_policy::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Plans the looks for these choices in a run at its start.
///
/// # Errors
/// When there are more than `most`.
pub(super) fn plan(sim: &mut Sim<'_>, choices: &Choices, most: usize) -> Result<(), SpecError> {
    let mut wanted: BTreeMap<SwitchId, Vec<(Time, u16)>> = BTreeMap::new();
    let (mut many, mut found) = (0, BTreeSet::new());
    for choice in &choices.all {
        found.clear();
        for &way in choices.ways(choice) {
            Candidate::new(sim, choice.at, choice.node, &choice.packet, way).places(&mut found);
        }
        many += found.len();
        if many > most {
            return Err(SpecError::said(
                "trace",
                format!("{} choices", choices.all.len()),
                format!("up to {most} samples of ports"),
            )
            .hint("trace fewer flows at a time, or shorter ones"));
        }
        found.iter().for_each(|&(switch, port)| wanted.entry(switch).or_default().push((choice.at, port)));
    }
    for (switch, mut planned) in wanted {
        planned.sort_unstable();
        planned.dedup();
        let switch = &mut sim.switches[switch];
        switch.timers.plan(planned[0].0, What::Look);
        switch.looks = Some(Box::new(Looks::new(planned)));
    }
    Ok(())
}
