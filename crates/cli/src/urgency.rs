//! How soon a thread of a recording has to run.
//!
//! What records is to stand behind what it watches: on a busy machine each moment of a core that
//! it takes is one that the load does not get. It only has to be in time before its buffers are
//! full, and says how full they are; when that is more than a little it goes before everybody
//! for a while.

use std::time::{Duration, Instant};

/// Nice value while there is time: a tenth of the share of a program with 0 (kernel
/// `kernel/sched/core.c`, `sched_prio_to_weight`), which is run at once where a core is free.
const PATIENT: i32 = 10;
/// Nice value otherwise: before ordinary programs, behind real-time ones.
const PRESSED: i32 = -15;
/// It is pressed when its buffer is this full.
const FULL_PERCENT: u8 = 12;
/// And for so long after that, for a load that filled it once will do so again.
const HOLD: Duration = Duration::from_secs(10);

/// The nice value of the thread that made it, and that alone (`setpriority(2)`, "C library/kernel
/// differences").
#[derive(Debug)]
pub struct Urgency {
    /// Who may not come back from waiting does not begin to.
    is_allowed: bool,
    pressed_until: Option<Instant>,
}

impl Urgency {
    /// Of this thread, which has time at first.
    pub fn of_this_thread() -> Self {
        Self { is_allowed: set(PRESSED) && set(PATIENT), pressed_until: None }
    }

    /// Takes how full its buffer is, in per cent.
    pub fn filled(&mut self, percent: u8) {
        if !self.is_allowed {
            return;
        }
        let now = Instant::now();
        if percent >= FULL_PERCENT {
            if self.pressed_until.replace(now + HOLD).is_none() {
                set(PRESSED);
            }
        } else if self.pressed_until.is_some_and(|until| now >= until) {
            self.pressed_until = None;
            set(PATIENT);
        }
    }
}

/// Whether it was allowed.
fn set(nice: i32) -> bool {
    rustix::process::setpriority_process(None, nice).is_ok()
}
