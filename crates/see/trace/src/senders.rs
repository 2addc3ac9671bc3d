use std::collections::{BTreeMap, BTreeSet};

use crate::store::Machine;

/// Names of the initiators that several hosts saw. A virtual machine is one initiator, on however
/// many hosts it ran. VMs are matched by UUID, or by name if one of the two has no UUID. Any other
/// initiator is a different one on every host, and is named `HOST/NAME`.
///
/// An initiator keeps its position and name, whatever is added later.
#[derive(Debug, Clone, Default)]
pub struct Senders {
    names: Vec<String>,
    /// Positions of the initiators that are virtual machines.
    machines: Vec<(usize, Machine)>,
    /// Positions of the other initiators, by their host and their name on that host.
    others: BTreeMap<String, BTreeMap<String, usize>>,
    taken: BTreeSet<String>,
}

impl Senders {
    /// Returns the position of a host's initiator, which is added if new; `machine` is given if it
    /// is a virtual machine.
    pub fn position(&mut self, host: &str, name: &str, machine: Option<&Machine>) -> usize {
        match machine {
            Some(machine) => self.machine(host, machine),
            None => self.other(host, name),
        }
    }

    fn machine(&mut self, host: &str, machine: &Machine) -> usize {
        let is_it = |(_, known): &&(usize, Machine)| match (&known.uuid, &machine.uuid) {
            (Some(known), Some(uuid)) => known == uuid,
            _ => known.name == machine.name,
        };
        if let Some((at, known)) = self.machines.iter().find(is_it) {
            let at = *at;
            if known.uuid.is_none() && machine.uuid.is_some() {
                self.machines.push((at, machine.clone()));
            }
            return at;
        }
        // Two VMs of one name with different UUIDs.
        let at = self.add(host, machine.name.clone());
        self.machines.push((at, machine.clone()));
        at
    }

    fn other(&mut self, host: &str, name: &str) -> usize {
        let known = self.others.get(host).and_then(|own| own.get(name));
        if let Some(at) = known {
            return *at;
        }
        let at = self.add(host, format!("{host}/{name}"));
        self.others.entry(host.to_owned()).or_default().insert(name.to_owned(), at);
        at
    }

    /// Adds a name. While another initiator has the same name, the host is put before it, because a
    /// VM may have the name of a process on another host.
    fn add(&mut self, host: &str, mut name: String) -> usize {
        while !self.taken.insert(name.clone()) {
            name = format!("{host}/{name}");
        }
        self.names.push(name);
        self.names.len() - 1
    }

    /// Returns the names by position; no two are the same.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str, uuid: Option<&str>) -> Machine {
        Machine { name: name.to_owned(), uuid: uuid.map(str::to_owned) }
    }

    #[test]
    fn vm_is_one_by_uuid_or_else_by_name() {
        let mut all = Senders::default();
        let mut vm =
            |host: &str, name: &str, uuid| all.position(host, name, Some(&machine(name, uuid)));
        let web = vm("a", "web1", Some("u1"));
        assert_eq!(vm("b", "web1", Some("u1")), web);
        assert_eq!(vm("b", "web1-renamed", Some("u1")), web);
        assert_eq!(vm("c", "web1", None), web);
        let other = vm("b", "web1", Some("u2"));
        assert_ne!(other, web);
        assert_eq!(vm("a", "web1", Some("u1")), web, "positions stay");
        assert_eq!(all.names(), ["web1", "b/web1"]);
    }

    #[test]
    fn processes_of_different_hosts_get_different_sender_names() {
        let mut all = Senders::default();
        let vm = all.position("a", "b/kworker", Some(&machine("b/kworker", None)));
        let first = all.position("b", "kworker", None);
        let second = all.position("c", "kworker", None);
        assert_eq!(all.position("b", "kworker", None), first);
        assert_ne!(vm, first);
        assert_ne!(first, second);
        assert_eq!(all.names(), ["b/kworker", "b/b/kworker", "c/kworker"]);
    }
}
