use std::collections::BTreeMap;

use super::rows::{ActionName, CallName, Entity};

/// Indexes of the names seen so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    wide: BTreeMap<String, u32>,
    /// Index by workload, tile and copy.
    narrow: BTreeMap<String, BTreeMap<(Option<u32>, u32), u32>>,
    actions: Pairs,
    calls: Pairs,
}

/// Indexes by workload and name.
type Pairs = BTreeMap<String, BTreeMap<String, u32>>;

/// Compares nothing and returns true: the lists of names have the same information.
impl PartialEq for Names {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Names {
    /// Restores the indexes from lists that were read from a file.
    pub(super) fn of(
        (wide, narrow): (&[Entity], &[Entity]),
        (actions, calls): (&[ActionName], &[CallName]),
    ) -> Self {
        let mut names = Self::default();
        let (mut wide_again, mut narrow_again) = Default::default();
        let (mut actions_again, mut calls_again) = Default::default();
        // Both lists grew in this order, so adding in the same order restores the same positions.
        for own in wide {
            names.wide_only(&mut wide_again, &own.workload);
        }
        for own in narrow {
            let who = (own.tile, own.workload.as_str(), own.copy);
            names.entity(&mut wide_again, &mut narrow_again, who);
        }
        for own in actions {
            names.action(&mut actions_again, &own.workload, &own.action);
        }
        for own in calls {
            names.call(&mut calls_again, &own.workload, &own.kind);
        }
        names
    }

    fn wide_only(&mut self, wide: &mut Vec<Entity>, workload: &str) -> u32 {
        self.wide.get(workload).copied().unwrap_or_else(|| {
            let position = next(wide);
            wide.push(Entity { tile: None, workload: workload.to_owned(), copy: 0 });
            self.wide.insert(workload.to_owned(), position);
            self.narrow.insert(workload.to_owned(), BTreeMap::new());
            position
        })
    }

    pub(super) fn entity(
        &mut self,
        wide: &mut Vec<Entity>,
        narrow: &mut Vec<Entity>,
        (tile, workload, copy): (Option<u32>, &str, u32),
    ) -> (u32, u32) {
        let in_wide = self.wide_only(wide, workload);
        let instances =
            self.narrow.get_mut(workload).expect("the entry was made with its workload");
        let in_narrow = *instances.entry((tile, copy)).or_insert_with(|| {
            let position = next(narrow);
            narrow.push(Entity { tile, workload: workload.to_owned(), copy });
            position
        });
        (in_wide, in_narrow)
    }

    pub(super) fn action(
        &mut self,
        names: &mut Vec<ActionName>,
        workload: &str,
        action: &str,
    ) -> u32 {
        let new = |workload, action| ActionName { workload, action };
        position(&mut self.actions, names, (workload, action), new)
    }

    pub(super) fn call(&mut self, names: &mut Vec<CallName>, workload: &str, kind: &str) -> u32 {
        let new = |workload, kind| CallName { workload, kind };
        position(&mut self.calls, names, (workload, kind), new)
    }
}

/// Returns the index of a pair in a list; a new pair is added.
fn position<T>(
    known: &mut Pairs,
    names: &mut Vec<T>,
    (workload, own): (&str, &str),
    new: impl Fn(String, String) -> T,
) -> u32 {
    let found = known.get(workload).and_then(|all| all.get(own));
    found.copied().unwrap_or_else(|| {
        let position = next(names);
        names.push(new(workload.to_owned(), own.to_owned()));
        known.entry(workload.to_owned()).or_default().insert(own.to_owned(), position);
        position
    })
}

fn next<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).expect("fewer names than 2^32")
}
