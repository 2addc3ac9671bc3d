use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bench::BenchError;
use bench::progress::{Control, Request};
use cluster::{ClusterError, Hub, Invitation, Name, RemoteError};
use run_store::run::ToolFacts;
use watch::{HostStore, HostTrouble};

use crate::controller::other_version;
use crate::hub::OpenHub;
use crate::launch::{By, Launch, Remote};
use crate::link::SOON;
use crate::options::Options;
use crate::under_way::held;
use crate::wire::{Hello, topic};

/// Validity of certificates, because a page is served for months. Their private key never leaves
/// this process.
const VALID_FOR: Duration = Duration::from_secs(400 * 24 * 3600);
/// Maximum wait for an answer. A year of a busy host is read in some seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// Time for which a host is not asked again after it did not answer in time, so that a page only
/// waits once.
const SLOW_FOR: Duration = Duration::from_secs(30);
/// Time until an agent that exited is restarted. It doubles with each attempt, up to the next
/// constant.
const AGAIN_FIRST: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(60);
/// Interval between checks for a host.
const LOOK: Duration = Duration::from_millis(50);
/// Maximum time for an agent that was started from here to exit.
const CHILD_WAIT: Duration = Duration::from_secs(5);

/// Hosts whose watch stores are read. A separate thread keeps each host reachable while this object
/// exists. A lost host is reported as lost, and used again when it is back.
pub struct WatchingHosts {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    hub: Hub,
    tool: ToolFacts,
    remote: Remote,
    lease: Duration,
    join_within: Duration,
    stop: AtomicBool,
    /// States of the hosts. Each change is signalled.
    states: Mutex<Vec<State>>,
    changed: Condvar,
}

/// State of a host.
#[derive(Debug, Clone)]
enum State {
    /// The agent was started and has not yet joined.
    Joining,
    /// The agent responds.
    Present,
    /// The agent did not respond in time, and is asked again after this time.
    Slow(Instant),
    /// The agent is absent or unusable.
    Lost(HostTrouble),
}

impl WatchingHosts {
    /// Starts to reach the hosts. `tell` receives the invitations for agents that are started
    /// elsewhere.
    ///
    /// # Errors
    ///
    /// A host is named twice, or it is impossible to listen at the address. An absent host is not
    /// an error.
    pub fn open(
        cluster: &str,
        options: &Options,
        tool: &ToolFacts,
        tell: &mut dyn FnMut(&Invitation) -> Result<(), BenchError>,
    ) -> Result<Self, BenchError> {
        // Events that hosts send unasked are not read here. The receiver is dropped, so that they
        // take no memory.
        let OpenHub { hub, events, members } = crate::hub::open(cluster, options, VALID_FOR)?;
        drop(events);
        let shared = Arc::new(Shared {
            hub,
            tool: tool.clone(),
            remote: options.remote(),
            lease: options.lease,
            join_within: options.join_within,
            stop: AtomicBool::new(false),
            states: Mutex::new(vec![State::Joining; members.len()]),
            changed: Condvar::new(),
        });
        let mut own = Self { shared, threads: Vec::new() };
        for (at, launch) in options.hosts.iter().enumerate() {
            if launch.by == By::Nobody {
                let invitation = own.shared.hub.invitation(&launch.name);
                tell(&invitation.map_err(|error| BenchError::Hosts(error.to_string()))?)?;
            }
            let reach = Reach { shared: Arc::clone(&own.shared), at, launch: launch.clone() };
            let spawned = std::thread::Builder::new()
                .name("host".to_owned())
                .spawn(move || reach.run())
                .map_err(|error| BenchError::Hosts(format!("starting a thread: {error}")))?;
            own.threads.push(spawned);
        }
        Ok(own)
    }

