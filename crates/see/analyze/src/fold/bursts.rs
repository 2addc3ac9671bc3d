//! Finds the busiest windows of three widths. An average over twenty seconds hides the shorter
//! ones.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use units::Nanos;

/// Narrowest width, nanoseconds. The widths are 100 ms, 1 s, and 20 s, the sampling interval of
/// vCenter and many others.
const TICK: u64 = 100_000_000;
/// The widths, in ticks.
const WIDTHS: [u64; 3] = [1, 10, 200];

/// Time window with its I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Window {
    index: u64,
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

impl Window {
    /// Returns the window with more I/Os, or with equal I/Os more bytes; of equal windows the
    /// earlier.
    fn busier(self, other: Self) -> Self {
        let rank = |window: Self| (window.count, window.bytes, Reverse(window.index));
        if rank(other) > rank(self) { other } else { self }
    }
}

/// Windows of one width. The first and the last window may continue in other parts of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Peaks {
    first: Option<Window>,
    last: Option<Window>,
    between: Window,
}

impl Peaks {
    fn push(&mut self, window: Window) {
        if let Some(last) = &mut self.last {
            if last.index == window.index {
                last.count += window.count;
                last.bytes += window.bytes;
                return;
            }
            let done = *last;
            *last = window;
            self.between = self.between.busier(done);
            return;
        }
        match &mut self.first {
            Some(first) if first.index == window.index => {
                first.count += window.count;
                first.bytes += window.bytes;
            }
            Some(_) => self.last = Some(window),
            None => self.first = Some(window),
        }
    }

    fn merge(&mut self, later: &Self) {
        if let Some(first) = later.first {
            self.push(first);
        }
        if let Some(last) = later.last {
            self.between = self.between.busier(later.between);
            self.push(last);
        }
    }

    fn peak(&self) -> Window {
        let ends = [self.first, self.last].map(Option::unwrap_or_default);
        ends.into_iter().fold(self.between, Window::busier)
    }
}

/// The busiest windows of each width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Bursts {
    open: Window,
    widths: [Peaks; 3],
}

/// Busiest window of a width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peak {
    pub(crate) width: Nanos,
    pub(crate) start: Nanos,
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

impl Bursts {
    #[inline]
    pub(crate) fn push(&mut self, at: Nanos, bytes: u32) {
        let index = at.0 / TICK;
        if index != self.open.index {
            self.turn(index);
        }
        self.open.count += 1;
        self.open.bytes += u64::from(bytes);
    }

    #[cold]
    fn turn(&mut self, index: u64) {
        self.close();
        self.open = Window { index, ..Window::default() };
    }

    fn close(&mut self) {
        let done = std::mem::take(&mut self.open);
        if done.count > 0 {
            for (peaks, width) in self.widths.iter_mut().zip(WIDTHS) {
                peaks.push(Window { index: done.index / width, ..done });
            }
        }
    }

    pub(crate) fn merge(&mut self, mut later: Self) {
        self.close();
        later.close();
        self.widths.iter_mut().zip(&later.widths).for_each(|(mine, more)| mine.merge(more));
    }

    pub(crate) fn peaks(&self) -> [Peak; 3] {
        let mut all = *self;
        all.close();
        [0, 1, 2].map(|at| {
            let width = Nanos(TICK * WIDTHS[at]);
            let window = all.widths[at].peak();
            let (count, bytes) = (window.count, window.bytes);
            Peak { width, start: Nanos(window.index * width.0), count, bytes }
        })
    }
}
