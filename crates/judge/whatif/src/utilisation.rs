use run_store::run::{ModelFacts, Step};
use spec::array::Array;

use super::document::Bottleneck;
use bench::run::work_of;

/// Busiest part of a step, and one tile's demand on it: the utilisation law of operational
/// analysis, `U = X * D` (Denning and Buzen, "The Operational Analysis of Queueing Network Models",
/// ACM Computing Surveys 10, 1978), with X in tiles' worth of work, so that D is the busy share for
/// one of them and `1 / D` limits their number.
pub(super) fn bottleneck(step: &Step, array: &Array) -> Option<Bottleneck> {
    let model = step.model.as_ref()?;
    let (part, utilisation) =
        candidates(model, array).max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let work = work_of(step).filter(|work| *work > 0.0).unwrap_or(f64::from(step.tiles));
    let demand = utilisation / work;
    (demand > 0.0).then(|| Bottleneck {
        part,
        tiles: step.tiles,
        utilisation,
        work,
        demand,
        tiles_full: 1.0 / demand,
    })
}

fn candidates<'a>(
    model: &'a ModelFacts,
    array: &Array,
) -> impl Iterator<Item = (String, f64)> + use<'a> {
    let parts = model.parts.iter().filter(|part| part.kind.works());
    let parts = parts.map(|part| (part.name.clone(), part.utilisation_max));
    let capacity = array.hosts.as_ref().map_or(1.0, |hosts| hosts.capacity.get());
    let hosts = model.hosts.iter().filter(move |_| capacity > 0.0);
    let hosts =
        hosts.map(move |host| (format!("processors of {}", host.name), host.used / capacity));
    parts.chain(hosts)
}
