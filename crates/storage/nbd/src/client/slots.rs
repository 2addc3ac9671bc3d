use super::failure::Failure;
use super::parts::Parts;
use crate::Operation;

/// Request whose answer is not complete.
#[derive(Debug)]
pub(super) struct Pending {
    pub operation: Operation,
    pub offset: u64,
    pub length: u32,
    pub parts: Parts,
    pub failure: Option<Failure>,
}

/// Requests by their cookies. A cookie is the index in a table and a count of earlier uses of the
/// entry. So a late reply to a completed request does not match a newer request in the same entry.
// Not `state_machine::Slab`, whose numbers do not distinguish successive uses of a place.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<(u32, Option<Pending>)>,
    free: Vec<u32>,
}

impl Slots {
    pub fn add(&mut self, pending: Pending) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 requests at once")
        });
        let slot = &mut self.slots[place as usize];
        slot.1 = Some(pending);
        u64::from(slot.0) << 32 | u64::from(place)
    }

    pub fn get(&mut self, cookie: u64) -> Option<&mut Pending> {
        let slot = self.slots.get_mut(place(cookie))?;
        if u64::from(slot.0) == cookie >> 32 { slot.1.as_mut() } else { None }
    }

    pub fn remove(&mut self, cookie: u64) -> Option<Pending> {
        self.get(cookie)?;
        let slot = &mut self.slots[place(cookie)];
        slot.0 = slot.0.wrapping_add(1);
        self.free
            .push(u32::try_from(place(cookie)).expect("a place is the lower 32 bits of a cookie"));
        slot.1.take()
    }

    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

fn place(cookie: u64) -> usize {
    usize::try_from(cookie & 0xffff_ffff).expect("32 bits fit")
}
