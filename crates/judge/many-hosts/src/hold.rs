use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Lock against a second agent on this host: a name in the kernel's abstract socket namespace,
/// which vanishes with the process. A process that finds the name taken is told the holder.
#[derive(Debug, Clone)]
pub(crate) struct Hold {
    holder: Arc<Mutex<String>>,
    is_released: Arc<AtomicBool>,
    address: SocketAddr,
}

/// Holder of the host, as text; or the error because of which this process could not take the lock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this host is held by {0}")]
pub struct HeldBy(pub String);

/// Maximum length of the text about the holder, in bytes.
const TOLD_MAX: u64 = 512;

impl Hold {
    /// Takes the lock of this host, or of the part that `slot` names. If it is taken, returns its
    /// holder.
    pub fn take(slot: &str) -> Result<Self, HeldBy> {
        let place = if slot.is_empty() { String::new() } else { format!("/{slot}") };
        let name = format!("tilemark-agent{place}");
        let address = SocketAddr::from_abstract_name(name.as_bytes())
            .map_err(|error| HeldBy(format!("the name {name:?} cannot be used: {error}")))?;
        let listener = UnixListener::bind_addr(&address).map_err(|_| {
            let unknown = || "another agent, which gives no details".to_owned();
            HeldBy(told(&address).unwrap_or_else(unknown))
        })?;
        let holder = Arc::new(Mutex::new("an agent that no controller uses yet".to_owned()));
        let hold = Self { holder, is_released: Arc::default(), address };
        let own = hold.clone();
        std::thread::Builder::new()
            .name("hold".to_owned())
            .spawn(move || {
                for asking in listener.incoming().flatten() {
                    if own.is_released() {
                        return;
                    }
                    own.tell(asking);
                }
            })
            .map_err(|error| HeldBy(error.to_string()))?;
        Ok(hold)
    }

    /// Sets the text about the holder.
    pub fn is_held_by(&self, holder: String) {
        *self.holder.lock().unwrap_or_else(PoisonError::into_inner) = holder;
    }

    /// Releases the lock permanently.
    pub fn release(&self) {
        if !self.is_released.swap(true, Ordering::AcqRel) {
            // The thread that listens ends with the next connection.
            let _ = UnixStream::connect_addr(&self.address);
        }
    }

    /// Returns true if the lock was released.
    pub fn is_released(&self) -> bool {
        self.is_released.load(Ordering::Acquire)
    }

    fn tell(&self, mut asking: UnixStream) {
        let holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let _ = asking.set_write_timeout(Some(Duration::from_secs(1)));
        let _ = asking.write_all(holder.as_bytes());
    }
}

fn told(address: &SocketAddr) -> Option<String> {
    let stream = UnixStream::connect_addr(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
    let mut text = Vec::new();
    stream.take(TOLD_MAX).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let clean: String = text.chars().filter(|letter| !letter.is_control()).collect();
    (!clean.is_empty()).then_some(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_agent_is_told_who_holds_the_host() {
        let slot = format!("test-{}", std::process::id());
        let first = Hold::take(&slot).expect("nobody has it");
        assert_eq!(Hold::take(&slot).expect_err("taken").0, "an agent that no controller uses yet");
        first.is_held_by("run 7 of desk\u{1b}[2J".to_owned());
        assert_eq!(Hold::take(&slot).expect_err("taken").0, "run 7 of desk[2J");
        Hold::take(&format!("{slot}-b")).expect("another place");
    }

    #[test]
    fn released_host_is_there_for_others() {
        let slot = format!("release-{}", std::process::id());
        let first = Hold::take(&slot).expect("nobody has it");
        first.release();
        // The thread closes its socket soon after.
        let second = (0..1000).find_map(|_| match Hold::take(&slot) {
            Ok(hold) => Some(hold),
            Err(_) => {
                std::thread::sleep(Duration::from_millis(10));
                None
            }
        });
        assert!(second.is_some_and(|second| !second.is_released()) && first.is_released());
    }
}
