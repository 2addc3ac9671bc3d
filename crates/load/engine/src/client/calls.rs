use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use state_machine::{Call, CallError, RequestText};
use units::Nanos;

use super::connection::{Connection, Look, NoConnection};
use super::slab::{Key, Slab};
use super::{Address, Ask, Service};
use crate::{Options, Warning};

/// Maximum number of connections handled between two turns of the ring.
const EVENTS_MAX: usize = 32;
/// Maximum size of one read, in bytes.
const READ_MAX: usize = 64 << 10;
/// Maximum number of characters kept of a refusal.
const REFUSAL_MAX: usize = 200;
/// Interval between checks of deadlines. A timeout may be detected this much too late.
const DEADLINE_LOOK: Nanos = Nanos::from_millis(20);

/// Calls of one worker, and their connections. All work is done on the worker's own thread, in
/// [`Self::work`]. The file [`Self::set`] becomes readable when there is work.
#[derive(Debug)]
pub(crate) struct Calls {
    set: Arc<OwnedFd>,
    of_instances: Vec<Caller>,
    pools: Vec<Pool>,
    connections: Slab<Connection>,
    open: Slab<Open>,
    done: Vec<Called>,
    timeout: Nanos,
    connections_max: usize,
    next_look: Nanos,
    buffer: Box<[u8]>,
    /// Warnings about the first refusal and about the first invalid answer.
    warnings: Vec<Warning>,
}

/// Instance that makes calls.
#[derive(Debug)]
struct Caller {
    /// Positions of its services in the worker's list.
    services: Vec<usize>,
    /// Request texts of its calls, by kind.
    asks: Vec<Option<RequestText>>,
}

/// Service and the connections to it.
#[derive(Debug)]
struct Pool {
    service: Arc<Service>,
    connections: usize,
    /// Idle connections; the last used one is last.
    resting: Vec<Key>,
    /// Calls that wait for a connection.
    waiting: VecDeque<Key>,
}

/// Call without an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    pub(crate) instance: u32,
    pub(crate) call: Call,
    /// Time at which the client got the call.
    pub(crate) made: Nanos,
    connection: Option<Key>,
    /// Deadline.
    until: Nanos,
}

/// Call with its result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Called {
    pub(crate) open: Open,
    /// Size of the answer in bytes, or the failure.
    pub(crate) result: Result<u64, CallError>,
    /// Time at which the result was known.
    pub(crate) at: Nanos,
}

