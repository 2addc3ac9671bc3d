//! Merge of the workers' slices on a thread of its own, so that neither making a slice nor a slow
//! reader ever delays I/O.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender};

use run_store::slice::{GeneratorRow, Slice};

use crate::telemetry::{Outlet, Span, Telemetry};

/// Telemetry of one worker for one slice.
pub(crate) struct Parcel {
    worker: usize,
    telemetry: Box<Telemetry>,
    span: Span,
    row: GeneratorRow,
    last: bool,
}

/// Worker's channel to the merger, which also returns empty telemetry for reuse.
pub(crate) struct Line {
    pub(crate) worker: usize,
    pub(crate) to: Sender<Parcel>,
    pub(crate) back: Receiver<Box<Telemetry>>,
}

impl Outlet for Line {
    fn pass(
        &mut self,
        telemetry: &mut Box<Telemetry>,
        span: Span,
        row: GeneratorRow,
        last: bool,
    ) -> bool {
        let empty = if last { self.back.recv().ok() } else { self.back.try_recv().ok() };
        let Some(empty) = empty else { return false };
        let full = std::mem::replace(telemetry, empty);
        // The merger lives until every worker has dropped its line.
        let parcel = Parcel { worker: self.worker, telemetry: full, span, row, last };
        self.to.send(parcel).is_ok()
    }
}

/// Runs the merger's thread until all workers have dropped their channels.
pub(crate) fn run(
    parcels: &Receiver<Parcel>,
    back: &[Sender<Box<Telemetry>>],
    slices: &Sender<Slice>,
) {
    let mut merger = Merger::new(back.len());
    for mut parcel in parcels {
        let slice = parcel.telemetry.take(parcel.span, parcel.row);
        // The worker may have ended already; a reader that went away is not an error.
        let _ = back[parcel.worker].send(parcel.telemetry);
        merger.add(parcel.worker, slice, parcel.last, &mut |slice| {
            let _ = slices.send(slice);
        });
    }
    merger.finish(&mut |slice| {
        let _ = slices.send(slice);
    });
}

/// Merges the slices of workers in order of time.
#[derive(Debug)]
struct Merger {
    waiting: Vec<VecDeque<Slice>>,
    ended: Vec<bool>,
}

impl Merger {
    fn new(workers: usize) -> Self {
        Self { waiting: vec![VecDeque::new(); workers], ended: vec![false; workers] }
    }

    fn add(&mut self, worker: usize, slice: Slice, last: bool, emit: &mut dyn FnMut(Slice)) {
        self.waiting[worker].push_back(slice);
        self.ended[worker] |= last;
        while let Some(merged) = self.next(false) {
            emit(merged);
        }
    }

    fn finish(&mut self, emit: &mut dyn FnMut(Slice)) {
        while let Some(merged) = self.next(true) {
            emit(merged);
        }
    }

    /// Returns the next complete slice. It ends at the latest end of the workers' next slices: if
    /// one worker's slice became longer, the merger waits for the others.
    fn next(&mut self, force: bool) -> Option<Slice> {
        let lacks = |(queue, ended): (&VecDeque<Slice>, &bool)| queue.is_empty() && !ended;
        if !force && self.waiting.iter().zip(&self.ended).any(lacks) {
            return None;
        }
        let end = self.waiting.iter().filter_map(VecDeque::front).map(Slice::end).max()?;
        let covered = |(queue, ended): (&VecDeque<Slice>, &bool)| {
            *ended || queue.back().is_some_and(|slice| slice.end() >= end)
        };
        if !force && !self.waiting.iter().zip(&self.ended).all(covered) {
            return None;
        }
        let mut merged: Option<Slice> = None;
        for queue in &mut self.waiting {
            let mut own: Option<Slice> = None;
            while queue.front().is_some_and(|slice| slice.end() <= end) {
                let later = queue.pop_front().expect("just seen");
                own = Some(match own {
                    None => later,
                    Some(earlier) => earlier.followed_by(later),
                });
            }
            if let Some(own) = own {
                merged = Some(match merged {
                    None => own,
                    Some(others) => others.merge(own),
                });
            }
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Nanos;

    fn slice(start: u64, width: u64, submitted: u64) -> Slice {
        let generator = GeneratorRow { submitted, worker_cpu: vec![0.5], ..Default::default() };
        Slice { start: Nanos(start), width: Nanos(width), generator, ..Slice::default() }
    }

    fn spans(out: &[Slice]) -> Vec<(u64, u64, u64, usize)> {
        out.iter()
            .map(|s| (s.start.0, s.width.0, s.generator.submitted, s.generator.worker_cpu.len()))
            .collect()
    }

    #[test]
    fn slices_wait_for_the_slowest_worker_and_come_in_order() {
        let (mut merger, mut out) = (Merger::new(2), Vec::new());
        merger.add(0, slice(0, 10, 1), false, &mut |s| out.push(s));
        merger.add(0, slice(10, 10, 2), false, &mut |s| out.push(s));
        assert!(out.is_empty());
        merger.add(1, slice(0, 10, 4), false, &mut |s| out.push(s));
        merger.add(1, slice(10, 10, 8), false, &mut |s| out.push(s));
        assert_eq!(spans(&out), [(0, 10, 5, 2), (10, 10, 10, 2)]);
    }

    #[test]
    fn a_worker_that_missed_a_boundary_makes_one_wider_slice() {
        let (mut merger, mut out) = (Merger::new(2), Vec::new());
        merger.add(1, slice(0, 20, 4), false, &mut |s| out.push(s));
        merger.add(0, slice(0, 10, 1), false, &mut |s| out.push(s));
        assert!(out.is_empty());
        merger.add(0, slice(10, 10, 2), false, &mut |s| out.push(s));
        assert_eq!(spans(&out), [(0, 20, 7, 2)]);
    }

    #[test]
    fn what_a_worker_left_behind_is_not_lost_when_the_others_end() {
        let (mut merger, mut out) = (Merger::new(2), Vec::new());
        merger.add(0, slice(0, 10, 1), false, &mut |s| out.push(s));
        merger.add(1, slice(0, 10, 2), false, &mut |s| out.push(s));
        merger.add(0, slice(10, 3, 4), true, &mut |s| out.push(s));
        merger.add(1, slice(10, 5, 8), true, &mut |s| out.push(s));
        merger.finish(&mut |s| out.push(s));
        assert_eq!(spans(&out), [(0, 10, 3, 2), (10, 5, 12, 2)]);
    }
}
