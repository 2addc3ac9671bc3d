use crate::Violation;
use crate::limits::PARTS_MAX;

/// Received parts of a read: sorted and disjoint; adjacent parts are merged.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<(u32, u32)>);

impl Parts {
    /// Adds the part from `start` to `end`. It must not overlap an earlier part.
    pub fn add(&mut self, start: u32, end: u32) -> Result<(), Violation> {
        let at = self.0.partition_point(|part| part.1 <= start);
        if self.0.get(at).is_some_and(|next| next.0 < end) {
            let wanted = "each byte once";
            return Err(Violation::reply("parts of a read", "bytes that came before", wanted));
        }
        let joins_next = self.0.get(at).is_some_and(|next| next.0 == end);
        let joins_last = at > 0 && self.0[at - 1].1 == start;
        match (joins_last, joins_next) {
            (true, true) => self.0[at - 1].1 = self.0.remove(at).1,
            (true, false) => self.0[at - 1].1 = end,
            (false, true) => self.0[at].0 = start,
            (false, false) if self.0.len() == PARTS_MAX => {
                return Err(Violation::reply("parts of a read", self.0.len() + 1, PARTS_MAX));
            }
            (false, false) => self.0.insert(at, (start, end)),
        }
        Ok(())
    }

    /// Returns true if the parts cover all `length` bytes.
    pub fn are_all_of(&self, length: u32) -> bool {
        self.0 == [(0, length)]
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_are_what_a_map_of_bytes_says(
            parts in proptest::collection::vec((0_u32..64, 1_u32..16), 1..40),
        ) {
            let mut map = [false; 80];
            let mut kept = Parts::default();
            for (start, length) in parts {
                let range = start as usize..(start + length) as usize;
                let is_new = !map[range.clone()].contains(&true);
                prop_assert_eq!(kept.add(start, start + length).is_ok(), is_new);
                if is_new {
                    map[range].fill(true);
                }
                let whole = map.iter().position(|has| !has).unwrap_or(map.len());
                let is_one = whole > 0 && !map[whole..].contains(&true);
                prop_assert_eq!(kept.are_all_of(u32::try_from(whole).unwrap()), is_one);
            }
        }
    }

    #[test]
    fn a_read_in_ever_so_many_parts_is_refused() {
        let mut parts = Parts::default();
        let max = u32::try_from(PARTS_MAX).unwrap();
        for part in 0..max {
            parts.add(part * 2, part * 2 + 1).unwrap();
        }
        assert!(parts.add(max * 2, max * 2 + 1).is_err());
        assert!(parts.add(1, 2).is_ok(), "what joins two takes no room");
    }
}
