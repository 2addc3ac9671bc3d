//! Makes a tile from VMs: their classes, the classes' totals, and the number of a tile's VMs in
//! each class.

use indexmap::IndexMap;
use units::Bytes;

use crate::class::{CLASSES, Class, Rates, Rule};
use crate::class_rule::ClassRule;
use crate::collect::Inventory;
use crate::error::{EstateError, nearest};
use crate::vm::Vm;

/// User's choices for making a tile from an inventory of VMs.
#[derive(Debug, Clone, Default)]
pub struct EstateOptions {
    /// Name of the estate.
    pub name: String,
    /// Classes of single VMs and of name patterns; the first matching pattern applies.
    pub classes: Vec<ClassRule>,
    /// Number of VMs in a tile. If absent, the number from 8 to 20 that keeps the proportions of
    /// the classes best; of equal ones the smallest.
    pub tile_vms: Option<u32>,
    /// True to number the VMs instead of naming them.
    pub is_anonymous: bool,
}

/// VM with its class.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member {
    pub vm: Vm,
    pub class: usize,
    pub rule: Rule,
    /// Size of the VM, or the mean of its class if unknown.
    pub size: Bytes,
    pub rates: Rates,
}

impl Member {
    pub fn is_measured(&self) -> bool {
        self.vm.load.is_known()
    }
}

/// All VMs of one class, with their number in a tile.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClassVms {
    pub class: usize,
    pub vms: u32,
    pub measured: u32,
    pub bytes: f64,
    pub rates: Rates,
    pub vcpus: f64,
    /// I/Os per second of the class's busiest VM.
    pub most_io: f64,
    pub in_tile: u32,
}

impl ClassVms {
    pub fn class(&self) -> &'static Class {
        &CLASSES[self.class]
    }
}

/// Estate: VMs, their classes, and the tile that is a fraction of the estate.
#[derive(Debug, Clone, PartialEq)]
pub struct Estate {
    pub(crate) name: String,
    pub(crate) members: Vec<Member>,
    pub(crate) parts: Vec<ClassVms>,
    /// VMs without a known size.
    pub(crate) unsized_vms: u32,
    /// Number of tiles that together equal the estate.
    pub(crate) tiles: f64,
}

/// Range of the default number of VMs in a tile. Our choice: fewer VMs distort the proportions,
/// more make the ladder coarse.
const TILE_VMS: std::ops::RangeInclusive<u32> = 8..=20;

/// Sorts VMs into classes and decides the contents of a tile.
///
/// # Errors
/// If no VM is left, no VM has a size, or a named class or VM does not exist.
pub fn estate(inventory: &Inventory, wanted: &EstateOptions) -> Result<Estate, EstateError> {
    let vms = &inventory.vms;
    if vms.is_empty() {
        let (rows, why) = (inventory.listed(), inventory.left_out_text());
        return Err(EstateError::Empty { rows, why });
    }
    let classes = classes(vms, wanted)?;
    let means = means(vms, &classes)?;
    let mut members: Vec<Member> = vms
        .iter()
        .zip(classes)
        .map(|(vm, (class, rule))| {
            let size = vm.size().unwrap_or(means[class]);
            let rates = CLASSES[class].complete(&vm.load, size);
            Member { vm: vm.clone(), class, rule, size, rates }
        })
        .collect();
    if wanted.is_anonymous {
        hide(&mut members);
    }
    let mut parts = parts(&members);
    let counts: Vec<u32> = parts.iter().map(|part| part.vms).collect();
    let in_tile = composition(&counts, wanted.tile_vms);
    parts.iter_mut().zip(&in_tile).for_each(|(part, count)| part.in_tile = *count);
    let (all, tile): (u32, u32) = (counts.iter().sum(), in_tile.iter().sum());
    Ok(Estate {
        name: wanted.name.clone(),
        unsized_vms: vms
            .iter()
            .filter(|vm| vm.size().is_none())
            .count()
            .try_into()
            .unwrap_or(u32::MAX),
        members,
        parts,
        tiles: f64::from(all) / f64::from(tile),
    })
}

