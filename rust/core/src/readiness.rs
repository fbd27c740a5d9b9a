//! The shared readiness evaluator (clause Y2): equal units give equal answers, whoever asks.

use std::collections::{BTreeMap, BTreeSet};

use crate::identity::WorkerType;

/// One registered set, as a readiness evaluation sees it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReadinessUnit {
    /// Effective worker type; none for a legacy card, which advertises no role.
    pub worker_type: Option<WorkerType>,
    /// Workers that serve now.
    pub live: usize,
    /// Alternatives of worker types, one of which must be wholly present.
    pub needs: Vec<Vec<WorkerType>>,
}

/// The verdict over all units of one model and namespace.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Readiness {
    /// Somebody is live and nothing is missing.
    pub ready: bool,
    /// Whether a unit without a role is registered: then nothing counts as missing.
    pub has_legacy: bool,
    /// Whether such a unit is live.
    pub legacy_live: bool,
    /// Types with a live unit.
    pub present: BTreeSet<WorkerType>,
    /// Types without which requests cannot be served.
    pub missing: BTreeSet<WorkerType>,
    /// Types other than aggregated with more than one live unit; reported, gates nothing.
    pub ambiguous: BTreeSet<WorkerType>,
}

/// Evaluate units in any order. Cost: linear in units and their needs.
pub fn evaluate(units: &[ReadinessUnit]) -> Readiness {
    let mut live_units: BTreeMap<WorkerType, usize> = BTreeMap::new();
    for worker_type in units.iter().filter(|unit| unit.live > 0).filter_map(|unit| unit.worker_type) {
        *live_units.entry(worker_type).or_insert(0) += 1;
    }
    let present: BTreeSet<WorkerType> = live_units.keys().copied().collect();
    let ambiguous = live_units
        .iter()
        .filter(|(worker_type, count)| **count > 1 && **worker_type != WorkerType::Aggregated)
        .map(|(worker_type, _)| *worker_type)
        .collect();
    let has_legacy = units.iter().any(|unit| unit.worker_type.is_none());
    let legacy_live = units.iter().any(|unit| unit.worker_type.is_none() && unit.live > 0);
    let missing = if has_legacy { BTreeSet::new() } else { missing(units, &present) };
    let ready = missing.is_empty() && units.iter().any(|unit| unit.live > 0);
    Readiness { ready, has_legacy, legacy_live, present, missing, ambiguous }
}

fn missing(units: &[ReadinessUnit], present: &BTreeSet<WorkerType>) -> BTreeSet<WorkerType> {
    let registered = units.iter().filter_map(|unit| unit.worker_type);
    let unmet = units.iter().filter(|unit| {
        let met = |alternative: &Vec<WorkerType>| alternative.iter().all(|needed| present.contains(needed));
        unit.live > 0 && !unit.needs.is_empty() && !unit.needs.iter().any(met)
    });
    registered
        .chain(unmet.flat_map(|unit| unit.needs.iter().flatten().copied()))
        .filter(|worker_type| !present.contains(worker_type))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use WorkerType::{Aggregated, Decode, Encode, Prefill};

    fn unit(worker_type: impl Into<Option<WorkerType>>, live: usize, needs: &[&[WorkerType]]) -> ReadinessUnit {
        let needs = needs.iter().map(|alternative| alternative.to_vec()).collect();
        ReadinessUnit { worker_type: worker_type.into(), live, needs }
    }

    #[test]
    fn the_table_of_verdicts_holds() {
        let prefill = unit(Prefill, 1, &[&[Decode]]);
        let decode = unit(Decode, 1, &[&[Prefill]]);
        let gone_decode = unit(Decode, 0, &[&[Prefill]]);
        let encode = unit(Encode, 1, &[&[Prefill, Decode], &[Aggregated]]);
        for (units, ready, missing) in [
            (vec![unit(Aggregated, 1, &[])], true, vec![]),
            (vec![prefill.clone(), decode.clone()], true, vec![]),
            (vec![encode, unit(Prefill, 1, &[]), unit(Decode, 1, &[])], true, vec![]),
            (vec![prefill.clone(), gone_decode.clone()], false, vec![Decode]),
            (vec![unit(None, 1, &[]), gone_decode], true, vec![]),
            (vec![unit(None, 0, &[])], false, vec![]),
            (vec![unit(Aggregated, 1, &[]), unit(Encode, 0, &[&[Prefill, Decode]])], false, vec![Encode]),
            (vec![], false, vec![]),
        ] {
            let verdict = evaluate(&units);
            assert_eq!((verdict.ready, verdict.missing), (ready, missing.into_iter().collect()), "{units:?}");
        }
        let doubled = evaluate(&[prefill.clone(), prefill, decode]);
        assert_eq!((doubled.ready, doubled.ambiguous), (true, BTreeSet::from([Prefill])));
    }
}
