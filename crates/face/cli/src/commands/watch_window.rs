//! Time windows of watch stores.

use units::Nanos;

use crate::args::WindowArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::watch::stamp;

/// Maximum number of slices that `status` reads.
pub const STATUS_SLICES: u64 = 600;

/// Returns begin and end of a window of the stored data, in seconds since 1970; `None` if there is
/// no data.
pub fn window_of(
    bounds: Option<(u64, u64)>,
    args: &WindowArgs,
) -> Result<Option<(u64, u64)>, Failure> {
    let Some((first, end)) = bounds else { return Ok(None) };
    let from = match args.last {
        Some(last) => end.saturating_sub(last.0.div_ceil(Nanos::SECOND.0)),
        None => args.from.unwrap_or(first),
    };
    let to = args.to.unwrap_or(end);
    if from >= to {
        let text = format!("the window is empty: {} to {}", stamp(from), stamp(to));
        return Err(Failure::new(Exit::Usage, text));
    }
    Ok(Some((from, to)))
}
