use units::Nanos;

/// Time in which the last dirty memory must be sent, so that the virtual machine may be stopped for
/// it: the default of QEMU's parameter `downtime-limit`. vMotion aims at less than a second.
const SWITCH_OVER_MAX: Nanos = Nanos::from_millis(300);

/// Maximum number of rounds. A virtual machine that changes memory as fast as the network sends it
/// is stopped after that, as in Xen (29 rounds after the first; Clark and others, "Live Migration
/// of Virtual Machines", NSDI 2005).
const ROUNDS_MAX: u32 = 30;

/// Iterative pre-copy of a virtual machine's memory (Clark and others, NSDI 2005; Nelson, Lim and
/// Hutchins, "Fast Transparent Migration for Virtual Machines", USENIX 2005).
///
/// The first round sends all memory. Each further round sends what the virtual machine changed
/// during the previous round. When the changed memory would take less than [`SWITCH_OVER_MAX`], the
/// virtual machine is stopped and the rest is sent. It is also stopped if a round brings no
/// progress. With memory `M`, a rate `D` of change and a rate `R` of the network, round `i` sends
/// `M (D/R)^i`, and all rounds together `M (1 - (D/R)^n) / (1 - D/R)` (Liu and others, "Performance
/// and Energy Modeling for Live Migration of Virtual Machines", HPDC 2011). Here `R` is what the
/// network gives each round.
///
/// Simpler than real systems on purpose: changed bytes are all different until all memory is dirty,
/// so there is no set of pages that is written again and again; the guest is not slowed down to let
/// a round converge ("stun during page send").
#[derive(Debug, Clone, Copy)]
pub struct PreCopy {
    memory: u64,
    /// Bytes that the virtual machine changes per second.
    dirtied: f64,
    /// Start and size of the present round.
    began: Nanos,
    sending: u64,
    rounds: u32,
    copied: u64,
}

/// Next action after a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Sends these bytes while the virtual machine runs.
    Copy(u64),
    /// Stops the virtual machine and sends these bytes.
    StopAndCopy(u64),
}

impl PreCopy {
    /// Begins the first round, which sends all memory.
    pub const fn new(now: Nanos, memory: u64, dirtied: f64) -> Self {
        Self { memory, dirtied, began: now, sending: memory, rounds: 0, copied: 0 }
    }

    /// Ends a round, and decides what follows. A virtual machine changes no memory while it is
    /// paused.
    pub fn end_round(&mut self, now: Nanos, pauses: &[(Nanos, Nanos)]) -> Next {
        let took = now.saturating_sub(self.began).as_secs_f64();
        let paused = |(from, until): &(Nanos, Nanos)| {
            now.min(*until).saturating_sub(self.began.max(*from)).as_secs_f64()
        };
        let paused: f64 = pauses.iter().map(paused).sum();
        self.rounds += 1;
        self.copied += self.sending;
        let dirty = self.memory_dirtied_in(took - paused);
        let expected = Nanos::from_secs_f64(took * ratio(dirty, self.sending));
        let has_progress = dirty < self.sending && self.rounds < ROUNDS_MAX;
        (self.began, self.sending) = (now, dirty);
        if expected > SWITCH_OVER_MAX && has_progress {
            return Next::Copy(dirty);
        }
        self.copied += dirty;
        Next::StopAndCopy(dirty)
    }

    /// Returns the bytes that were sent, and the number of rounds while the virtual machine ran.
    pub const fn sent(&self) -> (u64, u32) {
        (self.copied, self.rounds)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bytes of memory, at most all of it"
    )]
    fn memory_dirtied_in(&self, seconds: f64) -> u64 {
        ((self.dirtied * seconds) as u64).min(self.memory)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of memory sizes")]
fn ratio(dirty: u64, sent: u64) -> f64 {
    dirty as f64 / sent.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the rounds on a network of 1,000 MB/s. Returns the bytes of all rounds, the bytes sent
    /// while the virtual machine was stopped, and the number of rounds.
    fn moved(memory: u64, dirtied: f64) -> (u64, u64, u32) {
        let mut now = Nanos::ZERO;
        let mut own = PreCopy::new(now, memory, dirtied);
        let mut sending = memory;
        loop {
            now += Nanos(sending);
            match own.end_round(now, &[]) {
                Next::Copy(bytes) => sending = bytes,
                Next::StopAndCopy(bytes) => {
                    let (copied, rounds) = own.sent();
                    return (copied, bytes, rounds);
                }
            }
        }
    }

    #[test]
    fn rounds_sum_to_the_published_closed_form() {
        // A quarter of the network's rate: 8, 2 and 0.5 GB; the last 0.125 GB take 0.125 s.
        assert_eq!(moved(8_000_000_000, 250e6), (10_625_000_000, 125_000_000, 3));
        let (memory, ratio) = (64e9, 0.5_f64);
        let (copied, last, rounds) = moved(64_000_000_000, 500e6);
        let rounds_and_last = rounds + 1;
        let closed = memory * (1.0 - ratio.powi(rounds_and_last.cast_signed())) / (1.0 - ratio);
        assert!((copied as f64 / closed - 1.0).abs() < 1e-9, "{copied} against {closed}");
        assert_eq!((last, rounds), (250_000_000, 8));
    }

    #[test]
    fn idle_vm_is_copied_once_and_hardly_stopped() {
        assert_eq!(moved(4_000_000_000, 0.0), (4_000_000_000, 0, 1));
    }

    #[test]
    fn vm_that_outruns_the_network_is_stopped_at_once() {
        let memory = 4_000_000_000;
        assert_eq!(moved(memory, 2e9), (2 * memory, memory, 1));
    }
}