fn classes(vms: &[Vm], wanted: &EstateOptions) -> Result<Vec<(usize, Rule)>, EstateError> {
    let mut asked: IndexMap<&str, usize> = IndexMap::new();
    let mut patterns: Vec<(&ClassRule, usize)> = Vec::new();
    for rule in &wanted.classes {
        let class = Class::number(&rule.class, "asked for")?;
        if rule.is_pattern {
            if !vms.iter().any(|vm| rule.fits(&vm.name)) {
                return Err(EstateError::NoFit { pattern: rule.names.clone() });
            }
            patterns.push((rule, class));
            continue;
        }
        if !vms.iter().any(|vm| vm.name == rule.names) {
            let nearest = nearest(&rule.names, vms.iter().map(|vm| vm.name.as_str()));
            return Err(EstateError::NoVm { name: rule.names.clone(), nearest });
        }
        asked.insert(&rule.names, class);
    }
    let class = |vm: &Vm| {
        if let Some(class) = asked.get(vm.name.as_str()) {
            return Ok((*class, Rule::Asked));
        }
        if let Some((rule, class)) = patterns.iter().find(|(rule, _)| rule.fits(&vm.name)) {
            return Ok((*class, Rule::Pattern(rule.names.clone())));
        }
        match &vm.class {
            Some(class) => Ok((Class::number(class, &format!("VM {}", vm.name))?, Rule::Column)),
            None => Ok(Class::of(vm)),
        }
    };
    vms.iter().map(class).collect()
}

/// Returns the mean size of each class. A class without any known size gets the mean of all VMs.
fn means(vms: &[Vm], classes: &[(usize, Rule)]) -> Result<Vec<Bytes>, EstateError> {
    let mean = |fits: &dyn Fn(usize) -> bool| {
        let own = vms.iter().zip(classes).filter(|(_, (class, _))| fits(*class));
        let sizes: Vec<f64> = own.filter_map(|(vm, _)| vm.size()).map(Bytes::as_f64).collect();
        #[expect(clippy::cast_precision_loss, reason = "a number of machines")]
        let count = sizes.len() as f64;
        (count > 0.0).then(|| bytes(sizes.iter().sum::<f64>() / count))
    };
    let all = mean(&|_| true).ok_or(EstateError::NoSizes { machines: vms.len() })?;
    Ok((0..CLASSES.len()).map(|class| mean(&|own| own == class).unwrap_or(all)).collect())
}

/// Converts a computed value to bytes.
pub(crate) fn bytes(value: f64) -> Bytes {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bounded, and never negative"
    )]
    Bytes::new(value.clamp(0.0, 9e18) as u64)
}

/// Replaces names by numbers in the order of the files. Numbers are used because a hash of a name
/// could be found by guessing the name.
fn hide(members: &mut [Member]) {
    let digits = members.len().to_string().len();
    for (number, member) in (1..).zip(members) {
        member.vm.name = format!("vm-{number:0digits$}");
        member.vm.id.clear();
        match &mut member.rule {
            Rule::Name(word) => "a word".clone_into(word),
            Rule::Pattern(text) => "a pattern".clone_into(text),
            _ => {}
        }
    }
}

