//! Virtual machines as a service of this process. A client requests a phase of an operation, and
//! gets a line when the phase has ended. The first phase starts the operation, which then runs by
//! itself: a late request for a phase delays nothing.
//!
//! A request is `OPERATION-PHASE`, and an answer is `done` or `failed`, one line each. The service
//! can only be reached through socket pairs that are created here. If a client disconnects during
//! an operation, the operation stops.

use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::net::{RecvFlags, recv};

use crate::{Failure, Operation, Phase, Report, VmOperations, Watch};

/// Interval at which a waiting thread checks its client.
const LOOK: Duration = Duration::from_millis(50);
/// Maximum length of a request, in bytes: the names of an operation and a phase.
const LINE_MAX: usize = 100;

/// Virtual machines, and a thread that carries out requests. Dropping it ends both.
pub struct Service {
    shared: Arc<Shared>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Implementation of operations; `None` after the service has ended.
    machines: Mutex<Option<Box<dyn VmOperations>>>,
}

#[derive(Default)]
struct State {
    wanted: Option<Operation>,
    current: Option<Current>,
    told: Vec<Result<Report, Failure>>,
    is_stopped: bool,
    is_closing: bool,
}

struct Current {
    operation: Operation,
    ended: usize,
    is_over: bool,
    has_failed: bool,
}

/// Requested phase, parsed from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// Operation of the phase.
    pub operation: Operation,
    /// Position of the phase in the operation.
    pub phase: usize,
}

impl Asked {
    /// Parses a name such as `live-migration-copying`. A snapshot is kept for `keep`, a boot storm
    /// has `machines` VMs.
    pub fn parse(name: &str, keep: Duration, machines: u32) -> Option<Self> {
        let all = Operation::all(keep, machines);
        all.into_iter().find_map(|operation| {
            let rest = name.strip_prefix(operation.name())?.strip_prefix('-')?;
            let phase = operation.phases().iter().position(|own| own.name() == rest)?;
            Some(Self { operation, phase })
        })
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}

impl Service {
    /// Creates the service and starts its thread.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn over(machines: Box<dyn VmOperations>) -> io::Result<Self> {
        let state = Mutex::new(State::default());
        let shared =
            Shared { state, changed: Condvar::new(), machines: Mutex::new(Some(machines)) };
        let shared = Arc::new(shared);
        let theirs = Arc::clone(&shared);
        let work = move || theirs.work();
        let worker = std::thread::Builder::new().name("vm-operations".to_owned()).spawn(work)?;
        Ok(Self { shared, worker: Mutex::new(Some(worker)) })
    }

    /// Waits for operations in progress, and prepares the given operations so that they can begin
    /// at once.
    ///
    /// # Errors
    /// The preparation of an operation failed.
    pub fn prepare(&self, operations: &[Operation]) -> Result<(), Failure> {
        let mut machines = self.shared.machines();
        self.shared.state().is_stopped = false;
        let Some(machines) = &mut *machines else { return Ok(()) };
        operations.iter().try_for_each(|operation| machines.prepare(*operation))
    }

    /// Returns a description of the implementation.
    pub fn about(&self) -> String {
        self.shared.machines().as_ref().map(|machines| machines.about()).unwrap_or_default()
    }

    /// Creates a connection for a client. `keep` and `machines` are parameters of its operations.
    ///
    /// # Errors
    /// The connection cannot be created.
    pub fn connect(&self, keep: Duration, machines: u32) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        let shared = Arc::clone(&self.shared);
        let answer = move || shared.answer(&ours, keep, machines);
        std::thread::Builder::new().name("vm-asker".to_owned()).spawn(answer)?;
        Ok(theirs)
    }

    /// Takes the results of all operations since the last call.
    pub fn take_told(&self) -> Vec<Result<Report, Failure>> {
        std::mem::take(&mut self.shared.state().told)
    }
}

