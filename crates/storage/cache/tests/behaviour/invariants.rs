//! Guarantees that every policy must meet.

use std::collections::HashMap;

use proptest::prelude::*;
use tilemark_cache::policy::Belady;
use tilemark_cache::{Outcome, PageId, Policy, PolicyKind, Slot};

/// A reference to a page, or its removal.
type Step = (u64, bool);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Mostly references, over few pages, so that ghosts return.
    prop::collection::vec((0_u64..40, prop::bool::weighted(0.1)), 0..600)
}

fn check(policy: &mut dyn Policy, steps: &[Step]) {
    let mut resident: HashMap<u64, Slot> = HashMap::new();
    for (page, is_removal) in steps {
        assert_eq!(policy.find(PageId(*page)), resident.get(page).copied());
        if *is_removal {
            assert_eq!(policy.remove(PageId(*page)), resident.remove(page));
        } else {
            let outcome = policy.reference(PageId(*page));
            assert_eq!(outcome.is_hit(), resident.contains_key(page));
            if let Outcome::Miss { slot, evicted } = outcome {
                let is_full = resident.len() == policy.capacity();
                assert_eq!(
                    evicted.is_some(),
                    is_full,
                    "a page leaves exactly when the cache is full"
                );
                if let Some(evicted) = evicted {
                    assert_eq!(resident.remove(&evicted.page.0), Some(evicted.slot));
                }
                assert!(slot.position() < policy.slots());
                resident.insert(*page, slot);
            }
            assert_eq!(policy.find(PageId(*page)), Some(outcome.slot()));
        }
        assert_eq!(policy.len(), resident.len());
        let mut slots: Vec<Slot> = resident.values().copied().collect();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), resident.len(), "two resident pages share a slot");
    }
}

proptest! {
    #[test]
    fn outcomes_say_exactly_which_pages_are_resident_and_where(
        steps in steps(), capacity in 1_usize..24,
    ) {
        for kind in PolicyKind::ALL {
            check(&mut *kind.build(capacity), &steps);
        }
        let foretold =
            steps.iter().filter(|step| !step.1).map(|step| PageId(step.0)).collect();
        check(&mut Belady::new(capacity, foretold), &steps);
    }

    #[test]
    fn no_policy_beats_foresight(steps in steps(), capacity in 1_usize..24) {
        let pages: Vec<PageId> = steps.iter().map(|step| PageId(step.0)).collect();
        let misses = |mut policy: Box<dyn Policy>| {
            pages.iter().filter(|page| !policy.reference(**page).is_hit()).count()
        };
        let bound = misses(Box::new(Belady::new(capacity, pages.clone())));
        for kind in PolicyKind::ALL {
            prop_assert!(misses(kind.build(capacity)) >= bound, "{} is below the bound", kind);
        }
    }
}

#[test]
fn names_are_read_back_and_strangers_are_refused() {
    for kind in PolicyKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    let error = "mru".parse::<PolicyKind>().expect_err("no such policy");
    assert!(error.to_string().starts_with("unknown policy \"mru\""), "{error}");
}
