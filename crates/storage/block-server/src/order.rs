//! Order of overlapping changes.
//!
//! NBD does not define which of two overlapping writes in flight lands last. But a write must not
//! land after a second write that was sent after the first was answered. A lost connection could
//! cause that: a write is still in flight on the old connection, the client repeats it over a new
//! connection, gets the answer, and writes newer data. So a change waits for every earlier change
//! that it overlaps, whichever client sent it.

use std::collections::VecDeque;

/// Range of bytes: the offset of the first byte, and the offset after the last byte.
pub(crate) type Span = (u64, u64);

/// Changes in flight, and changes that wait.
#[derive(Debug)]
pub(crate) struct Order<T> {
    running: Vec<Span>,
    waiting: VecDeque<(Span, T)>,
}

impl<T> Order<T> {
    pub fn new() -> Self {
        Self { running: Vec::new(), waiting: VecDeque::new() }
    }

    /// Returns the change if it may begin now. Otherwise keeps it until it may begin.
    pub fn begin(&mut self, span: Span, change: T) -> Option<T> {
        let is_free = self.running.iter().all(|other| !overlap(*other, span))
            && self.waiting.iter().all(|(other, _)| !overlap(*other, span));
        if is_free {
            self.running.push(span);
            return Some(change);
        }
        self.waiting.push_back((span, change));
        None
    }

    /// Completes a change. Appends the waiting changes that may begin now to `begin`, in their
    /// order.
    pub fn end(&mut self, span: Span, begin: &mut Vec<T>) {
        let place = self.running.iter().position(|other| *other == span);
        self.running.swap_remove(place.expect("it began"));
        if self.waiting.is_empty() {
            return;
        }
        for (span, change) in std::mem::take(&mut self.waiting) {
            begin.extend(self.begin(span, change));
        }
    }
}

fn overlap(a: Span, b: Span) -> bool {
    a.0 < b.1 && b.0 < a.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_changes_run_in_the_order_of_their_arrival() {
        let mut order = Order::new();
        let mut begun = Vec::new();
        assert_eq!(order.begin((0, 10), 'a'), Some('a'));
        assert_eq!(order.begin((10, 20), 'b'), Some('b'), "it only touches");
        assert_eq!(order.begin((5, 15), 'c'), None);
        assert_eq!(order.begin((14, 30), 'd'), None, "it would overtake c");
        assert_eq!(order.begin((30, 40), 'e'), Some('e'));
        order.end((0, 10), &mut begun);
        assert_eq!(begun, []);
        order.end((10, 20), &mut begun);
        assert_eq!(begun, ['c'], "d waits for it");
        begun.clear();
        order.end((5, 15), &mut begun);
        assert_eq!(begun, ['d']);
    }

    #[test]
    fn the_same_span_twice_is_two_changes() {
        let mut order = Order::new();
        let mut begun = Vec::new();
        assert_eq!(order.begin((0, 10), 1), Some(1));
        assert_eq!(order.begin((0, 10), 2), None);
        assert_eq!(order.begin((0, 10), 3), None);
        order.end((0, 10), &mut begun);
        assert_eq!(begun, [2]);
        order.end((0, 10), &mut begun);
        assert_eq!(begun, [2, 3]);
    }
}