    /// Waits until each host has joined or failed, at most for the time that hosts have to join.
    ///
    /// # Errors
    ///
    /// If `control` ends it.
    pub fn wait(&self, control: &Control) -> Result<(), BenchError> {
        let until = Instant::now() + self.shared.join_within;
        let mut states = held(&self.shared.states);
        while states.iter().any(|state| matches!(state, State::Joining)) && Instant::now() < until {
            if control.request() != Request::GoOn {
                return Err(BenchError::Interrupted);
            }
            let waited = self.shared.changed.wait_timeout(states, LOOK);
            states = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// Returns clients for the stores of the hosts, in the order in which the hosts were given.
    pub fn stores(&self, hosts: &[Launch]) -> Vec<Box<dyn HostStore>> {
        let store = |(at, host): (usize, &Launch)| -> Box<dyn HostStore> {
            let name = host.name.clone();
            Box::new(RemoteStore { shared: Arc::clone(&self.shared), at, name })
        };
        hosts.iter().enumerate().map(store).collect()
    }
}

impl Drop for WatchingHosts {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for WatchingHosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchingHosts").field("states", &self.shared.states).finish_non_exhaustive()
    }
}

impl Shared {
    fn set(&self, at: usize, state: State) {
        held(&self.states)[at] = state;
        self.changed.notify_all();
    }

