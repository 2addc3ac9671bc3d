use std::any::Any;

use state_machine::{IoRequest, KindId, Operation};
use units::{Bytes, Nanos};

use crate::effects::ModelEffects;
use crate::part::{
    Alarm, Class, Component, Job, Message, OUT_OF_RANGE, Outbox, PartId, StreamId, Ticket,
};
use crate::usage::Usage;
use crate::watch::{Watched, Watches};

/// Location of a virtual disk: the component that its requests enter, and the range of bytes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Volume {
    /// Component that the disk's requests enter first.
    pub entry: PartId,
    /// Address of the disk's first byte in the address space of `entry`.
    pub base: u64,
    /// Size of the disk; requests beyond it fail with EIO.
    pub size: Bytes,
}

/// A tree of components and the virtual disks on it.
///
/// Parts are boxed, so that other crates can add their own (a cache tier in front of a RAID set).
/// The indirect call costs a nanosecond or two, against the tens that an event costs.
#[derive(Debug)]
pub struct Array {
    parts: Vec<Box<dyn Component>>,
    /// Virtual disks, by instance and disk.
    volumes: Vec<Vec<(Volume, StreamId)>>,
    /// Kinds of I/O that copy whole disks, by instance.
    copy_kinds: Vec<Vec<KindId>>,
    streams: u32,
    watches: Watches,
    out: Outbox,
}

impl Default for Array {
    fn default() -> Self {
        Self::new()
    }
}

impl Array {
    /// Creates an array without parts.
    pub fn new() -> Self {
        Self {
            parts: Vec::new(),
            volumes: Vec::new(),
            copy_kinds: Vec::new(),
            streams: 0,
            watches: Watches::default(),
            out: Outbox::new(),
        }
    }

    /// Adds a component. Components that it sends jobs to must have been added before.
    pub fn add(&mut self, part: impl Component) -> PartId {
        self.parts.push(Box::new(part));
        PartId(u32::try_from(self.parts.len() - 1).expect("fewer than 2^32 parts"))
    }

    /// Adds an instance with these virtual disks; instances are numbered in the order of the calls.
    pub fn add_instance(&mut self, disks: &[Volume]) {
        let disks = disks.iter().map(|volume| {
            self.streams += 1;
            (*volume, StreamId(self.streams - 1))
        });
        self.volumes.push(disks.collect());
    }

    /// Sets which kinds of I/O of each instance are of [`Class::Copy`]. All other kinds, and all
    /// kinds of instances beyond the list, are foreground.
    pub fn set_copy_kinds(&mut self, kinds: Vec<Vec<KindId>>) {
        self.copy_kinds = kinds;
    }

    /// Returns the class of an instance's request.
    #[inline]
    pub fn class_of(&self, instance: usize, request: &IoRequest) -> Class {
        match self.copy_kinds.get(instance) {
            Some(kinds) if kinds.contains(&request.kind) => Class::Copy,
            _ => Class::Foreground,
        }
    }

    /// Measures from now on how long jobs take that one part sends or hands on to some others. The
    /// measuring does not change any event. Results are stored until [`Array::take_watched`] is
    /// called, so that should be done regularly.
    pub fn watch(&mut self, via: PartId, to: Vec<PartId>) {
        self.watches.add(via, to);
    }

    /// Returns the jobs of a watched part that were answered since the previous call.
    pub fn take_watched(&mut self, via: PartId) -> Vec<Watched> {
        self.watches.take(via)
    }

    /// Submits a request of an instance. It fails at once with EIO if the array has no such disk or
    /// the request lies beyond the disk's end.
    pub fn submit<A: From<Alarm>>(
        &mut self,
        now: Nanos,
        instance: usize,
        ticket: Ticket,
        request: &IoRequest,
        fx: &mut ModelEffects<A>,
    ) {
        match self.job(instance, ticket, request) {
            Some((entry, job)) => {
                self.out.this = PartId::HOST;
                self.out.hand_on(entry, job);
                self.settle(now, fx);
            }
            None => fx.done.push((now, ticket, Err(OUT_OF_RANGE))),
        }
    }

