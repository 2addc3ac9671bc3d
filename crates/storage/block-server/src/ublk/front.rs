//! Front end for ublk.

use std::io;
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use super::abi::{COMMIT_AND_FETCH, DEPTH, FETCH, io};
use super::device::{Device, delete, is_used};
use super::queue::{Queue, result};
use crate::core::Core;
use crate::front_end::FrontEnd;
use crate::token::{Token, UBLK, UblkWork as Work};
use crate::{Answer, Buffer};
use nbd::{Code, Operation};
use state_machine::Slab;

/// Maximum wait for short users of a device: udev opens a disk that appeared or was written. Our
/// choice.
const PATIENCE: Duration = Duration::from_secs(2);
/// Interval at which the state of a device's thread or of its users is checked.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// All ublk devices of this server.
pub(crate) struct Hosts {
    hosts: Slab<Host>,
    /// Device and tag of each request that was submitted to a disk.
    asked: Slab<(u32, u16)>,
    /// Device and tag of the requests that arrived and are not decoded yet.
    came: Vec<(u32, u16)>,
    /// Answers that are not passed to the kernel yet: device, tag and result.
    done: Vec<(u32, u16, i32)>,
}

/// ublk device of one disk.
struct Host {
    device: Device,
    disk: usize,
    queue: Queue,
    phase: Phase,
    /// True once the disk was withdrawn and a first removal was tried.
    is_asked_back: bool,
}

enum Phase {
    /// The kernel creates the device.
    Begins(JoinHandle<io::Result<()>>),
    Serves,
    /// A thread removes the device unless it is in use. The thread returns true if it removed the
    /// device.
    Ends(JoinHandle<io::Result<bool>>),
    /// The device is left to the next server; its requests wait.
    Left,
    /// The device is removed.
    Gone,
}

impl Phase {
    /// Returns true if the phase's thread has ended.
    fn is_due(&self) -> bool {
        match self {
            Self::Begins(thread) => thread.is_finished(),
            Self::Ends(thread) => thread.is_finished(),
            Self::Serves | Self::Left | Self::Gone => false,
        }
    }

    fn is_thread(&self) -> bool {
        matches!(self, Self::Begins(_) | Self::Ends(_))
    }
}

fn joined<T>(thread: JoinHandle<io::Result<T>>) -> io::Result<T> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("its thread panicked")))
}

/// Removes a device once it is not in use. Returns false if it is still in use after [`PATIENCE`].
fn remove(number: u32) -> io::Result<bool> {
    let until = Instant::now() + PATIENCE;
    while is_used(number) {
        if Instant::now() > until {
            return Ok(false);
        }
        sleep(LOOK_AGAIN);
    }
    delete(number).map(|()| true)
}

impl Hosts {
    /// Starts serving these devices. The text beside each device is the name of its disk.
    pub fn new(
        devices: impl Iterator<Item = (Device, String)>,
        core: &mut Core,
    ) -> io::Result<Self> {
        let mut hosts = Slab::new();
        for (mut device, name) in devices {
            let at = core.exports.iter().position(|export| export.name() == name);
            let place = core.places[at.expect("the place was checked when the device was opened")];
            let begin = device.begin();
            let thread = Builder::new().name("ublk".to_owned());
            let queue = Queue::new(core.export(place));
            let file = device.file.clone();
            let number = hosts.insert(Host {
                device,
                disk: place,
                queue,
                phase: Phase::Serves,
                is_asked_back: false,
            });
            for tag in 0..DEPTH {
                let token = Token::Ublk(Work { host: number, tag });
                core.ring.command(token, &file, FETCH, io(tag, 0))?;
            }
            hosts[number].phase = Phase::Begins(thread.spawn(begin)?);
            core.connections += 1;
            core.shared.counters.connections.add(1);
        }
        Ok(Self { hosts, asked: Slab::new(), came: Vec::new(), done: Vec::new() })
    }

    /// Handles a completion of a tag's command.
    pub fn finished(&mut self, Work { host, tag }: Work, result: i32, core: &mut Core) {
        let one = &mut self.hosts[host];
        if one.queue.came(tag, result) {
            self.came.push((host, tag));
        }
        self.forget(host, core);
    }

    /// Drops a device once the kernel has taken back all of its tags.
    fn forget(&mut self, host: u32, core: &mut Core) {
        let one = &self.hosts[host];
        if !one.queue.is_over() || one.phase.is_thread() {
            return;
        }
        if !matches!(one.phase, Phase::Gone) {
            core.shared
                .note(format!("/dev/ublkb{} was removed by another program", one.device.number));
        }
        self.hosts.remove(host);
        core.connections -= 1;
    }

    fn ask(&mut self, host: u32, tag: u16, core: &mut Core) -> io::Result<()> {
        let one = &mut self.hosts[host];
        if matches!(one.phase, Phase::Left) {
            return Ok(());
        }
        let ask = match one.queue.take(tag, one.device.descriptor(tag)) {
            Ok(ask) => ask,
            Err(result) => {
                core.shared.counters.errors.add(1);
                self.done.push((host, tag, result));
                return Ok(());
            }
        };
        let mut data = match ask.operation {
            Operation::Read | Operation::Write { .. } => core.pool.take(ask.length as usize),
            _ => Buffer::none(),
        };
        if matches!(ask.operation, Operation::Write { .. })
            && one.device.take(tag, &mut data).is_err()
        {
            one.queue.answered(tag);
            core.pool.give(data);
            self.done.push((host, tag, result(Code::Io)));
            return Ok(());
        }
        let asked = self.asked.insert((host, tag));
        core.ask(one.disk, (UBLK, asked), (ask.operation, ask.offset, ask.length), data)
    }

