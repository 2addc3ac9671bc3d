use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::arena::Arena;
use crate::clock::Clock;
use crate::iowq::Helpers;
use crate::threads::Threads;
use crate::uring::Uring;
use crate::{BackendChoice, EngineError, Options, Warning};

/// Chosen backend for real storage.
pub(crate) enum Real {
    Uring(Box<Uring>),
    Threads(Box<Threads>),
}

impl Real {
    /// Creates an io_uring if it is permitted, or else threads with a warning. A wait also ends
    /// when `watched` is readable.
    pub(crate) fn new(
        clock: Clock,
        files: Vec<Arc<File>>,
        watched: Option<Arc<OwnedFd>>,
        options: &Options,
    ) -> Result<(Self, Vec<Warning>), EngineError> {
        let of = watched.clone();
        let threads = |files| -> Result<Self, EngineError> {
            let threads = Threads::new(clock.clone(), files, of, options.depth);
            let set_up =
                |source| EngineError::SetUp { backend: "threads", depth: options.depth, source };
            Ok(Self::Threads(Box::new(threads.map_err(set_up)?)))
        };
        if options.backend == BackendChoice::Threads {
            return Ok((threads(files)?, Vec::new()));
        }
        let chunks = Arena::new(options.buffers_max.get(), 0).chunks_max();
        match Uring::new(clock.clone(), files.clone(), watched, options, chunks) {
            Ok(ring) => {
                let warnings = helper_warning(ring.helpers()).into_iter().collect();
                Ok((Self::Uring(Box::new(ring)), warnings))
            }
            Err(error) if options.backend == BackendChoice::Auto && is_refusal(&error) => {
                Ok((threads(files)?, vec![refused(&error)]))
            }
            Err(source) => {
                Err(EngineError::SetUp { backend: "io_uring", depth: options.depth, source })
            }
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Uring(_) => "io_uring",
            Self::Threads(_) => "threads",
        }
    }
}

/// Returns true if the error means that the system refuses io_uring, and not a fault of this
/// program.
fn is_refusal(error: &io::Error) -> bool {
    let refusals = [libc::EPERM, libc::EACCES, libc::ENOSYS, libc::EOPNOTSUPP, libc::ENOMEM];
    error.raw_os_error().is_some_and(|number| refusals.contains(&number))
}

fn refused(error: &io::Error) -> Warning {
    Warning {
        id: "io-uring-refused",
        text: format!(
            "io_uring is refused here ({error}), so requests go through a pool of threads: they \
             cost more CPU, and latencies include a thread switch. On this host, see \
             kernel.io_uring_disabled and the container's seccomp profile"
        ),
    }
}

fn helper_warning(helpers: Helpers) -> Option<Warning> {
    let text = match helpers {
        Helpers::NotNeeded => return None,
        Helpers::OnePerRequest => {
            "the target cannot start I/O without blocking, so the kernel carries every request \
             out on a helper thread; latencies include the hand-over"
        }
        Helpers::PerSpareCpu(_) => {
            "the target is memory and cannot start I/O without blocking. The kernel's helper threads, \
             one per spare CPU, and the worker itself carry requests out; latencies include the \
             hand-over"
        }
    };
    Some(Warning { id: "io-uring-helpers", text: text.to_owned() })
}
