use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use block_server::Effects;
use cache::PolicyKind;
use cache::tier::Admission;
use tier::format::SidecarState;
use tier::{Event, Mode, Note, Order};
use units::Nanos;

use crate::coming::unknown;
use crate::core::Core;
use crate::error::Refusal;
use crate::inbox::{
    Ask, COMMON, Command, DiskReport, Left, MemoryReport, PeerReport, Reply, Report, ServedFiles,
};
use crate::marks;

/// Maximum percentage of all pages for the disks that have their own policy, together. The rest is
/// for the other disks.
const PARTS_PERCENT_MAX: u32 = 99;

impl Core {
    /// Executes the messages in the inbox.
    pub(crate) fn attend(&mut self, fx: &mut Effects) {
        while let Ok(ask) = self.inbox.asked.try_recv() {
            match ask {
                Ask::Command(command, tell) => self.command(&command, tell, fx),
                // The sender may no longer wait for the answer.
                Ask::Room(tell) => drop(tell.send(Ok(self.room()))),
                Ask::Files(index, tell) => {
                    let files = self.files.disks.get(usize::from(index)).cloned().flatten();
                    let reserved = self.reserved.get(&index).cloned();
                    let held = files.map(|(_, sidecar)| ServedFiles { sidecar, reserved });
                    let _ = tell.send(Ok(held));
                }
                Ask::Join(joining, tell) => self.join(*joining, tell, fx),
                Ask::Serve(index, opening, shape, tell) => {
                    let _ = tell.send(Ok(self.serve(index, *opening, shape, fx)));
                }
                Ask::Move(what) => self.moved(what, fx),
            }
        }
    }

    fn command(&mut self, command: &Command, tell: SyncSender<Reply>, fx: &mut Effects) {
        let (disk, order) = match command {
            Command::Status | Command::Pulse => {
                let held = (*command == Command::Status).then(|| self.tier.held_bytes());
                // The sender may no longer wait for the answer.
                let _ = tell.send(Ok(Some(self.report(held))));
                return;
            }
            Command::Drain { disk } => (disk, Order::Drain { disk: 0 }),
            Command::Detach { disk } => (disk, Order::Detach { disk: 0 }),
            Command::Attach(_) => unreachable!("the sender of the command opens the disk"),
            Command::Mode { disk, back } => {
                let mode = if *back { Mode::Back } else { Mode::Through };
                (disk, Order::Mode { disk: 0, mode })
            }
            Command::Populate { disk, on, .. } => (disk, Order::Populate { disk: 0, is_on: *on }),
            Command::Share { disk, percent } => (disk, Order::Share { disk: 0, percent: *percent }),
            Command::Admission { disk, access } => {
                let admission = match access {
                    0 | 1 => Admission::Always,
                    nth => Admission::NthAccess { accesses: *nth, fill_percent: 0 },
                };
                (disk, Order::Admission { disk: 0, admission })
            }
            Command::Policy { disk, name } => {
                let order = self.policy(disk.as_deref(), name);
                let _ = tell.send(order.as_ref().map(|_| None).map_err(Refusal::clone));
                if let Ok(order) = order {
                    self.handle(Event::Order(order), fx);
                }
                return;
            }
        };
        let index = match self.index_of(disk).and_then(|index| self.check_share(index, command)) {
            Ok(index) => index,
            Err(error) => {
                let _ = tell.send(Err(error));
                return;
            }
        };
        let (order, awaited) = match order {
            Order::Drain { .. } => (Order::Drain { disk: index }, Some(Note::Drained(index))),
            Order::Mode { mode, .. } => {
                (Order::Mode { disk: index, mode }, Some(Note::Mode(index, mode)))
            }
            Order::Populate { is_on, .. } => {
                self.turn_again(command, index, fx);
                (Order::Populate { disk: index, is_on }, None)
            }
            Order::Share { percent, .. } => (Order::Share { disk: index, percent }, None),
            Order::Admission { admission, .. } => {
                (Order::Admission { disk: index, admission }, None)
            }
            Order::Detach { .. } => (Order::Detach { disk: index }, Some(Note::Detached(index))),
            Order::Close => (Order::Close, Some(Note::Closed)),
            Order::Serve { .. } | Order::Policy(_) | Order::OwnPolicy { .. } => {
                unreachable!("no command has this order, or it was handled")
            }
        };
        match awaited {
            Some(note) => self.inbox.waiting.push((note, tell)),
            None => {
                let _ = tell.send(Ok(None));
            }
        }
        self.handle(Event::Order(order), fx);
    }

    fn index_of(&self, name: &str) -> Result<u16, Refusal> {
        let found = self.inbox.names.iter().position(|known| known.as_deref() == Some(name));
        let known = self.inbox.names.iter().flatten().map(String::as_str);
        found.and_then(|index| u16::try_from(index).ok()).ok_or_else(|| unknown(name, known))
    }

