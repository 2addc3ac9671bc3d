//! Ctrl-C and SIGTERM: the first signal stops cleanly, the second aborts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bench::progress::{Control, Request};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit::Exit;

/// Stores the signal that came.
#[derive(Debug)]
pub struct Watch {
    is_terminated: Arc<AtomicBool>,
    is_hushed: Arc<AtomicBool>,
}

impl Watch {
    /// Stops printing messages about signals, because the view prints them.
    pub fn hush(&self) {
        self.is_hushed.store(true, Ordering::Relaxed);
    }

    /// Returns the exit code of a run that a signal stopped.
    pub fn exit(&self) -> Exit {
        if self.is_terminated.load(Ordering::Relaxed) {
            Exit::Terminated
        } else {
            Exit::Interrupted
        }
    }
}

/// Passes signals to a run, from a separate thread.
pub fn watch(control: Arc<Control>) -> std::io::Result<Watch> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let is_terminated = Arc::new(AtomicBool::new(false));
    let is_hushed = Arc::new(AtomicBool::new(false));
    let (flag, hushed) = (Arc::clone(&is_terminated), Arc::clone(&is_hushed));
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            flag.store(signal == SIGTERM, Ordering::Relaxed);
            control.interrupt();
            if hushed.load(Ordering::Relaxed) {
                continue;
            }
            match control.request() {
                Request::Stop => crate::say!(
                    "stopping: completing open requests, removing our files, keeping the result so \
                     far (press again to abort)"
                ),
                _ => crate::say!("aborting"),
            }
        }
    })?;
    Ok(Watch { is_terminated, is_hushed })
}
