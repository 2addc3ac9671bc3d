use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Number of a host, chosen by the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// A connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(u64);

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// End that initiated the connection.
    Caller,
    /// End that accepted the connection.
    Called,
}

impl End {
    /// The opposite end.
    pub const fn other(self) -> Self {
        match self {
            Self::Caller => Self::Called,
            Self::Called => Self::Caller,
        }
    }
}

/// Event that arrives at an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival<M> {
    /// Message from the other end.
    Message(M),
    /// The other end has closed, and nothing further arrives.
    Closed,
}

#[derive(Debug, Clone)]
struct Side<M> {
    host: HostId,
    /// True while this end can send and receive.
    is_open: bool,
    /// Events on their way to this end, in order.
    coming: VecDeque<Arrival<M>>,
}

/// Connections between hosts, which follow the model of this crate.
#[derive(Debug, Clone)]
pub struct Network<M> {
    links: BTreeMap<LinkId, [Side<M>; 2]>,
    partitions: BTreeSet<(HostId, HostId)>,
    stopped: BTreeSet<HostId>,
    next: u64,
}

impl<M> Default for Network<M> {
    fn default() -> Self {
        Self {
            links: BTreeMap::new(),
            partitions: BTreeSet::new(),
            stopped: BTreeSet::new(),
            next: 0,
        }
    }
}

fn pair(a: HostId, b: HostId) -> (HostId, HostId) {
    (a.min(b), a.max(b))
}

impl<M> Network<M> {
    /// Connects two hosts; `None` if the first cannot reach the second now.
    pub fn connect(&mut self, from: HostId, to: HostId) -> Option<LinkId> {
        if !self.can_reach(from, to) {
            return None;
        }
        self.next += 1;
        let side = |host| Side { host, is_open: true, coming: VecDeque::new() };
        self.links.insert(LinkId(self.next), [side(from), side(to)]);
        Some(LinkId(self.next))
    }

    fn can_reach(&self, a: HostId, b: HostId) -> bool {
        let is_stopped = self.stopped.contains(&a) || self.stopped.contains(&b);
        !is_stopped && !self.partitions.contains(&pair(a, b))
    }

    /// Sends a message. The sender does not learn if it arrives.
    pub fn send(&mut self, link: LinkId, from: End, message: M) {
        self.put(link, from, Arrival::Message(message));
    }

    /// Closes a connection at one end. The other end is told.
    pub fn close(&mut self, link: LinkId, end: End) {
        self.put(link, end, Arrival::Closed);
        self.break_off(link, end);
    }

    fn put(&mut self, link: LinkId, from: End, arrival: Arrival<M>) {
        let Some(sides) = self.links.get_mut(&link) else { return };
        let is_sent = sides[from as usize].is_open;
        let to = &mut sides[from.other() as usize];
        if is_sent && to.is_open {
            to.coming.push_back(arrival);
        }
    }

    /// Breaks a connection for one end. This end is told, and the other end is not.
    pub fn break_off(&mut self, link: LinkId, end: End) {
        let Some(sides) = self.links.get_mut(&link) else { return };
        let side = &mut sides[end as usize];
        side.is_open = false;
        side.coming.clear();
        if sides.iter().all(|side| !side.is_open) {
            self.links.remove(&link);
        }
    }

    /// Returns the ends at which something can arrive now, in the order in which the connections
    /// were made.
    pub fn arrivals(&self) -> Vec<(LinkId, End)> {
        let mut found = Vec::new();
        for (link, [caller, called]) in &self.links {
            if !self.can_reach(caller.host, called.host) {
                continue;
            }
            for (side, end) in [(caller, End::Caller), (called, End::Called)] {
                if !side.coming.is_empty() {
                    found.push((*link, end));
                }
            }
        }
        found
    }

    /// Delivers the first event on its way to an end; `None` if nothing can arrive. `Closed` also
    /// closes that end.
    pub fn deliver(&mut self, link: LinkId, end: End) -> Option<Arrival<M>> {
        let [caller, called] = self.links.get(&link)?;
        if !self.can_reach(caller.host, called.host) {
            return None;
        }
        let arrival = self.links.get_mut(&link)?[end as usize].coming.pop_front();
        if matches!(arrival, Some(Arrival::Closed)) {
            self.break_off(link, end);
        }
        arrival
    }

