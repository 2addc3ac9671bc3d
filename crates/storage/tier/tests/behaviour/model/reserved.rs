//! The same where the proof is a reservation: the owner that is taken over from may live, and what it has under way
//! lands, or not, whenever it likes. The device is `faults::Reservations`. The sidecar is a file on storage of its own,
//! which refuses nothing.

use super::*;

/// Rules that hosts keep to where the proof is a reservation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Whoever takes over preempts the owner so far.
    preempts: bool,
    /// A changed sidecar counts when the device has been asked after that.
    checks: bool,
    /// Whoever takes over goes on with a new file as the sidecar.
    renews: bool,
    /// True if the host that lets go of the disk keeps the reservation after an owner was
    /// preempted.
    stays: bool,
}

const EACH: Rules = Rules { preempts: true, checks: true, renews: true, stays: true };

fn key(host: usize) -> u64 {
    host as u64 + 1
}

fn number(host: usize) -> u8 {
    u8::try_from(host).expect("few")
}

impl State {
    /// True if the device refuses a host's writes.
    pub(super) fn is_refused(&self, host: usize, rules: super::Rules) -> bool {
        rules.by_reservation.is_some() && !self.device.may_write(number(host))
    }

    /// Registers a host, and whether it holds the device then. If not, it is registered no more.
    fn holds(&mut self, host: usize, preempts: Option<u64>) -> bool {
        let (number, own) = (number(host), key(host));
        let has = self.device.key(number);
        self.device.register(number, has, own).expect("it is the key that it has");
        if let Some(theirs) = preempts.filter(|theirs| *theirs != own) {
            // One that nobody has is none that writes.
            let _ = self.device.preempt(number, own, theirs);
        }
        let is_held = self.device.reserve(number, own).is_ok();
        if !is_held {
            self.device.register(number, own, 0).expect("it is the key that it has");
        }
        is_held
    }

    /// Releases the host's reservation of the device, after the host has released the disk.
    pub(super) fn release(&mut self, host: usize, rules: super::Rules) {
        let Some(rules) = rules.by_reservation else { return };
        if self.device.key(number(host)) == key(host) && !(rules.stays && self.shared.stays) {
            self.device.register(number(host), key(host), 0).expect("it is its own");
            self.shared.key = 0;
        }
    }

    /// Lets a sidecar land in the file that its host has open. Whether it counts is asked then.
    pub(super) fn sidecar_lands(&mut self, host: usize, sidecar: Sidecar, rules: super::Rules) {
        let rules = rules.by_reservation.expect("asked for then only");
        let is_named = |peer: usize| sidecar.holders.iter().any(|holder| holder.host == set(peer));
        let holders = std::array::from_fn(is_named);
        if rules.checks {
            self.late.push(Late::Check(host, holders));
        } else {
            let waits_for = &mut self.hosts[host].waits_for;
            (0..HOSTS).for_each(|peer| waits_for[peer] &= holders[peer]);
        }
        if self.hosts[host].file == self.file && sidecar.seq >= self.shared.seq {
            self.shared = sidecar;
        }
    }

    pub(super) fn reserved(&self, host: usize, rules: super::Rules, found: &mut Vec<Self>) {
        match self.hosts[host].role {
            // A program that lives has the device open, and no other one of its host gets it.
            Role::Idle if self.late.iter().any(|late| late.by() == host) => {}
            Role::Idle => {
                self.preempt(host, rules, found);
                self.open_reserved(host, found);
            }
            Role::Preempting => self.read(host, rules, found),
            _ => self.return_reserved(host, found),
        }
    }

    /// True if a host is taking over: the model has one take-over at a time.
    fn is_taken_over(&self) -> bool {
        let is_it = |role| !matches!(role, Role::Idle | Role::Off | Role::Owner | Role::Leaving);
        self.hosts.iter().any(|host| is_it(host.role))
    }

    fn preempt(&self, host: usize, rules: super::Rules, found: &mut Vec<Self>) {
        let rules = rules.by_reservation.expect("asked for then only");
        let is_over = self.shared.generation > 2 * TAKE_OVERS || u64::from(self.file) > TAKE_OVERS;
        if is_over || self.shared.key == 0 || self.is_taken_over() {
            return;
        }
        let mut next =
            self.with(format!("{host} preempts"), |s| s.hosts[host].role = Role::Preempting);
        let theirs = self.shared.key;
        if !rules.preempts || next.holds(host, Some(theirs)) {
            found.push(next);
        }
    }

    /// The sidecar is read, and is another file from now on; holders refuse the owner.
    fn read(&self, host: usize, rules: super::Rules, found: &mut Vec<Self>) {
        let rules = rules.by_reservation.expect("asked for then only");
        let reached = (0..HOSTS).filter(|peer| self.hosts[*peer].role != Role::Off);
        let is_it = |peer: &usize| {
            self.shared.holders.iter().any(|holder| holder.host == set(*peer))
                && self.hosts[*peer].copy.0 == log_generation(&self.shared)
        };
        let best = reached.clone().filter(is_it).map(|peer| self.hosts[peer].copy.1).max();
        let best = if has_log(&self.shared) { best } else { Some(self.backing) };
        let fence = self.shared.generation + 1;
        found.push(self.with(format!("{host} reads and fences, and finds {best:?}"), |s| {
            if rules.renews {
                s.file += 1;
            }
            s.hosts[host].file = s.file;
            let stays = s.shared.stays || s.shared.key != key(host);
            s.shared = Sidecar { seq: s.shared.seq + 1, key: key(host), stays, ..s.shared.clone() };
            for peer in reached {
                s.hosts[peer].fence = s.hosts[peer].fence.max(fence);
            }
            s.hosts[host].role = best.map_or(Role::Idle, Role::Fencing);
        }));
    }

