//! Search for the steps that a formula needs.

use std::collections::BTreeSet;

use spec::study::ResolvedStudy;
use spec::study::formula::{Argument, Function, Node, Tree};

use super::evaluate::{Bound, constant, whole};

/// Steps: position of the configuration in the study, and number of tiles.
pub(super) type Steps = BTreeSet<(usize, u32)>;

/// Adds the steps that a formula needs.
pub(super) fn needs(study: &ResolvedStudy, node: &Node, bound: Bound<'_>, steps: &mut Steps) {
    if let Tree::Call(function, arguments) = &node.tree {
        let configuration = configuration(study, *function, arguments, bound);
        if let Some(index) = configuration {
            let each = &study.configurations[index];
            let whole_list = || each.tiles.iter().map(|tiles| (index, *tiles));
            match function.signature().argument(1) {
                _ if is_static(*function) => {}
                Some(Argument::Tiles) => match constant(study, &arguments[1], bound) {
                    Some(tiles) => steps.extend(whole(tiles).map(|tiles| (index, tiles))),
                    None => steps.extend(whole_list()),
                },
                Some(Argument::PerTiles) => {
                    for tiles in &each.tiles {
                        let bound = Bound { tiles: Some(*tiles), ..bound };
                        needs(study, &arguments[1], bound, steps);
                    }
                    return;
                }
                _ => steps.extend(whole_list()),
            }
        }
    }
    node.parts().into_iter().for_each(|part| needs(study, part, bound, steps));
}

fn configuration(
    study: &ResolvedStudy,
    function: Function,
    arguments: &[Node],
    bound: Bound<'_>,
) -> Option<usize> {
    if function.signature().argument(0) != Some(Argument::Configuration) {
        return None;
    }
    let name = arguments.first()?.as_text().or(bound.configuration)?;
    study.configurations.iter().position(|each| each.name == name)
}

/// Returns true if a figure follows from the definitions, without running a step.
pub(super) const fn is_static(function: Function) -> bool {
    matches!(function, Function::Footprint | Function::Vms | Function::WorkingSet)
}
