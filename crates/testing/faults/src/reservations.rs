use std::collections::BTreeMap;

/// A conflict with a registration or reservation. Nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("reservation conflict")]
pub struct Conflict;

/// Write permissions on a device that several hosts see, which follow the model in the crate's
/// description.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Reservations {
    /// Keys of the registered hosts.
    keys: BTreeMap<u8, u64>,
    holder: Option<u8>,
}

impl Reservations {
    /// Registers the key `new` of a host, or ends its registration if `new` is 0. `old` is its
    /// current key.
    ///
    /// # Errors
    /// The host has another key than `old`.
    pub fn register(&mut self, host: u8, old: u64, new: u64) -> Result<(), Conflict> {
        if self.key(host) != old {
            return Err(Conflict);
        }
        match new {
            0 => {
                self.keys.remove(&host);
                self.holder = self.holder.filter(|holder| *holder != host);
            }
            _ => drop(self.keys.insert(host, new)),
        }
        Ok(())
    }

    /// Takes the reservation for a host, or keeps it.
    ///
    /// # Errors
    /// The host is not registered with this key, or another host holds the reservation.
    pub fn reserve(&mut self, host: u8, key: u64) -> Result<(), Conflict> {
        if key == 0 || self.key(host) != key || self.holder.is_some_and(|holder| holder != host) {
            return Err(Conflict);
        }
        self.holder = Some(host);
        Ok(())
    }

    /// Ends the registration of all hosts with the key `theirs`. If one of them held the
    /// reservation, `host` holds it now.
    ///
    /// # Errors
    /// `host` is not registered with `own`, or no host is registered with `theirs`.
    pub fn preempt(&mut self, host: u8, own: u64, theirs: u64) -> Result<(), Conflict> {
        let is_known = self.keys.values().any(|key| *key == theirs);
        if own == 0 || self.key(host) != own || !is_known {
            return Err(Conflict);
        }
        let is_held = self.holder.is_some_and(|holder| self.key(holder) == theirs);
        self.keys.retain(|other, key| *other == host || *key != theirs);
        if is_held {
            self.holder = Some(host);
        }
        Ok(())
    }

    /// Returns true if this host may write.
    #[must_use]
    pub fn may_write(&self, host: u8) -> bool {
        self.holder.is_none() || self.keys.contains_key(&host)
    }

    /// The host that holds the reservation.
    #[must_use]
    pub fn holder(&self) -> Option<u8> {
        self.holder
    }

    /// Returns the key with which a host is registered; 0 if it is not.
    #[must_use]
    pub fn key(&self, host: u8) -> u64 {
        self.keys.get(&host).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservation_allows_writes_by_registrants_and_one_holder() {
        let mut device = Reservations::default();
        assert!(device.may_write(0) && device.may_write(1), "nobody holds it");
        assert_eq!(device.reserve(0, 10), Err(Conflict), "it is not registered");
        device.register(0, 0, 10).expect("it has no key");
        assert_eq!(device.register(0, 0, 11), Err(Conflict), "it has one");
        device.reserve(0, 10).expect("nobody holds it");
        device.reserve(0, 10).expect("it holds it still");
        assert!(device.may_write(0) && !device.may_write(1));
        device.register(1, 0, 20).expect("anybody may");
        assert!(device.may_write(1), "registered, and not the holder");
        assert_eq!(device.reserve(1, 20), Err(Conflict));
        device.register(0, 10, 0).expect("its own key");
        assert_eq!((device.holder(), device.may_write(0)), (None, true));
    }

    #[test]
    fn preempted_host_cannot_write_and_preemptor_holds() {
        let mut device = Reservations::default();
        device.register(0, 0, 10).expect("it has no key");
        device.reserve(0, 10).expect("nobody holds it");
        assert_eq!(device.preempt(1, 20, 10), Err(Conflict), "it is not registered");
        device.register(1, 0, 20).expect("anybody may");
        assert_eq!(device.preempt(1, 20, 30), Err(Conflict), "nobody has that key");
        device.preempt(1, 20, 10).expect("it has it");
        assert_eq!((device.holder(), device.key(0)), (Some(1), 0));
        assert!(device.may_write(1) && !device.may_write(0));
        assert_eq!(device.register(0, 10, 10), Err(Conflict), "that key is gone");
        device.register(0, 0, 10).expect("anybody may");
        assert_eq!(device.reserve(0, 10), Err(Conflict), "another one holds it");
    }
}