    /// Parses the name of a policy, and returns the order that sets it for one disk, or for all
    /// disks without a policy of their own.
    fn policy(&self, disk: Option<&str>, name: &str) -> Result<Order, Refusal> {
        let parse = || name.parse::<PolicyKind>().map_err(Refusal::new);
        let Some(disk) = disk else {
            return match name {
                COMMON => Err(Refusal::new(format!(
                    "{COMMON} gives a disk the policy of the tier: name the disk"
                ))),
                _ => parse().map(Order::Policy),
            };
        };
        let index = self.index_of(disk)?;
        if name == COMMON {
            return Ok(Order::OwnPolicy { disk: index, policy: None });
        }
        let policy = Some(parse()?);
        let share = self.tier.status(index).map_or(100, |status| status.share_percent);
        self.check_part(index, share)?;
        Ok(Order::OwnPolicy { disk: index, policy })
    }

    /// Checks a new share. For a disk with its own policy, the share is a partition of the pages.
    fn check_share(&self, index: u16, command: &Command) -> Result<u16, Refusal> {
        let has_own = self.tier.status(index).is_some_and(|status| status.policy.is_some());
        match command {
            Command::Share { percent, .. } if has_own => self.check_part(index, *percent)?,
            _ => {}
        }
        Ok(index)
    }

    /// Checks that the partitions of all disks leave room for the other disks.
    fn check_part(&self, index: u16, percent: u8) -> Result<(), Refusal> {
        let others = self.tier.parted_percent(index);
        if others + u32::from(percent) <= PARTS_PERCENT_MAX {
            return Ok(());
        }
        let name = self.inbox.names.get(usize::from(index)).cloned().flatten().unwrap_or_default();
        Err(Refusal::with_hint(
            format!(
                "a disk with a policy of its own has a share of its own. The {percent} % of {name} \
                 and the {others} % of other such disks are more than {PARTS_PERCENT_MAX} %"
            ),
            "first set a smaller share, for example --share 30",
        ))
    }

    /// Schedules the time at which population is switched back. An order without a time cancels an
    /// earlier schedule.
    fn turn_again(&mut self, command: &Command, index: u16, fx: &mut Effects) {
        self.turns.retain(|(_, disk, _)| *disk != index);
        if let Command::Populate { on, for_s: Some(seconds), .. } = command {
            let after = Duration::from_secs(*seconds);
            // The clock cannot represent that time, so population stays as ordered.
            let Some(at) = Instant::now().checked_add(after) else { return };
            self.turns.push((at, index, !on));
            fx.wake(after, 1);
        }
    }

    /// Switches population back for the disks whose time has come.
    pub(crate) fn turn(&mut self, fx: &mut Effects) {
        let now = Instant::now();
        let (due, later) =
            std::mem::take(&mut self.turns).into_iter().partition(|own| own.0 <= now);
        self.turns = later;
        let due: Vec<(Instant, u16, bool)> = due;
        for (_, disk, is_on) in due {
            self.handle(Event::Order(Order::Populate { disk, is_on }), fx);
        }
    }

    /// Handles a note of the state machine: answers waiting commands and informs the operator.
    pub(crate) fn noted(&mut self, note: Note) {
        match note {
            Note::Closed => {
                self.is_closed = true;
                for (index, files) in (0..).zip(&self.files.disks) {
                    let Some((backing, sidecar)) = files else { continue };
                    let reserved = self.reserved.get(&index);
                    // If this write fails, the next start treats the set as after a kill.
                    if let Some(moment) = self.tier.moment(index) {
                        let (before, files) = (self.last_marks(index), (&**backing, &**sidecar));
                        let _ = marks::leave(before, files, moment, reserved.is_some());
                    }
                    reserved.into_iter().for_each(|reserved| reserved.end(sidecar));
                }
            }
            // A failed cache device cannot be written any more, so closing waits for nothing.
            Note::CacheFailed => (self.is_closed, self.inbox.has_failed) = (true, true),
            Note::Detached(index) | Note::NotAttached(index) => self.forget(index),
            _ => {}
        }
        let waiting = std::mem::take(&mut self.inbox.waiting);
        for (awaited, tell) in waiting {
            if let Some(why) = hopeless(awaited, note) {
                let _ = tell.send(Err(why.into()));
            } else if awaited == note {
                let _ = tell.send(Ok(None));
            } else {
                self.inbox.waiting.push((awaited, tell));
            }
        }
        if let Some(words) = self.words(note) {
            // The receiver may have been dropped.
            let _ = self.inbox.told.send(words);
        }
    }

