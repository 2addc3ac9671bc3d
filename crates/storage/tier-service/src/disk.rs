use std::sync::{Arc, Mutex, PoisonError};

use block_server::{Buffer, Disk, Effects, IoId, Request, Service};
use nbd::{Code, Export, Operation};
use tier::{Event, Op, Sums};

use crate::core::Core;

/// Cached disk of a set, for a front end. All disks of a set belong to one server, whose service is
/// [`TierService`].
#[derive(Debug)]
pub(crate) struct CachedDisk {
    pub(crate) core: Arc<Mutex<Core>>,
    pub(crate) export: Export,
    /// Number of the disk's route.
    pub(crate) route: usize,
}

impl Disk for CachedDisk {
    fn export(&self) -> &Export {
        &self.export
    }

    fn submit(&mut self, request: Request, effects: &mut Effects) {
        with(&self.core, |core| core.course(self.route, request, effects));
    }
}

fn with<T>(core: &Mutex<Core>, work: impl FnOnce(&mut Core) -> T) -> T {
    work(&mut core.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Service of a server: the state machine behind all disks of a set.
#[derive(Debug)]
pub(crate) struct TierService {
    pub(crate) core: Arc<Mutex<Core>>,
}

impl Service for TierService {
    fn turn(&mut self, effects: &mut Effects) {
        with(&self.core, |core| core.handle(Event::Turn, effects));
    }

    fn done(&mut self, io: IoId, result: Result<u32, i32>, data: Buffer, effects: &mut Effects) {
        with(&self.core, |core| core.done(io, result, data, effects));
    }

    fn woken(&mut self, _alarm: u64, effects: &mut Effects) {
        with(&self.core, |core| core.woken(effects));
    }

    fn told(&mut self, effects: &mut Effects) {
        with(&self.core, |core| core.told(effects));
    }

    fn close(&mut self, effects: &mut Effects) {
        with(&self.core, |core| core.close(effects));
    }

    fn is_closed(&self) -> bool {
        with(&self.core, |core| core.is_over())
    }
}

impl Drop for TierService {
    fn drop(&mut self) {
        // After a panic the state machine may be inconsistent, so its state is not reported.
        if !std::thread::panicking() {
            with(&self.core, |core| core.tell_left());
        }
    }
}

impl Core {
    pub(crate) fn submit(&mut self, disk: u16, request: Request, fx: &mut Effects) {
        let (op, fua) = match request.operation {
            Operation::Read => (Op::Read, false),
            Operation::Write { fua } => (Op::Write, fua),
            Operation::Flush => (Op::Flush, false),
            Operation::Trim { fua } => (Op::Zero { unmap: true }, fua),
            Operation::WriteZeroes { fua, no_hole, .. } => (Op::Zero { unmap: !no_hole }, fua),
            Operation::Cache => {
                return fx.answer(request.id, Err(Code::NotSupported), request.data);
            }
        };
        let most = self.tier.request_bytes_max();
        let parts = request.length.div_ceil(most).max(1);
        // The front end keeps reads and writes below the export's limit. Only operations without
        // data are split.
        if parts > 1 && matches!(op, Op::Read | Op::Write) {
            return fx.answer(request.id, Err(Code::Overflow), request.data);
        }
        let mut sums =
            if op == Op::Write { Sums::of(request.offset, &request.data) } else { Sums::default() };
        let buf = matches!(op, Op::Read | Op::Write).then(|| self.requests.lend(request.data));
        self.requests.add(request.id, (disk, op, request.length), parts, buf);
        for part in 0..parts {
            let at = part * most;
            let asked = tier::Request {
                id: request.id,
                disk,
                op,
                offset: request.offset + u64::from(at),
                bytes: (request.length - at).min(most),
                fua,
                buf,
                // A write has exactly one part, so its checksums are used once.
                sums: std::mem::take(&mut sums),
            };
            self.handle(Event::Request(asked), fx);
        }
    }
}
