use std::io;

use units::Nanos;

use super::proc::Look;

/// What happened between two looks, about a second apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostSecond {
    /// Time between the looks.
    pub width: Nanos,
    /// CPU time of everything on the machine.
    pub busy: Nanos,
    /// CPU time of this process.
    pub own: Nanos,
    /// Time that this process's threads were ready and waited for a core.
    pub ready: Nanos,
}

/// Looks at this machine's processors again and again.
#[derive(Debug, Default)]
pub struct HostWatch {
    pub(super) before: Option<Look>,
    pub(super) seconds: Vec<HostSecond>,
    pub(super) cores: u32,
}

impl HostWatch {
    /// Looks, and notes what happened since the look before; the first one notes nothing.
    ///
    /// # Errors
    ///
    /// When `/proc` cannot be read.
    pub fn look(&mut self) -> io::Result<()> {
        let now = Look::now()?;
        self.cores = now.cores;
        if let Some(before) = &self.before {
            self.seconds.push(between(before, &now));
        }
        self.before = Some(now);
        Ok(())
    }

    /// Forgets what was seen; the next second begins at the last look.
    pub fn restart(&mut self) {
        self.seconds.clear();
    }

    /// Every second seen, in order.
    pub fn seconds(&self) -> &[HostSecond] {
        &self.seconds
    }
}

/// A thread that is new has waited only since it began.
fn between(before: &Look, now: &Look) -> HostSecond {
    let waited = |(thread, total): (&u64, &Nanos)| {
        total.saturating_sub(before.waited.get(thread).copied().unwrap_or_default())
    };
    HostSecond {
        width: now.at.saturating_sub(before.at),
        busy: now.busy.saturating_sub(before.busy),
        own: now.own.saturating_sub(before.own),
        ready: now.waited.iter().map(waited).fold(Nanos::ZERO, Nanos::saturating_add),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(at_s: u64, own_ms: u64, waited: &[(u64, u64)]) -> Look {
        Look {
            at: Nanos::from_secs(at_s),
            own: Nanos::from_millis(own_ms),
            busy: Nanos::from_millis(2 * own_ms),
            cores: 2,
            waited: waited.iter().map(|(id, ms)| (*id, Nanos::from_millis(*ms))).collect(),
        }
    }

    #[test]
    fn a_thread_that_ended_takes_no_waiting_back_and_a_new_one_brings_its_own() {
        let found = between(&look(1, 100, &[(1, 40), (2, 500)]), &look(2, 700, &[(1, 70), (3, 5)]));
        assert_eq!(found.ready, Nanos::from_millis(35));
        assert_eq!(found.own, Nanos::from_millis(600));
        assert_eq!(found.busy, Nanos::from_millis(1200));
        assert_eq!(found.width, Nanos::SECOND);
    }

    #[test]
    fn a_watch_sees_this_process_work() {
        let mut watch = HostWatch::default();
        watch.look().expect("proc");
        assert_eq!(watch.seconds(), []);
        watch.look().expect("proc");
        assert_eq!(watch.seconds().len(), 1);
        watch.restart();
        watch.look().expect("proc");
        assert_eq!(watch.seconds().len(), 1);
    }
}
