//! Time limit of `--within`.

use std::sync::Arc;

use bench::progress::Control;
use units::Nanos;

use crate::exit::Exit;
use crate::failure::Failure;

/// Stops `control` after the given time, from a separate thread.
pub fn after(time: Option<Nanos>, control: &Arc<Control>) -> Result<(), Failure> {
    let Some(time) = time else { return Ok(()) };
    let control = Arc::clone(control);
    let wait = move || {
        std::thread::sleep(std::time::Duration::from_nanos(time.0));
        control.end_for_time();
    };
    let begun = std::thread::Builder::new().name("deadline".to_owned()).spawn(wait);
    let failed =
        |error| Failure::new(Exit::Failure, format!("starting the timer of the deadline: {error}"));
    begun.map(drop).map_err(failed)
}
