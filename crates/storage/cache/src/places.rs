/// Allocator of place numbers. Freed places are reused first, the latest first, then unused places
/// in ascending order. It takes 4 bytes for each freed place.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    given_back: Vec<u32>,
    next: u32,
    end: u32,
}

impl Places {
    /// Creates an allocator for the places from `first` up to `end`, exclusive.
    pub(crate) const fn new(first: u32, end: u32) -> Self {
        Self { given_back: Vec::new(), next: first, end }
    }

    #[inline]
    pub(crate) fn take(&mut self) -> Option<u32> {
        if let Some(place) = self.given_back.pop() {
            return Some(place);
        }
        let place = self.next;
        (place < self.end).then(|| {
            self.next += 1;
            place
        })
    }

    #[inline]
    pub(crate) fn give(&mut self, place: u32) {
        self.given_back.push(place);
    }

    pub(crate) const fn has_any(&self) -> bool {
        !self.given_back.is_empty() || self.next < self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_given_back_are_taken_first_and_none_twice() {
        let mut places = Places::new(2, 4);
        assert_eq!((places.take(), places.take(), places.take()), (Some(2), Some(3), None));
        assert!(!places.has_any());
        places.give(2);
        assert!(places.has_any());
        assert_eq!((places.take(), places.take()), (Some(2), None));
    }
}
