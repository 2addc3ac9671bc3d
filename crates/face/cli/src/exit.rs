//! Exit codes: a public interface, equal in every version.

use std::process::ExitCode;

/// Exit code of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, and every requested objective was met.
    Success = 0,
    /// Something failed while running (an I/O error, a full disk, a device that vanished).
    Failure = 1,
    /// The command line or a definition file is wrong.
    Usage = 2,
    /// Preflight refused: nothing was written.
    Refused = 3,
    /// Finished, but an objective failed, a comparison found a regression, or a verification found
    /// wrong blocks.
    ObjectiveFailed = 4,
    /// Finished without an answer: not steady, too few repeats, or a saturated generator.
    Inconclusive = 5,
    /// Done, but something that Tilemark created could not be removed. Any other code except
    /// success takes precedence.
    NotRemoved = 6,
    /// Finished, and an expectation (`--expect`) was missed.
    ExpectationMissed = 7,
    /// Interrupted (Ctrl-C); a partial result was written and marked as such.
    Interrupted = 130,
    /// Asked to end (SIGTERM); a partial result was written and marked as such.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Table at the end of `--help`.
pub const TABLE: &str = "\
Exit codes:
  0    done, objectives met
  1    run-time failure
  2    usage or definition error
  3    refused before anything was written
  4    objective, comparison or verification failed
  5    inconclusive
  6    done, but what Tilemark made could not be removed
  7    an expectation (--expect) was missed
  130  interrupted, partial result written
  143  terminated, partial result written";
