use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use spec::meter::Meter as Spec;
use units::Nanos;

use crate::panel::Shown;
use crate::{About, Fault, Log, Meter, MeterError, Phase, kinds, monotonic};

/// Interval at which a waiting thread checks whether it must end.
const LOOK: Duration = Duration::from_millis(50);

/// Meter with the thread that reads it.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    spec: Arc<Spec>,
    name: String,
    shared: Arc<Shared>,
}

/// State shared by the thread and its users.
#[derive(Debug)]
struct Shared {
    log: Mutex<Log>,
    about: Mutex<About>,
    phase: AtomicU8,
    stop: AtomicBool,
    /// Error text of a setting that could not be restored.
    unclosed: Mutex<Option<String>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

const PHASES: [Phase; 3] = [Phase::Idle, Phase::WarmUp, Phase::Measured];

impl Watched {
    /// Opens a meter and begins to read it.
    pub fn open(spec: &Spec, name: String) -> Result<Self, MeterError> {
        let meter =
            kinds::open(spec).map_err(|why| MeterError::Open { meter: spec.to_string(), why })?;
        Self::of(meter, spec, name)
    }

    /// Starts to read an open meter.
    pub fn of(meter: Box<dyn Meter>, spec: &Spec, name: String) -> Result<Self, MeterError> {
        let shared = Arc::new(Shared {
            log: Mutex::default(),
            about: Mutex::new(meter.about()),
            phase: AtomicU8::new(0),
            stop: AtomicBool::new(false),
            unclosed: Mutex::default(),
            thread: Mutex::default(),
        });
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name(format!("meter-{name}"))
            .spawn(move || own.run(meter))
            .map_err(MeterError::Thread)?;
        *held(&shared.thread) = Some(thread);
        Ok(Self { spec: Arc::new(spec.clone()), name, shared })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    pub fn asked(&self) -> String {
        self.spec.to_string()
    }

    pub fn about(&self) -> About {
        held(&self.shared.about).clone()
    }

    pub fn log(&self) -> MutexGuard<'_, Log> {
        held(&self.shared.log)
    }

    pub fn shown(&self) -> Shown {
        let log = self.log();
        Shown { last: log.last(), taken: log.taken(), fault: log.last_fault().cloned() }
    }

    /// Returns true if the thread has ended, so that no more samples will come.
    pub fn is_over(&self) -> bool {
        held(&self.shared.thread).as_ref().is_none_or(JoinHandle::is_finished)
    }

    pub fn set_phase(&self, phase: Phase) {
        let at = PHASES.iter().position(|own| *own == phase).unwrap_or(0);
        self.shared.phase.store(u8::try_from(at).unwrap_or(0), Ordering::Relaxed);
    }

    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Waits for the thread to end. Returns a text if a setting was not restored, or if the thread
    /// hangs; a hanging thread is left running.
    pub fn end(&self, until: Instant) -> Option<String> {
        while !self.is_over() {
            if Instant::now() >= until {
                return Some(format!("the meter {} hangs and is no longer read", self.name));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let thread = held(&self.shared.thread).take();
        thread.and_then(|thread| thread.join().err()).map_or_else(
            || held(&self.shared.unclosed).take(),
            |_| Some(format!("the thread of the meter {} ended with an error", self.name)),
        )
    }
}

impl Shared {
    fn run(&self, mut meter: Box<dyn Meter>) {
        let (mut phase, mut due) = (Phase::Idle, monotonic());
        while !self.stop.load(Ordering::Relaxed) {
            let wanted = PHASES[usize::from(self.phase.load(Ordering::Relaxed)) % PHASES.len()];
            if wanted != phase {
                phase = wanted;
                let told = meter.phase(phase);
                self.note(told.err());
            }
            if !meter.comes() && self.wait(due) {
                continue;
            }
            due = next(due, meter.about().period);
            let is_over = self.take(meter.read());
            *held(&self.about) = meter.about();
            if is_over {
                break;
            }
        }
        let unclosed = meter.close().err().map(|fault| fault.to_string());
        *held(&self.unclosed) = unclosed;
    }

    /// Sleeps for a short time; returns true if the sample is not due afterwards.
    fn wait(&self, due: Nanos) -> bool {
        let left = due.saturating_sub(monotonic()).to_duration();
        std::thread::sleep(left.min(LOOK));
        left > LOOK
    }

    fn take(&self, read: Result<Vec<crate::Sample>, Fault>) -> bool {
        let now = monotonic();
        let mut log = held(&self.log);
        match read {
            Ok(samples) => {
                samples.into_iter().for_each(|sample| log.take(sample, now));
                false
            }
            Err(fault) => {
                let is_over = matches!(fault, Fault::Ended(_));
                log.fault(fault, now);
                is_over
            }
        }
    }

    fn note(&self, fault: Option<Fault>) {
        if let Some(fault) = fault {
            held(&self.log).fault(fault, monotonic());
        }
    }
}

/// Returns the next due time after now; missed times are skipped.
fn next(due: Nanos, period: Nanos) -> Nanos {
    let (now, period) = (monotonic(), period.0.max(1));
    let missed = now.saturating_sub(due).0 / period;
    Nanos(due.0.saturating_add(period.saturating_mul(missed + 1)))
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