    /// Returns the message for the operator about a note; `None` for notes that need none.
    fn words(&self, note: Note) -> Option<String> {
        let name = |index: u16| {
            self.inbox.names.get(usize::from(index)).cloned().flatten().unwrap_or_default()
        };
        Some(match note {
            Note::CacheFailed => "writing the cache file failed: nothing is cached any more, and \
                disks in mode back refuse writes"
                .to_owned(),
            Note::LogDamaged(index) => {
                format!(
                    "{}: its log cannot be read; nothing is destaged to its backing store any more",
                    name(index)
                )
            }
            Note::BackingFailed(index) if self.sidecars_refused.contains(&index) => {
                format!("{}: I/O to its sidecar failed; it is tried again", name(index))
            }
            Note::BackingFailed(index) => {
                format!("{}: I/O to its backing store failed; it is tried again", name(index))
            }
            Note::Holding(index, peer) => {
                format!("{}: {} holds a copy of its log", name(index), self.peer_name(index, peer))
            }
            Note::PeerLost(index, peer) => {
                format!(
                    "{}: {} is lost and no longer holds a copy",
                    name(index),
                    self.peer_name(index, peer)
                )
            }
            Note::Fenced(index) if self.refused.contains(&index) => format!(
                "{}: another host has taken the reservation of its backing device, which refuses \
                this host's writes; requests for the disk are refused from now on",
                name(index)
            ),
            Note::Fenced(index) => {
                format!(
                    "{}: another host owns it; requests for the disk are refused from now on",
                    name(index)
                )
            }
            Note::Drained(_) | Note::Mode(..) | Note::Closed => return None,
            Note::Attached(_) | Note::NotAttached(_) | Note::Detached(_) => return None,
        })
    }

    fn peer_name(&self, index: u16, peer: u8) -> &str {
        let names = self.inbox.peers.get(usize::from(index));
        names.and_then(|names| names.get(usize::from(peer))).map_or("", String::as_str)
    }

    fn report(&self, held: Option<u64>) -> Report {
        let geometry = self.tier.geometry();
        let now = self.now();
        let disks = (0..).zip(&self.inbox.names).filter_map(|(index, name)| {
            let status = self.tier.status(index)?;
            let since = |then: Nanos| now.saturating_sub(then).0;
            let mut counters = status.counters;
            counters.throttled_ns += status.full_since.map_or(0, since);
            let lags = (0_u8..).zip(self.tier.copy_lags(index));
            Some(DiskReport {
                index,
                name: name.clone()?,
                mode: if status.mode == Mode::Back { "back" } else { "through" }.to_owned(),
                dirty_bytes: status.dirty_bytes,
                epochs: status.epochs,
                log_chunks: status.log_chunks,
                page_bytes: status.pages as u64 * u64::from(geometry.page_bytes),
                memory_held_bytes: status.memory.held_bytes,
                memory_taken_bytes: status.memory.taken_bytes,
                share_percent: status.share_percent,
                policy: status.policy.map(|policy| policy.name().to_owned()),
                populates: status.populates,
                is_damaged: status.is_damaged,
                is_refused: status.is_refused,
                copies: status.copies,
                holding: status.holding,
                is_fenced: status.is_fenced,
                generation: status.generation,
                dirty_age_ns: status.oldest.map(since),
                peers: lags
                    .map(|(peer, lag_bytes)| PeerReport {
                        name: self.peer_name(index, peer).to_owned(),
                        lag_bytes,
                    })
                    .collect(),
                counters,
                sidecar: match status.sidecar {
                    SidecarState::Clean => "clean",
                    SidecarState::Dirty => "dirty",
                    SidecarState::Applying { .. } => "applying",
                    SidecarState::Burnt => "burnt",
                }
                .to_owned(),
            })
        });
        Report {
            page_size_bytes: geometry.page_bytes,
            page_bytes: u64::from(geometry.slots()) * u64::from(geometry.page_bytes),
            held_bytes: held
                .unwrap_or(self.tier.resident() as u64 * u64::from(geometry.page_bytes)),
            memory: self.memory_report(),
            has_failed: self.inbox.has_failed,
            counters: self.tier.counters(),
            policy: self.tier.policy().name().to_owned(),
            in_flight: self.requests.open.len(),
            disks: disks.collect(),
            elsewhere: self.elsewhere(),
            said: Vec::new(),
        }
    }

    /// Stores the state of the set at its end, for callers that ask for it after this thread has
    /// ended.
    pub(crate) fn tell_left(&self) {
        let dirty = |index: u16| self.tier.status(index).map_or(0, |status| status.dirty_bytes);
        let named = (0..).zip(&self.inbox.names);
        let waiting = named
            .filter_map(|(index, name)| Some((name.clone()?, dirty(index))))
            .filter(|(_, bytes)| *bytes > 0);
        let in_order = self.is_closed && !self.inbox.has_failed;
        // A second end does not replace the state of the first.
        let _ = self.inbox.left.set(Left { in_order, waiting: waiting.collect() });
    }

    fn memory_report(&self) -> Option<MemoryReport> {
        let status = self.tier.memory();
        (status.bytes > 0).then(|| MemoryReport {
            bytes: status.bytes,
            held_bytes: status.held_bytes,
            taken_bytes: status.taken_bytes,
            bookkeeping_bytes: status.known_by_bytes + self.arena.links_bytes(),
        })
    }
}

/// Returns the reason why an awaited note can no longer come after `note`.
fn hopeless(awaited: Note, note: Note) -> Option<&'static str> {
    match (awaited, note) {
        (Note::Attached(of), Note::NotAttached(index)) if of == index => {
            Some("its sidecar or the cache file could not be written")
        }
        (Note::Drained(of) | Note::Detached(of), Note::LogDamaged(index)) if of == index => {
            Some("its log cannot be read, so it is not destaged to its backing store")
        }
        _ => None,
    }
}