    /// Returns true while an end can still send, as far as that end knows.
    pub fn is_open(&self, link: LinkId, end: End) -> bool {
        self.links.get(&link).is_some_and(|sides| sides[end as usize].is_open)
    }

    /// Returns the host that was called.
    ///
    /// # Panics
    /// If there is no such connection.
    pub fn called(&self, link: LinkId) -> HostId {
        self.links[&link][End::Called as usize].host
    }

    /// Partitions two hosts. Nothing passes between them from now on, and neither is told.
    pub fn partition(&mut self, a: HostId, b: HostId) {
        self.partitions.insert(pair(a, b));
    }

    /// Heals a partition. Delayed events can arrive.
    pub fn heal(&mut self, a: HostId, b: HostId) {
        self.partitions.remove(&pair(a, b));
    }

    /// Stops a host. It no longer takes part, and no other host is told.
    pub fn stop(&mut self, host: HostId) {
        self.stopped.insert(host);
        for (link, end) in self.ends_of(host) {
            self.break_off(link, end);
        }
    }

    /// Starts a stopped host, without connections.
    pub fn start(&mut self, host: HostId) {
        self.stopped.remove(&host);
    }

    /// Kills the host's program. Its kernel closes all its connections.
    pub fn kill(&mut self, host: HostId) {
        for (link, end) in self.ends_of(host) {
            self.close(link, end);
        }
    }

    fn ends_of(&self, host: HostId) -> Vec<(LinkId, End)> {
        let mut found = Vec::new();
        for (link, [caller, called]) in &self.links {
            for (side, end) in [(caller, End::Caller), (called, End::Called)] {
                if side.host == host && side.is_open {
                    found.push((*link, end));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: HostId = HostId(1);
    const B: HostId = HostId(2);

    fn linked() -> (Network<u32>, LinkId) {
        let mut network = Network::default();
        let link = network.connect(A, B).expect("nothing is in the way");
        (network, link)
    }

    fn come(network: &mut Network<u32>, link: LinkId, end: End) -> Vec<Arrival<u32>> {
        std::iter::from_fn(|| network.deliver(link, end)).collect()
    }

    #[test]
    fn what_is_sent_arrives_in_its_order_and_then_the_end() {
        let (mut network, link) = linked();
        network.send(link, End::Caller, 1);
        network.send(link, End::Caller, 2);
        network.close(link, End::Caller);
        assert_eq!(network.arrivals(), [(link, End::Called)]);
        let all = [Arrival::Message(1), Arrival::Message(2), Arrival::Closed];
        assert_eq!(come(&mut network, link, End::Called), all);
        assert!(!network.is_open(link, End::Called));
    }

    #[test]
    fn a_half_open_end_sends_into_nothing_and_is_not_told() {
        let (mut network, link) = linked();
        network.send(link, End::Called, 7);
        network.break_off(link, End::Caller);
        network.send(link, End::Called, 8);
        assert!(network.is_open(link, End::Called) && !network.is_open(link, End::Caller));
        assert_eq!(network.arrivals(), []);
    }

    #[test]
    fn partition_delays_messages_until_it_heals() {
        let (mut network, link) = linked();
        network.send(link, End::Caller, 1);
        network.partition(B, A);
        network.send(link, End::Caller, 2);
        assert_eq!((network.arrivals(), network.connect(A, B)), (Vec::new(), None));
        assert_eq!(network.deliver(link, End::Called), None);
        network.heal(A, B);
        let all = [Arrival::Message(1), Arrival::Message(2)];
        assert_eq!(come(&mut network, link, End::Called), all);
    }

    #[test]
    fn a_host_that_stops_is_silent_and_one_that_is_killed_closes() {
        let (mut network, link) = linked();
        network.stop(B);
        network.send(link, End::Caller, 1);
        assert!(network.is_open(link, End::Caller) && network.connect(A, B).is_none());
        network.start(B);
        assert_eq!(network.arrivals(), [], "its connections are gone with it");
        let second = network.connect(A, B).expect("it is there again");
        network.kill(B);
        assert_eq!(come(&mut network, second, End::Caller), [Arrival::Closed]);
    }
}
