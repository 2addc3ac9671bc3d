//! Limits on the size of a memory tier.

use crate::SetError;

/// Minimum size, in bytes. A smaller size is a mistake, because it is below one request.
const LEAST: u64 = 1 << 20;
/// Maximum size, in bytes: cells are numbered with 32 bits.
const MOST: u64 = 1 << 40;

/// Refuses more memory than the host has, and less than the minimum. Zero is allowed.
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
    // The kernel may grant less than the host has. This allocation asks it, and is freed at once.
    let granted = Vec::<u8>::new().try_reserve_exact(length);
    if bytes > has || granted.is_err() { Err(refused) } else { Ok(()) }
}
