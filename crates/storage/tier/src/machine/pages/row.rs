use super::slot::{NIL, SlotState};

/// Linked list of slots. The links are in the slots' state, so a slot is in at most one list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) first: u32,
    last: u32,
}

impl Default for Row {
    fn default() -> Self {
        Self { first: NIL, last: NIL }
    }
}

impl Row {
    pub(super) fn push_back(&mut self, slots: &mut [SlotState], slot: u32) {
        let state = &mut slots[slot as usize];
        (state.before, state.after) = (self.last, NIL);
        match self.last {
            NIL => self.first = slot,
            last => slots[last as usize].after = slot,
        }
        self.last = slot;
    }

    pub(super) fn unlink(&mut self, slots: &mut [SlotState], slot: u32) {
        let SlotState { before, after, .. } = slots[slot as usize];
        match before {
            NIL => self.first = after,
            before => slots[before as usize].after = after,
        }
        match after {
            NIL => self.last = before,
            after => slots[after as usize].before = before,
        }
    }
}
