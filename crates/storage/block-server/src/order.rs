//! Changes of the same bytes, one after the other.
//!
//! NBD leaves it open which of two writes that overlap and are under way at once comes last, but not
//! that a write may land after one that was sent when it had been answered. That could happen after a
//! client lost its connection: what it had sent is still under way, it sends the same again over a new
//! connection, is answered, and writes something newer. So a change waits for every earlier one that it
//! overlaps, whoever sent them.

use std::collections::VecDeque;

/// Bytes from the first to before the second.
pub(crate) type Span = (u64, u64);

/// Changes that are under way or wait.
#[derive(Debug)]
pub(crate) struct Order<T> {
    running: Vec<Span>,
    waiting: VecDeque<(Span, T)>,
}

impl<T> Order<T> {
    pub fn new() -> Self {
        Self { running: Vec::new(), waiting: VecDeque::new() }
    }

    /// Lets a change begin, or keeps it until it may.
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

    /// One has ended: those that may begin now, in their order.
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
    fn changes_of_the_same_bytes_run_in_the_order_in_which_they_came() {
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