    fn answer(&mut self, host: u32, tag: u16, answer: Answer, core: &mut Core) {
        let one = &mut self.hosts[host];
        let ask = one.queue.answered(tag);
        let given = answer.result.and_then(|()| match ask.operation {
            Operation::Read => one.device.give(tag, &answer.data).map_err(|_| Code::Io),
            _ => Ok(()),
        });
        core.pool.give(answer.data);
        if given.is_err() {
            core.shared.counters.errors.add(1);
        }
        let bytes = || i32::try_from(ask.length).expect("no request has more than 32 MiB");
        self.done.push((host, tag, given.map_or_else(result, |()| bytes())));
    }

    /// Starts removing a device.
    fn end(&mut self, host: u32) -> io::Result<()> {
        let one = &mut self.hosts[host];
        let number = one.device.number;
        let before = match std::mem::replace(&mut one.phase, Phase::Serves) {
            Phase::Begins(thread) => Some(thread),
            Phase::Serves => None,
            other => {
                one.phase = other;
                return Ok(());
            }
        };
        let thread = Builder::new().name("ublk".to_owned()).spawn(move || {
            before.map(joined).transpose()?;
            remove(number)
        });
        one.phase = Phase::Ends(thread?);
        Ok(())
    }

    /// Handles the result of a device's thread.
    fn go_on(&mut self, host: u32, core: &mut Core) {
        let one = &mut self.hosts[host];
        let otherwise = if core.is_stopping { Phase::Left } else { Phase::Serves };
        let (phase, note) = match std::mem::replace(&mut one.phase, Phase::Serves) {
            Phase::Begins(thread) => (
                Phase::Serves,
                joined(thread).err().map(|error| format!("cannot be used: {error}")),
            ),
            Phase::Ends(thread) => match joined(thread) {
                Ok(true) => (Phase::Gone, None),
                Ok(false) => {
                    let then = if core.is_stopping {
                        "waits for the next server"
                    } else {
                        "is waited for"
                    };
                    (otherwise, Some(format!("is in use, and {then}")))
                }
                Err(error) => (otherwise, Some(format!("cannot be removed: {error}"))),
            },
            other => (other, None),
        };
        one.phase = phase;
        if let Some(note) = note {
            core.shared.note(format!("/dev/ublkb{} {note}", one.device.number));
        }
        self.forget(host, core);
    }

    fn of_disk(&self, disk: usize) -> Vec<u32> {
        let mut numbers = self.hosts.numbers();
        numbers.retain(|number| self.hosts[*number].disk == disk);
        numbers
    }
}

impl FrontEnd for Hosts {
    fn take_answers(&mut self, core: &mut Core) {
        while let Some((number, answer)) = core.next_answer(UBLK) {
            let (host, tag) = self.asked.remove(number);
            self.answer(host, tag, answer, core);
        }
    }

    fn attend(&mut self, core: &mut Core) -> io::Result<()> {
        for (host, tag) in std::mem::take(&mut self.came) {
            self.ask(host, tag, core)?;
        }
        self.take_answers(core);
        for (host, tag, result) in self.done.drain(..) {
            let token = Token::Ublk(Work { host, tag });
            core.ring.command(
                token,
                &self.hosts[host].device.file,
                COMMIT_AND_FETCH,
                io(tag, result),
            )?;
        }
        Ok(())
    }

    // `attend` leaves nothing over.
    fn has_work(&self) -> bool {
        false
    }

    fn next_time(&mut self) -> Option<Instant> {
        let is_thread =
            self.hosts.numbers().iter().any(|number| self.hosts[*number].phase.is_thread());
        is_thread.then(|| Instant::now() + LOOK_AGAIN)
    }

    fn look_at_clock(&mut self, _now: Instant, core: &mut Core) -> io::Result<()> {
        for number in self.hosts.numbers() {
            if self.hosts[number].phase.is_due() {
                self.go_on(number, core);
            }
        }
        Ok(())
    }

    // Threads of devices send no orders; they only end.
    fn take_orders(&mut self, _core: &mut Core) -> io::Result<()> {
        Ok(())
    }

    fn stop(&mut self, _core: &mut Core) -> io::Result<()> {
        self.hosts.numbers().into_iter().try_for_each(|number| self.end(number))
    }

    // The kernel asks the next server for every request that is not answered.
    fn cut_off(&mut self) {}

    // `let_go` removes the device.
    fn withdraw(&mut self, _disk: usize, _core: &mut Core) {}

    fn let_go(&mut self, disk: usize, is_late: bool, _core: &mut Core) -> io::Result<bool> {
        let hosts = self.of_disk(disk);
        for number in &hosts {
            let one = &mut self.hosts[*number];
            // A user may take long to let go, so a removal that failed is tried again only when it is late.
            if is_late || !std::mem::replace(&mut one.is_asked_back, true) {
                self.end(*number)?;
            }
        }
        Ok(!hosts.is_empty())
    }

    fn is_settled(&self) -> bool {
        let is_settled = |number| {
            let one: &Host = &self.hosts[number];
            matches!(one.phase, Phase::Left) && one.queue.is_idle()
        };
        self.hosts.numbers().into_iter().all(is_settled)
    }
}