    fn job(&self, instance: usize, ticket: Ticket, request: &IoRequest) -> Option<(PartId, Job)> {
        let (volume, stream) = *self.volumes.get(instance)?.get(usize::from(request.disk.0))?;
        let is_flush = request.operation == Operation::Flush;
        let (offset, length) = if is_flush { (0, 0) } else { (request.offset, request.length) };
        let end = offset.checked_add(u64::from(length))?;
        let job = Job {
            from: PartId::HOST,
            ticket,
            operation: request.operation,
            offset: volume.base + offset,
            length,
            stream,
            class: self.class_of(instance, request),
        };
        (end <= volume.size.get()).then_some((volume.entry, job))
    }

    /// Changes the component that a virtual disk's requests enter first, and the address of its
    /// first byte there. Requests in flight stay where they are. Does nothing for an unknown disk.
    pub fn set_place(&mut self, (instance, disk): (usize, usize), entry: PartId, base: u64) {
        let own = self.volumes.get_mut(instance).and_then(|own| own.get_mut(disk));
        if let Some((volume, _)) = own {
            (volume.entry, volume.base) = (entry, base);
        }
    }

    /// Returns the stream of a virtual disk; `None` for an unknown disk.
    pub fn stream_of(&self, (instance, disk): (usize, usize)) -> Option<StreamId> {
        self.volumes.get(instance)?.get(disk).map(|(_, stream)| *stream)
    }

    /// Calls a part without a job, and delivers the jobs and alarms that it makes. Does nothing if
    /// the part has another type.
    pub fn call<C: Component, A: From<Alarm>>(
        &mut self,
        now: Nanos,
        part: PartId,
        fx: &mut ModelEffects<A>,
        call: impl FnOnce(&mut C, &mut Outbox),
    ) {
        self.out.this = part;
        let own: &mut dyn Any = &mut *self.parts[part.0 as usize];
        if let Some(own) = own.downcast_mut() {
            call(own, &mut self.out);
        }
        self.settle(now, fx);
    }

    /// Delivers an alarm that is due.
    pub fn wake<A: From<Alarm>>(&mut self, now: Nanos, alarm: Alarm, fx: &mut ModelEffects<A>) {
        self.out.this = alarm.part;
        self.parts[alarm.part.0 as usize].wake(now, alarm.tag, &mut self.out);
        self.settle(now, fx);
    }

    /// Delivers messages in order of arrival, until none is left.
    fn settle<A: From<Alarm>>(&mut self, now: Nanos, fx: &mut ModelEffects<A>) {
        // Iterating by index is cheaper than removing messages one by one. New messages are
        // appended.
        let mut next = 0;
        while let Some(message) = self.out.messages.get(next).copied() {
            next += 1;
            match message {
                Message::Ask { via, to, job } => {
                    let job = self.watches.asked(now, (via, to), job);
                    self.out.this = to;
                    self.parts[to.0 as usize].accept(now, job, &mut self.out);
                }
                Message::Answer { to, ticket, result } => {
                    let (to, ticket) = self.watches.answered(now, to, ticket);
                    if to == PartId::HOST {
                        fx.done.push((now, ticket, result));
                        continue;
                    }
                    self.out.this = to;
                    self.parts[to.0 as usize].finished(now, ticket, result, &mut self.out);
                }
            }
        }
        self.out.messages.clear();
        if !self.out.alarms.is_empty() {
            let alarms = self.out.alarms.drain(..);
            fx.alarms.extend(alarms.map(|(at, alarm)| (at, alarm.into())));
        }
    }

    /// Returns the counters of a part, from the start to `now`.
    pub fn usage(&self, part: PartId, now: Nanos) -> Usage {
        self.parts[part.0 as usize].usage(now)
    }

    /// Returns a part as its own type, to change it between events; for example, a tier is filled
    /// before time begins. `None` if the part has another type.
    pub fn part_mut<C: Component>(&mut self, part: PartId) -> Option<&mut C> {
        let part: &mut dyn Any = &mut *self.parts[part.0 as usize];
        part.downcast_mut()
    }

    /// Returns a part as its own type, for counters that only this type has; `None` if the part has
    /// another type.
    pub fn part<C: Component>(&self, part: PartId) -> Option<&C> {
        let part: &dyn Any = &*self.parts[part.0 as usize];
        part.downcast_ref()
    }
}
