use std::collections::BTreeMap;

/// Maximum number of sizes in a mix.
const MOST: usize = 12;
/// Minimum size; the next constant is the maximum. Sizes are whole sectors of 512 B up to 64 MiB,
/// as in the language.
const SECTOR: u32 = 512;
const LARGEST: u32 = 64 << 20;

/// Block sizes with their weights, and the share of I/Os whose size was rounded to a neighbour.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sizes {
    /// Sizes in bytes with their numbers of I/Os, in descending order of I/Os.
    pub(crate) mix: Vec<(u32, u64)>,
    pub(crate) moved: u64,
}

/// Rounds a size to whole sectors, as the language requires.
pub(crate) fn whole(length: u32) -> u32 {
    length.clamp(SECTOR, LARGEST).next_multiple_of(SECTOR)
}

/// Returns the most frequent sizes. Other sizes count as the nearest of these, measured by ratio.
pub(crate) fn fit(lengths: impl Iterator<Item = u32>) -> Sizes {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    lengths.for_each(|length| *counts.entry(whole(length)).or_default() += 1);
    let mut mix: Vec<(u32, u64)> = counts.into_iter().collect();
    mix.sort_by_key(|(size, count)| (std::cmp::Reverse(*count), *size));
    let rest = mix.split_off(mix.len().min(MOST));
    let distance = |a: u32, b: u32| (f64::from(a).ln() - f64::from(b).ln()).abs();
    for (size, count) in &rest {
        let nearest =
            mix.iter_mut().min_by(|a, b| distance(a.0, *size).total_cmp(&distance(b.0, *size)));
        if let Some(nearest) = nearest {
            nearest.1 += count;
        }
    }
    Sizes { mix, moved: rest.iter().map(|(_, count)| count).sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_sizes_count_as_the_nearest_frequent_one() {
        let frequent = (1..=12_u32).flat_map(|at| std::iter::repeat_n(at * 4096, 10));
        let sizes = fit(frequent.chain([4097, 1 << 20]));
        assert_eq!((sizes.mix.len(), sizes.moved), (12, 2));
        let of = |size: u32| sizes.mix.iter().find(|(known, _)| *known == size).map(|it| it.1);
        assert_eq!((of(4096), of(12 * 4096)), (Some(11), Some(11)));
    }
}