fn parts(members: &[Member]) -> Vec<ClassVms> {
    let one = |class: usize| {
        let own: Vec<&Member> = members.iter().filter(|member| member.class == class).collect();
        let mut rates = Rates::default();
        own.iter().for_each(|member| rates.add(&member.rates));
        let count = |filter: &dyn Fn(&&&Member) -> bool| {
            u32::try_from(own.iter().filter(filter).count()).unwrap_or(u32::MAX)
        };
        let vcpus: Vec<f64> = own.iter().filter_map(|it| it.vm.vcpus).map(f64::from).collect();
        #[expect(clippy::cast_precision_loss, reason = "a number of machines")]
        let vcpus = vcpus.iter().sum::<f64>() / (vcpus.len().max(1) as f64);
        ClassVms {
            class,
            vms: count(&|_| true),
            measured: count(&|member| member.is_measured()),
            bytes: own.iter().map(|member| member.size.as_f64()).sum(),
            rates,
            vcpus,
            most_io: own.iter().map(|member| member.rates.io_per_s()).fold(0.0, f64::max),
            in_tile: 0,
        }
    };
    (0..CLASSES.len()).map(one).filter(|part| part.vms > 0).collect()
}

/// Returns the number of a tile's VMs in each class.
fn composition(counts: &[u32], wanted: Option<u32>) -> Vec<u32> {
    let all: u32 = counts.iter().sum();
    if let Some(wanted) = wanted {
        return shares(counts, wanted.clamp(1, all));
    }
    let least = *TILE_VMS.start();
    if all <= least {
        return counts.to_vec();
    }
    let off = |shares: &[u32]| -> f64 {
        let tile: u32 = shares.iter().sum();
        let share = |count: u32, all: u32| f64::from(count) / f64::from(all);
        let off = counts
            .iter()
            .zip(shares)
            .map(|(count, own)| (share(*own, tile) - share(*count, all)).abs());
        off.sum()
    };
    let mut best: Option<(f64, Vec<u32>)> = None;
    for size in least..=(*TILE_VMS.end()).min(all) {
        let own = shares(counts, size);
        let off = off(&own);
        if best.as_ref().is_none_or(|(least, _)| off < least - 1e-9) {
            best = Some((off, own));
        }
    }
    best.map_or_else(|| counts.to_vec(), |(_, own)| own)
}

/// Distributes VMs by largest remainder (Hamilton's method); every class gets at least one.
fn shares(counts: &[u32], size: u32) -> Vec<u32> {
    let all: u32 = counts.iter().sum();
    let exact = |count: u32| f64::from(count) * f64::from(size) / f64::from(all);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most `size`")]
    let mut own: Vec<u32> = counts.iter().map(|count| exact(*count).floor() as u32).collect();
    let mut by_remainder: Vec<usize> = (0..counts.len()).collect();
    let remainder = |at: usize| exact(counts[at]) - exact(counts[at]).floor();
    by_remainder.sort_by(|a, b| remainder(*b).total_cmp(&remainder(*a)).then(a.cmp(b)));
    let left = size.saturating_sub(own.iter().sum());
    by_remainder.iter().take(left as usize).for_each(|at| own[*at] += 1);
    own.iter_mut().for_each(|count| *count = (*count).max(1));
    own
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_tile_keeps_the_shares_of_classes() {
        assert_eq!(shares(&[50, 30, 20], 10), [5, 3, 2]);
        assert_eq!(shares(&[97, 2, 1], 10), [10, 1, 1], "each class has one");
        assert_eq!(composition(&[3, 2], None), [3, 2], "a small estate is one tile");
        assert_eq!(composition(&[60, 30], None), [6, 3], "9 of 8 to 20 are exact");
    }

    proptest! {
        #[test]
        fn tile_has_every_class_in_nearly_its_share(
            counts in prop::collection::vec(1_u32..500, 1..6),
        ) {
            let all: u32 = counts.iter().sum();
            let own = composition(&counts, None);
            let tile: u32 = own.iter().sum();
            for (count, own) in counts.iter().zip(&own) {
                prop_assert!(*own >= 1);
                let exact = f64::from(*count) * f64::from(tile) / f64::from(all);
                // One by the remainders, plus the excess of the smallest classes.
                #[expect(clippy::cast_precision_loss, reason = "a handful")]
                let most = 1.0 + counts.len() as f64;
                prop_assert!((f64::from(*own) - exact).abs() <= most, "{own} for {exact}");
            }
        }
    }
}