    fn open_reserved(&self, host: usize, found: &mut Vec<Self>) {
        if self.is_taken_over() || !is_free(&self.shared) || self.shared.generation > 2 * TAKE_OVERS
        {
            return;
        }
        let mut next = self.with(format!("{host} opens it"), |_| {});
        if next.holds(host, None) {
            (next.floor, next.shared.key) = (next.backing, key(host));
            next.hosts[host].file = next.file;
            next.hosts[host].role = next.serve(host);
            found.push(next);
        }
    }

    /// Switched on again: it goes on if it is the owner and holds the device.
    fn return_reserved(&self, host: usize, found: &mut Vec<Self>) {
        let mut next =
            self.with(format!("{host} is on again"), |s| s.hosts[host].role = Role::Idle);
        let is_its = |s: &Self| {
            is_owner(&s.shared, set(host), s.hosts[host].generation) && has_log(&s.shared)
        };
        if is_its(&next) && next.holds(host, None) {
            next.shared = with_holders(&next.shared, Vec::new());
            let me = &mut next.hosts[host];
            (me.file, me.waits_for, me.role) = (next.file, [false; HOSTS], Role::Owner);
        }
        found.push(next);
    }
}

/// Host 0 holds the device; both others have its first write, which is on its way to the device.
fn first() -> State {
    let mut first = State::first();
    assert!(first.holds(0, None), "nobody else does");
    (first.shared.key, first.answered) = (key(0), 1);
    (first.hosts[0].log, first.hosts[0].acked) = (1, [1; HOSTS]);
    first.hosts[1..].iter_mut().for_each(|host| host.copy = (1, 1));
    first.late.push(Late::Backing(0, 1));
    first
}

/// Explores everything that can happen after these steps.
fn explore_after(steps: &[&str], rules: Rules) -> Result<usize, (String, Vec<String>)> {
    let rules = super::Rules { by_reservation: Some(rules), ..ALL };
    let taken = steps.iter().fold(first(), |state, step| {
        let is_it = |next: &State| next.way.last().is_some_and(|taken| taken.starts_with(step));
        let next = state.next(rules).into_iter().find(is_it);
        next.unwrap_or_else(|| panic!("{step} is not next after {:?}", state.way))
    });
    explore_from(taken, rules)
}

fn is_safe(steps: &[&str]) {
    match explore_after(steps, EACH) {
        Ok(states) => assert_eq!(states, STATES),
        Err((wrong, way)) => panic!("{wrong}:\n  {}", way.join("\n  ")),
    }
}

/// Checks that a violation is found without one of the rules, and that `step` is among the steps
/// that lead to it.
fn is_found(steps: &[&str], rules: Rules, step: &str) {
    let (wrong, way) = explore_after(steps, rules).expect_err("an owner that lives does harm");
    assert!(way.iter().any(|taken| taken.contains(step)), "{wrong}:\n  {}", way.join("\n  "));
}

/// Another one takes over, and serves, while a write of the owner is on its way.
const TAKEN: [&str; 8] = [
    "0 writes",
    "1 accepts",
    "1 preempts",
    "1 reads",
    "1 goes on from Fencing",
    "1 goes on from Claimed",
    "1 goes on from Applied",
    "1 goes on from Settled",
];
/// Steps of [`TAKEN`] with a sidecar of the owner that lands after it was read.
const TAKEN_BESIDE_A_SIDECAR: [&str; 10] = [
    "0 writes",
    "1 accepts",
    "0 loses 2",
    "1 preempts",
    "1 reads",
    "Sidecar(0",
    "1 goes on from Fencing",
    "1 goes on from Claimed",
    "1 goes on from Applied",
    "1 goes on from Settled",
];

#[test]
fn g_reservation_taken_from_a_live_owner_is_proof_enough() {
    is_safe(&[]);
}

#[test]
fn g_no_near_order_after_such_a_take_over_loses_a_write() {
    is_safe(&TAKEN);
    is_safe(&TAKEN_BESIDE_A_SIDECAR);
}

#[test]
fn g_without_the_preempt_a_late_write_is_found() {
    is_found(&[], Rules { preempts: false, ..EACH }, "lands");
}

#[test]
fn g_a_sidecar_that_counts_before_the_device_was_asked_is_found() {
    is_found(&[], Rules { checks: false, ..EACH }, "lands");
}

#[test]
fn g_model_finds_an_old_owner_writing_the_new_sidecar() {
    is_found(&TAKEN_BESIDE_A_SIDECAR, Rules { renews: false, ..EACH }, "lets go");
}

#[test]
fn g_model_finds_a_reservation_dropped_too_early() {
    is_found(&TAKEN, Rules { stays: false, ..EACH }, "lets go");
}