impl Calls {
    /// Creates the clients of instances with these services; `None` if no instance has a service.
    pub(crate) fn of<'a>(
        instances: impl Iterator<Item = (&'a [Arc<Service>], &'a [Option<RequestText>])>,
        options: &Options,
    ) -> io::Result<Option<Self>> {
        let mut pools: Vec<Pool> = Vec::new();
        let mut position = |service: &Arc<Service>| {
            let known = pools.iter().position(|pool| Arc::ptr_eq(&pool.service, service));
            known.unwrap_or_else(|| {
                pools.push(Pool::new(Arc::clone(service)));
                pools.len() - 1
            })
        };
        let caller = |(services, asks): (&[Arc<Service>], &[Option<RequestText>])| Caller {
            services: services.iter().map(&mut position).collect(),
            asks: asks.to_vec(),
        };
        let of_instances: Vec<Caller> = instances.map(caller).collect();
        if pools.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            set: Arc::new(epoll::create(CreateFlags::CLOEXEC)?),
            of_instances,
            pools,
            connections: Slab::default(),
            open: Slab::default(),
            done: Vec::new(),
            timeout: options.call_timeout,
            connections_max: options.connections,
            next_look: Nanos::ZERO,
            buffer: vec![0; READ_MAX].into(),
            warnings: Vec::new(),
        }))
    }

    /// Returns the file that becomes readable when [`Self::work`] has something to do. It does not
    /// report deadlines.
    pub(crate) fn set(&self) -> &Arc<OwnedFd> {
        &self.set
    }

    /// Returns true if results are waiting that [`Self::set`] does not report.
    pub(crate) fn has_answers(&self) -> bool {
        !self.done.is_empty()
    }

    /// Takes the warnings about the first refusal and about the first invalid answer.
    pub(crate) fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    /// Returns the calls without an answer.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Open> {
        self.open.iter().map(|(_, open)| open)
    }

    pub(crate) fn open_count(&self) -> usize {
        self.open.len() + self.done.len()
    }

    /// Makes a call. Returns false if the call waits for a connection.
    ///
    /// # Errors
    /// If the call cannot be made because of this host, not because of the service.
    pub(crate) fn make(&mut self, instance: u32, call: Call, now: Nanos) -> io::Result<bool> {
        let services = &self.of_instances[instance as usize].services;
        let service = services.get(usize::from(call.endpoint.0)).copied();
        let within = service.and_then(|at| self.pools[at].service.within);
        let until = now + within.unwrap_or(self.timeout);
        let open = Open { instance, call, made: now, connection: None, until };
        let Some(service) = service else {
            self.done.push(Called { open, result: Err(CallError::Refused), at: now });
            return Ok(true);
        };
        let key = self.open.insert(open);
        self.place(service, key, now)
    }

    /// Advances all calls as far as possible without blocking, and hands over the answered ones.
    ///
    /// # Errors
    /// As [`Self::make`].
    pub(crate) fn work(
        &mut self,
        clock: &mut dyn FnMut() -> Nanos,
        answered: &mut Vec<Called>,
    ) -> io::Result<()> {
        let mut events = [const { MaybeUninit::uninit() }; EVENTS_MAX];
        let (events, _) = epoll::wait(&self.set, &mut events, Some(&Timespec::default()))?;
        for event in events {
            self.look(Key::of(event.data.u64()), clock)?;
        }
        let now = clock();
        if now >= self.next_look {
            self.next_look = now + DEADLINE_LOOK;
            self.time_out(now)?;
        }
        answered.append(&mut self.done);
        Ok(())
    }

    fn look(&mut self, key: Key, clock: &mut dyn FnMut() -> Nanos) -> io::Result<()> {
        // An earlier event may have closed the connection.
        let Some(connection) = self.connections.get_mut(key) else { return Ok(()) };
        let look = connection.look(&mut self.buffer)?;
        self.after(key, look, clock())
    }

    /// Acts on the state in which a connection was found.
    fn after(&mut self, key: Key, look: Look, now: Nanos) -> io::Result<()> {
        match look {
            Look::Waits => self.listen(key),
            Look::Ended => {
                let closed = self.close(key);
                if let Some(Connection { service, .. }) = closed {
                    self.pools[service].resting.retain(|own| *own != key);
                }
                Ok(())
            }
            Look::WentStale => {
                let closed = self.close(key);
                match closed.and_then(|own| Some((own.service, own.call?))) {
                    Some((service, call)) => self.connect(service, call, now),
                    None => Ok(()),
                }
            }
            Look::Answered(answer) => {
                let Some(connection) = self.connections.get_mut(key) else { return Ok(()) };
                let (service, call) = (connection.service, connection.call);
                if let Some(id) = answer.result.err().and_then(id_of)
                    && self.warnings.iter().all(|own| own.id != id)
                {
                    let address = &self.pools[service].service.address;
                    self.warnings.extend(warning(address, id, connection.refusal()));
                }
                connection.rest();
                if answer.can_go_on {
                    self.listen(key)?;
                    self.pools[service].resting.push(key);
                } else {
                    self.close(key);
                }
                self.end(call, answer.result, now);
                self.place_waiting(service, now)
            }
        }
    }

    fn end(&mut self, call: Option<Key>, result: Result<u64, CallError>, at: Nanos) {
        if let Some(open) = call.and_then(|call| self.open.remove(call)) {
            self.done.push(Called { open, result, at });
        }
    }

    /// Puts a call on a connection to its service. Returns false if the call waits for a
    /// connection.
    fn place(&mut self, service: usize, call: Key, now: Nanos) -> io::Result<bool> {
        let pool = &mut self.pools[service];
        if let Some(key) = pool.resting.pop() {
            self.begin(key, call, now)?;
        } else if pool.connections < self.connections_max {
            self.connect(service, call, now)?;
        } else {
            pool.waiting.push_back(call);
            return Ok(false);
        }
        Ok(true)
    }

    fn place_waiting(&mut self, service: usize, now: Nanos) -> io::Result<()> {
        loop {
            let pool = &mut self.pools[service];
            if pool.resting.is_empty() && pool.connections >= self.connections_max {
                return Ok(());
            }
            let Some(call) = pool.waiting.pop_front() else { return Ok(()) };
            // The call may have timed out meanwhile.
            if self.open.get_mut(call).is_some() {
                self.place(service, call, now)?;
            }
        }
    }

    /// Opens a connection for a call.
    fn connect(&mut self, service: usize, call: Key, now: Nanos) -> io::Result<()> {
        let own = &*self.pools[service].service;
        let client = own.client().map_err(io::Error::other)?;
        let connection = match Connection::open(&own.peer, service, client) {
            Ok(connection) => connection,
            Err(NoConnection::Here(error)) => return Err(error),
            Err(NoConnection::There(error)) => {
                self.end(Some(call), Err(error), now);
                return Ok(());
            }
        };
        let key = self.connections.insert(connection);
        self.pools[service].connections += 1;
        if let Some(connection) = self.connections.get_mut(key) {
            epoll::add(&self.set, &connection.stream, EventData::new_u64(key.number()), BOTH)?;
        }
        self.begin(key, call, now)
    }

    fn begin(&mut self, key: Key, call: Key, now: Nanos) -> io::Result<()> {
        let (Some(connection), Some(open)) =
            (self.connections.get_mut(key), self.open.get_mut(call))
        else {
            return Ok(());
        };
        open.connection = Some(key);
        let asks = &self.of_instances[open.instance as usize].asks;
        let text = asks.get(usize::from(open.call.kind.0)).and_then(Option::as_ref);
        let Call { draws, size, .. } = open.call;
        let look = connection.begin(call, Ask { text, draws, size });
        self.after(key, look, now)
    }

    /// Tells the kernel which events of the connection wake the worker.
    fn listen(&mut self, key: Key) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(key) else { return Ok(()) };
        let wants = connection.wants_to_write();
        if wants != connection.is_heard_both_ways {
            connection.is_heard_both_ways = wants;
            let flags = if wants { BOTH } else { EventFlags::IN };
            epoll::modify(&self.set, &connection.stream, EventData::new_u64(key.number()), flags)?;
        }
        Ok(())
    }

    /// Closes a connection, which also removes it from the kernel's set.
    fn close(&mut self, key: Key) -> Option<Connection> {
        let connection = self.connections.remove(key)?;
        self.pools[connection.service].connections -= 1;
        Some(connection)
    }

    /// Ends the calls that have passed their deadline.
    fn time_out(&mut self, now: Nanos) -> io::Result<()> {
        let late =
            |(key, open): (Key, &Open)| (now >= open.until).then_some((key, open.connection));
        let late: Vec<(Key, Option<Key>)> = self.open.iter().filter_map(late).collect();
        for (call, connection) in late {
            let closed = connection.and_then(|key| self.close(key));
            self.end(Some(call), Err(CallError::TimedOut), now);
            if let Some(Connection { service, .. }) = closed {
                self.place_waiting(service, now)?;
            }
        }
        Ok(())
    }
}

