//! Group commit: one user writes a log for all who wait for it.
//!
//! What it does: a strand that comes to a log in use waits. When the steps in progress end, all
//! whom they cover go on, and the first who waits takes its own steps for all who came meanwhile.
//!
//! Invariants: a log is used by one strand at a time. A strand is in one list of one log at most.
//! If the steps fail, the actions of all whom they cover fail.

// Circle: the state machine's own steps of a commit, apart from its other steps.

use serde::{Deserialize, Serialize};
use state_machine::Effects;
use units::Nanos;

use crate::instance::WorkloadMachine;
use crate::program::Op;

/// Users of a log.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct CommitLog {
    is_used: bool,
    /// Instruction to which the strand that uses the log would jump outside of these steps, if its
    /// action has failed.
    exit: u32,
    /// Strands for which the steps in progress are taken, too.
    pub covered: Vec<u32>,
    /// Strands that came after the steps in progress had begun.
    pub waiting: Vec<u32>,
}

impl WorkloadMachine {
    /// Lets a strand take the steps of a commit, or adds it to those who wait. Returns true if it
    /// takes them.
    pub(crate) fn enter(&mut self, strand: u32, log: u32, leave: u32) -> bool {
        let own = &mut self.logs[log as usize];
        if own.is_used {
            own.waiting.push(strand);
            return false;
        }
        let state = &mut self.strands[strand as usize];
        own.is_used = true;
        // Steps that fail must give the log back.
        own.exit = std::mem::replace(&mut state.exit, leave);
        state.op += 1;
        true
    }

    /// Ends the steps of a commit: lets the next who wait take theirs, and all whom these steps cover
    /// go on.
    pub(crate) fn leave(&mut self, strand: u32, log: u32, now: Nanos, fx: &mut Effects) {
        let own = &mut self.logs[log as usize];
        own.is_used = false;
        let covered = std::mem::take(&mut own.covered);
        let mut waiting = std::mem::take(&mut own.waiting).into_iter();
        let state = &mut self.strands[strand as usize];
        (state.op, state.exit) = (state.op + 1, own.exit);
        let ok = self.users[state.user as usize].ok;
        if let Some(next) = waiting.next() {
            own.covered = waiting.collect();
            self.run(next, now, fx);
        }
        for strand in covered {
            let state = &mut self.strands[strand as usize];
            let Op::Enter { leave, .. } = self.program.ops[state.op as usize] else { continue };
            state.op = leave + 1;
            let user = &mut self.users[state.user as usize];
            // What it writes next follows an answer.
            (user.ok, user.is_answered) = (ok, true);
            self.run(strand, now, fx);
        }
    }
}
