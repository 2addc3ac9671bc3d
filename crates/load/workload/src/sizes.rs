//! Block sizes of the definition, before anything is compiled.

use spec::workload::{Action, Address, Size, Step, Workload};
use units::BlockSize;

use crate::error::BuildError;

/// Returns the block sizes with their weights.
pub fn sizes(
    workload: &Workload,
    user: &str,
    size: &Size,
) -> Result<Vec<(BlockSize, f64)>, BuildError> {
    match size {
        Size::Fixed(size) => Ok(vec![(*size, 1.0)]),
        Size::Mix(mix) => mix
            .iter()
            .map(|(text, weight)| match text.parse::<BlockSize>() {
                Ok(size) => Ok((size, *weight)),
                Err(source) => Err(BuildError::BlockSize {
                    workload: workload.name.clone(),
                    user: user.to_owned(),
                    source: Box::new(source),
                }),
            })
            .collect(),
    }
}

/// Returns the largest block size that any step uses on a disk, in bytes; one sector if no step
/// uses the disk.
pub fn largest_block(workload: &Workload, disk: &str) -> Result<u32, BuildError> {
    let mut largest = BlockSize::SECTOR.get();
    for_each_step(workload, &mut |user, step| {
        let (name, size) = match step {
            Step::Read(access) | Step::Write(access) => (&access.disk, &access.size),
            Step::Append(append) => (&append.disk, &append.size),
            Step::Copy(copy) => {
                if [&copy.from, &copy.to].into_iter().any(|name| name == disk) {
                    largest = largest.max(copy.size.get());
                }
                return Ok(());
            }
            Step::Check(compare) => {
                if [&compare.from, &compare.to].into_iter().any(|name| name == disk) {
                    largest = largest.max(compare.size.get());
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        if name == disk {
            let sizes = sizes(workload, user, size)?;
            largest = sizes.iter().map(|(size, _)| size.get()).fold(largest, u32::max);
        }
        Ok(())
    })?;
    Ok(largest)
}

/// Returns true if all requests of the workload are whole sectors of this size, in bytes. Sizes that
/// cannot be read are errors elsewhere.
pub fn fits_sectors(workload: &Workload, sector: u32) -> bool {
    let mut fits = true;
    let visited = for_each_step(workload, &mut |user, step| {
        let (size, address) = match step {
            Step::Read(access) | Step::Write(access) => (&access.size, Some(&access.address)),
            Step::Append(append) => (&append.size, None),
            Step::Copy(copy) => (&Size::Fixed(copy.size), None),
            Step::Check(compare) => (&Size::Fixed(compare.size), None),
            _ => return Ok(()),
        };
        fits &= sizes(workload, user, size)?.iter().all(|(size, _)| size.get() % sector == 0);
        fits &= address.is_none_or(is_aligned);
        Ok(())
    });
    visited.is_err() || fits
}

/// Returns true if no position is moved off the multiples of 4 KiB.
fn is_aligned(address: &Address) -> bool {
    match address {
        Address::Reuse(reuse) => reuse.misaligned.is_empty(),
        Address::Within(within) => is_aligned(&within.address),
        _ => true,
    }
}

/// Visitor of a step and the name of its action.
type Visit<'v> = dyn FnMut(&str, &Step) -> Result<(), BuildError> + 'v;

/// Visits all steps, including nested ones.
pub fn for_each_step(workload: &Workload, visit: &mut Visit) -> Result<(), BuildError> {
    fn walk(user: &str, steps: &[Step], visit: &mut Visit) -> Result<(), BuildError> {
        steps.iter().try_for_each(|step| {
            visit(user, step)?;
            walk(user, step.inner(), visit)
        })
    }
    workload.actions.iter().try_for_each(|action| walk(&action_name(action), &action.steps, visit))
}

/// Describes an action for errors.
pub fn action_name(action: &Action) -> String {
    format!("action \"{}\"", action.name)
}