/// Warning that a service refused a call.
const REFUSED: &str = "call-refused";
/// Warning that a service's answer was not valid, as that of another program on its port.
const INVALID: &str = "call-invalid";

/// Returns the id of the warning about a failed call; `None` for failures that a loaded service may
/// also have.
const fn id_of(error: CallError) -> Option<&'static str> {
    match error {
        CallError::Status => Some(REFUSED),
        CallError::Protocol => Some(INVALID),
        CallError::Refused | CallError::TimedOut | CallError::Closed => None,
    }
}

/// Returns the warning about a failed call; `None` for a refusal without words. A service's message
/// may be long and contain terminal control sequences, so it is shortened and cleaned.
fn warning(address: &Address, id: &'static str, words: Option<String>) -> Option<Warning> {
    let (begin, words) = if id == REFUSED {
        ("a service refused calls, the first with these words", words?)
    } else {
        let protocol = address.protocol();
        let unknown = || format!("it is no valid {protocol}, or more than the call asked for");
        ("a service gave invalid answers, the first", words.unwrap_or_else(unknown))
    };
    let words: String = words.chars().take(REFUSAL_MAX).collect();
    let text = format!("{begin}: {address}: {}", untrusted::shown(&words));
    Some(Warning { id, text })
}

const BOTH: EventFlags = EventFlags::IN.union(EventFlags::OUT);

impl Pool {
    const fn new(service: Arc<Service>) -> Self {
        Self { service, connections: 0, resting: Vec::new(), waiting: VecDeque::new() }
    }
}
