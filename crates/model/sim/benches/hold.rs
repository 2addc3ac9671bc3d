//! Measures how fast the virtual-time driver handles events, on one core; prints `figure` lines.

use std::sync::OnceLock;

use run_store::recorder::InstanceShape;
use run_store::slice::InstanceId;
use state_machine::{Effects, Event, Machine, Purpose, Stream, Token};
use tilemark_sim::{Instant, Options, SimInstance};
use units::Nanos;

/// Number of pending events at any time.
const PENDING: u32 = 1000;
/// Mean time between two events of one timer.
const MEAN: Nanos = Nanos::from_millis(1);
/// Virtual time of a round: 4 million events.
const SPAN: Nanos = Nanos::from_secs(4);
/// Number of timed rounds; the median is used.
const ROUNDS: usize = 5;
/// Number of spans drawn before the measurement; a power of two.
const DRAWN: usize = 1 << 16;

/// Measures the bare loop in the "hold" model: every event that is due sets the next one, after a
/// time drawn beforehand. So neither the state machine nor the random numbers are measured.
#[expect(clippy::print_stdout, reason = "figures are this program's result")]
fn main() {
    let mut stream = Stream::derive(1, &[], Purpose::Arrivals);
    let spans: Vec<Nanos> = (0..DRAWN).map(|_| stream.exponential(MEAN)).collect();
    let mut rates: Vec<f64> = (0..ROUNDS).map(|_| round(&spans)).collect();
    rates.sort_by(f64::total_cmp);
    println!("figure sim.loop.events_per_s {:.0} 1/s", rates[ROUNDS / 2]);
}

/// Runs a round and returns the events per second of this thread's CPU time.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn round(spans: &[Nanos]) -> f64 {
    let shape = InstanceShape {
        instance: InstanceId(0),
        disk_vms: Vec::new(),
        kinds: 0,
        actions: 0,
        groups: 0,
    };
    let mut instances = [SimInstance { machine: Hold { spans, next: 0 }, shape }];
    let options = Options { until: SPAN, slice: SPAN, ..Options::default() };
    let start = cpu_seconds();
    let outcome = tilemark_sim::run(&mut instances, &mut Instant, &options, &mut |_| {});
    let events = outcome.expect("timers let time pass").events;
    events as f64 / (cpu_seconds() - start)
}

/// Returns the CPU time of this thread so far: the first number of its `schedstat`, in nanoseconds.
/// If the kernel does not have it, returns the time since an arbitrary start.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn cpu_seconds() -> f64 {
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    let account = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match account.split(' ').next().map(str::parse::<f64>) {
        Some(Ok(nanoseconds)) if nanoseconds > 0.0 => nanoseconds / 1e9,
        _ => START.get_or_init(std::time::Instant::now).elapsed().as_secs_f64(),
    }
}

/// Keeps [`PENDING`] timers running.
struct Hold<'a> {
    spans: &'a [Nanos],
    next: usize,
}

impl Hold<'_> {
    fn span(&mut self) -> Nanos {
        self.next = (self.next + 1) % DRAWN;
        self.spans[self.next]
    }
}

impl Machine for Hold<'_> {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        match event {
            Event::Start => (0..PENDING).for_each(|timer| {
                let span = self.span();
                fx.wake_at(now + span, Token(timer));
            }),
            Event::Timer(token) => {
                let span = self.span();
                fx.wake_at(now + span, token);
            }
            Event::Done(..) | Event::Ran(..) => {}
        }
    }
}