    fn is_present(&self, name: &Name) -> bool {
        self.hub.present().contains(name)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Waits for a condition. Returns false if it was not met within this time, or after a stop.
    fn wait_for(&self, within: Duration, mut is_so: impl FnMut() -> bool) -> bool {
        let until = Instant::now() + within;
        loop {
            if is_so() {
                return true;
            }
            if self.is_stopped() || Instant::now() >= until {
                return false;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn gone(&self) -> HostTrouble {
        let lease = self.lease.as_secs_f64();
        trouble(format!("gone: its agent ended, or nothing came from it for {lease} s"), None)
    }
}

fn trouble(text: impl Into<String>, hint: Option<&str>) -> HostTrouble {
    HostTrouble { text: text.into(), hint: hint.map(str::to_owned) }
}

/// Thread that keeps one host reachable.
struct Reach {
    shared: Arc<Shared>,
    at: usize,
    launch: Launch,
}

impl Reach {
    fn run(self) {
        let mut again = AGAIN_FIRST;
        while !self.shared.is_stopped() {
            let begun = Instant::now();
            let lost = self.reach_once();
            if self.shared.is_stopped() {
                return;
            }
            self.shared.set(self.at, State::Lost(lost));
            // One that was there for a while is back sooner than one that never was.
            again = if begun.elapsed() > AGAIN_MAX { AGAIN_FIRST } else { again };
            let is_back = || self.launch.by == By::Nobody && self.is_present();
            self.shared.wait_for(again, is_back);
            again = (again * 2).min(AGAIN_MAX);
        }
    }

    fn is_present(&self) -> bool {
        self.shared.is_present(&self.launch.name)
    }

    /// Starts the agent and waits until it is lost. Returns the reason.
    fn reach_once(&self) -> HostTrouble {
        let mut child = match self.start() {
            Ok(child) => child,
            Err(lost) => return lost,
        };
        let lost = self.joined(&mut child).and_then(|()| self.met()).err().unwrap_or_else(|| {
            self.shared.set(self.at, State::Present);
            while self.is_present() && !self.shared.is_stopped() {
                std::thread::sleep(LOOK);
            }
            self.shared.gone()
        });
        self.leave(child);
        lost
    }

    fn start(&self) -> Result<Option<Child>, HostTrouble> {
        let invitation = self.shared.hub.invitation(&self.launch.name);
        let invitation = invitation.map_err(|error| trouble(error.to_string(), None))?;
        let started = self.launch.start(&invitation, &self.shared.remote);
        started.map_err(|error| trouble(error.to_string(), None))
    }

    fn joined(&self, child: &mut Option<Child>) -> Result<(), HostTrouble> {
        let within = match self.launch.by {
            By::Nobody => Duration::MAX.min(VALID_FOR),
            _ => self.shared.join_within,
        };
        let mut ended = None;
        let mut patience = self.shared.join_within;
        let begun = Instant::now();
        let is_there = self.shared.wait_for(within, || {
            if self.is_present() {
                return true;
            }
            if begun.elapsed() > patience {
                // Somebody else starts it, whenever that is.
                patience = Duration::MAX;
                let text = "its agent has not joined yet";
                self.shared.set(self.at, State::Lost(trouble(text, None)));
            }
            ended = child.as_mut().and_then(|child| child.try_wait().ok().flatten());
            ended.is_some()
        });
        match ended {
            // It may have joined at the last moment, and be lost already.
            Some(status) if !self.is_present() => Err(trouble(
                format!("its agent ended before it joined ({status})"),
                Some("over ssh, `ssh HOST tilemark version` must work without a password"),
            )),
            _ if is_there => Ok(()),
            _ => {
                let seconds = self.shared.join_within.as_secs();
                Err(trouble(
                    format!("did not join within {seconds} s"),
                    Some("the agent must reach this host at the address that it listens on"),
                ))
            }
        }
    }

    /// Exchanges initial messages. A host that works for another controller is also read.
    fn met(&self) -> Result<(), HostTrouble> {
        let bytes = self.shared.hub.ask(&self.launch.name, topic::HELLO, b"null", SOON);
        let bytes = bytes.map_err(|error| trouble(error.to_string(), None))?;
        let hello: Hello = serde_json::from_slice(&bytes)
            .map_err(|error| trouble(format!("answered {}: {error}", topic::HELLO), None))?;
        match other_version(&hello.tool, &self.shared.tool) {
            Some((what, hint)) => Err(trouble(what, Some(hint))),
            None => Ok(()),
        }
    }

    /// Tells the agent to leave if it is present, and ends the process that was started for it.
    fn leave(&self, child: Option<Child>) {
        let Some(mut child) = child else {
            if self.shared.is_stopped() && self.is_present() {
                let _ = self.shared.hub.ask(&self.launch.name, topic::LEAVE, b"null", SOON);
            }
            return;
        };
        if self.is_present() {
            let _ = self.shared.hub.ask(&self.launch.name, topic::LEAVE, b"null", SOON);
        }
        let until = Instant::now() + CHILD_WAIT;
        while child.try_wait().is_ok_and(|ended| ended.is_none()) {
            if Instant::now() > until {
                let _ = child.kill();
                let _ = child.wait();
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// Store on a host, reached through its agent.
struct RemoteStore {
    shared: Arc<Shared>,
    at: usize,
    name: Name,
}

impl HostStore for RemoteStore {
    fn name(&self) -> &str {
        self.name.as_str()
    }

    fn ask(&self, question: &[u8]) -> Result<Vec<u8>, HostTrouble> {
        let slow = || {
            let seconds = ANSWER_WITHIN.as_secs();
            trouble(format!("did not answer within {seconds} s; it is asked again soon"), None)
        };
        let state = held(&self.shared.states)[self.at].clone();
        match state {
            State::Lost(lost) => return Err(lost),
            State::Joining => return Err(trouble("its agent has not joined yet", None)),
            State::Slow(until) if Instant::now() < until => return Err(slow()),
            State::Slow(_) | State::Present => {}
        }
        let answer = self.shared.hub.ask(&self.name, topic::WATCH, question, ANSWER_WITHIN);
        let (state, answer) = match answer {
            Ok(answer) => (State::Present, Ok(answer)),
            Err(ClusterError::Refused { error: RemoteError { text, hint }, .. }) => {
                (State::Present, Err(HostTrouble { text, hint }))
            }
            Err(ClusterError::Silent { .. }) => {
                (State::Slow(Instant::now() + SLOW_FOR), Err(slow()))
            }
            // Its thread tells when it is back.
            Err(ClusterError::Gone { .. }) => return Err(self.shared.gone()),
            Err(error) => return Err(trouble(error.to_string(), None)),
        };
        let mut states = held(&self.shared.states);
        // It may have been lost meanwhile.
        if matches!(states[self.at], State::Present | State::Slow(_)) {
            states[self.at] = state;
        }
        answer
    }
}