impl Service {
    /// Stops operations in progress and ends the virtual machines, even if connections are open.
    pub fn end(&self) {
        let mut state = self.shared.state();
        (state.is_closing, state.is_stopped) = (true, true);
        drop(state);
        self.shared.changed.notify_all();
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(worker) = worker {
            let _ = worker.join();
        }
        self.shared.machines().take();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn machines(&self) -> MutexGuard<'_, Option<Box<dyn VmOperations>>> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        loop {
            let mut state = self.state();
            let operation = loop {
                if state.is_closing {
                    return;
                }
                match state.wanted.take() {
                    Some(operation) => break operation,
                    None => {
                        state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
                    }
                }
            };
            drop(state);
            let mut machines = self.machines();
            let Some(own) = &mut *machines else { return };
            let told = own.perform(operation, &mut Looked(self));
            drop(machines);
            let mut state = self.state();
            if let Some(current) = &mut state.current {
                (current.is_over, current.has_failed) = (true, told.is_err());
            }
            state.told.push(told);
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Serves a client until it disconnects.
    fn answer(&self, stream: &UnixStream, keep: Duration, machines: u32) {
        let mut lines = BufReader::new(stream);
        loop {
            let mut line = String::new();
            let mut limited = io::Read::take(&mut lines, LINE_MAX as u64);
            if !matches!(limited.read_line(&mut line), Ok(count) if count > 0) {
                return;
            }
            let asked = Asked::parse(line.trim_end(), keep, machines);
            let is_done = asked.is_some_and(|asked| self.carry_out(asked, stream));
            let words: &[u8] = if is_done { b"done\n" } else { b"failed\n" };
            if (&mut &*stream).write_all(words).is_err() {
                return;
            }
        }
    }

    /// Starts an operation, or joins the operation in progress, and waits for the phase. Returns
    /// true if the phase succeeded.
    fn carry_out(&self, asked: Asked, stream: &UnixStream) -> bool {
        let Asked { operation, phase } = asked;
        let mut state = self.state();
        if phase == 0 {
            // A failed operation may still be recovering its virtual machine.
            while state.current.as_ref().is_some_and(|current| !current.is_over) {
                match self.wait(state, stream) {
                    Some(next) => state = next,
                    None => return false,
                }
            }
            if state.is_closing {
                return false;
            }
            state.is_stopped = false;
            let current = Current { operation, ended: 0, is_over: false, has_failed: false };
            (state.wanted, state.current) = (Some(operation), Some(current));
            self.changed.notify_all();
        }
        loop {
            match &state.current {
                Some(current) if current.operation == operation => {
                    if current.ended > phase {
                        return true;
                    }
                    if current.is_over || current.has_failed {
                        return false;
                    }
                }
                _ => return false,
            }
            match self.wait(state, stream) {
                Some(next) => state = next,
                None => return false,
            }
        }
    }

    /// Waits briefly; `None` if the client has disconnected, which stops the operation.
    fn wait<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        stream: &UnixStream,
    ) -> Option<MutexGuard<'a, State>> {
        let waited = self.changed.wait_timeout(state, LOOK);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let has_hung_up = matches!(recv(stream, &mut [0; 1][..], flags), Ok((0, _)));
        if has_hung_up {
            state.is_stopped = true;
            return None;
        }
        Some(state)
    }
}

/// Observer that updates the state of the service.
struct Looked<'a>(&'a Shared);

