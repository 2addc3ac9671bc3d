//! How much memory a memory tier may be given.

use crate::SetError;

/// Below this it is a mistake: it is smaller than one request.
const LEAST: u64 = 1 << 20;
/// Cells are counted in 32 bits.
const MOST: u64 = 1 << 40;

/// Refuses what this machine does not have, and what is of no use. None at all is fine.
pub(crate) fn check(bytes: u64) -> Result<(), SetError> {
    if bytes == 0 {
        return Ok(());
    }
    if bytes < LEAST {
        return Err(SetError::LittleMemory { bytes, least: LEAST });
    }
    let info = rustix::system::sysinfo();
    #[expect(clippy::useless_conversion, reason = "words of 32 bits elsewhere")]
    let has = u64::from(info.totalram).saturating_mul(info.mem_unit.into()).min(MOST);
    let refused = SetError::MuchMemory { bytes, has };
    let Ok(length) = usize::try_from(bytes) else { return Err(refused) };
    // The kernel may grant less than the machine has; it says so here and gets it back.
    let granted = Vec::<u8>::new().try_reserve_exact(length);
    if bytes > has || granted.is_err() { Err(refused) } else { Ok(()) }
}