impl Watch for Looked<'_> {
    fn ended(&mut self, _: Phase) {
        if let Some(current) = &mut self.0.state().current {
            current.ended += 1;
        }
        self.0.changed.notify_all();
    }

    fn is_stopped(&self) -> bool {
        self.0.state().is_stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{Clock, Done};
    use crate::{After, VmError};

    const KEEP: Duration = Duration::from_secs(1);

    /// Implementation that ends every phase at once. Storage migrations fail in their second phase,
    /// and live migrations wait to be stopped.
    struct Scripted;

    impl VmOperations for Scripted {
        fn about(&self) -> String {
            "a script".to_owned()
        }

        fn prepare(&mut self, _: Operation) -> Result<(), Failure> {
            Ok(())
        }

        fn perform(
            &mut self,
            operation: Operation,
            watch: &mut dyn Watch,
        ) -> Result<Report, Failure> {
            let mut clock = Clock::begin(operation, watch);
            let fail = |phase| {
                let reason = Box::new(VmError::Stopped);
                Err(Failure { operation, phase: Some(phase), reason, after: After::Whole })
            };
            for phase in operation.phases() {
                match (operation, phase) {
                    (Operation::StorageMigration, Phase::SwitchOver) => return fail(*phase),
                    (Operation::LiveMigration, Phase::SwitchOver) => {
                        while clock.go_on().is_ok() {
                            std::thread::sleep(Duration::from_millis(1));
                        }
                        return fail(*phase);
                    }
                    _ => clock.end(*phase),
                }
            }
            Ok(clock.report(Done::default()))
        }
    }

    fn ask(stream: &mut BufReader<UnixStream>, name: &str) -> String {
        stream.get_mut().write_all(format!("{name}\n").as_bytes()).expect("asked");
        let mut line = String::new();
        stream.read_line(&mut line).expect("answered");
        line.trim_end().to_owned()
    }

    #[test]
    fn names_of_phases_are_read_and_no_others() {
        let phase = |name| Asked::parse(name, KEEP, 3).map(|own| (own.operation.name(), own.phase));
        assert_eq!(phase("live-migration-switch-over"), Some(("live-migration", 1)));
        assert_eq!(phase("deploy-boot"), Some(("deploy", 1)));
        assert_eq!(phase("linked-deploy-check"), Some(("linked-deploy", 2)));
        assert_eq!(phase("destroy-destroy"), Some(("destroy", 0)));
        for name in ["", "deploy", "deploy-", "deploy-switch-over", "rm-copying", "deploy-boot "] {
            assert_eq!(phase(name), None, "{name}");
        }
    }

    #[test]
    fn phases_are_answered_in_order_and_failures_stay_failed() {
        let service = Service::over(Box::new(Scripted)).expect("a thread");
        let mut asker = BufReader::new(service.connect(KEEP, 1).expect("a pair"));
        let mut said = |name| ask(&mut asker, name);
        for _ in 0..2 {
            for phase in ["unified-migration-copying", "unified-migration-switch-over"] {
                assert_eq!(said(phase), "done");
            }
            assert_eq!(said("unified-migration-check"), "done");
        }
        assert_eq!(said("deploy-boot"), "failed", "it was not begun");
        assert_eq!(said("storage-migration-copying"), "done");
        assert_eq!(said("storage-migration-switch-over"), "failed");
        assert_eq!(said("storage-migration-check"), "failed");
        assert_eq!(said("nonsense"), "failed");
        assert_eq!(said("destroy-destroy"), "done");
        // A phase is answered when it ends, and the operation is told a moment later.
        let (begin, mut good) = (std::time::Instant::now(), Vec::new());
        while good.len() < 4 && begin.elapsed() < Duration::from_secs(30) {
            good.extend(service.take_told().iter().map(Result::is_ok));
            std::thread::yield_now();
        }
        assert_eq!(good, [true, true, false, true]);
    }

    #[test]
    fn hangup_of_a_client_stops_the_operation_for_the_next_client() {
        let service = Service::over(Box::new(Scripted)).expect("a thread");
        let mut asker = BufReader::new(service.connect(KEEP, 1).expect("a pair"));
        assert_eq!(ask(&mut asker, "live-migration-copying"), "done");
        asker.get_mut().write_all(b"live-migration-switch-over\n").expect("asked");
        drop(asker);
        let mut next = BufReader::new(service.connect(KEEP, 1).expect("a pair"));
        assert_eq!(ask(&mut next, "unified-migration-copying"), "done");
        service.prepare(&[]).expect("nothing to prepare");
        let first = service.take_told().remove(0).expect_err("stopped");
        assert_eq!(first.phase, Some(Phase::SwitchOver));
    }
}
