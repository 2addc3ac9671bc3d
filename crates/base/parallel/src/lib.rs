//! Distribution of work over threads.
//!
//! Function: distributes items to a number of threads. Each thread gets the next item as soon as it
//! is free. The results are returned in the order of the items.
//!
//! Left out: a pool of threads, growing queues, and the choice of the number of threads.
//!
//! Invariants: all threads have ended when a call returns. An item is started at most once. A panic
//! of one thread is a panic of the call.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Message that the caller gets while threads work.
#[derive(Debug)]
pub enum Heard<'r, M, R> {
    /// Message that was sent while an item was being processed.
    Said(M),
    /// Result of the item at this index.
    Ended(usize, &'r R),
}

enum Sent<M, R> {
    Said(M),
    Ended(usize, R),
}

/// Calls `work` for all items on up to `threads` threads, at least one. Returns the results in the
/// order of the items.
pub fn map<T: Sync, R: Send>(items: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let results =
        run(items, threads, &|| true, |item, _: &dyn Fn(())| work(item), |_: Heard<'_, (), R>| ());
    results.into_iter().flatten().collect()
}

/// Runs like [`map`], but items may send messages before they end. Once `goes_on` returns false, no
/// further item is started; items that were not started have no result. `hear` is called on the
/// calling thread.
pub fn run<T: Sync, R: Send, M: Send>(
    items: &[T],
    threads: usize,
    goes_on: &(dyn Fn() -> bool + Sync),
    work: impl Fn(&T, &dyn Fn(M)) -> R + Sync,
    mut hear: impl FnMut(Heard<'_, M, R>),
) -> Vec<Option<R>> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let one_thread = |sender: mpsc::Sender<Sent<M, R>>| {
        // Nobody listens only when the caller panics.
        let say = |message| drop(sender.send(Sent::Said(message)));
        while goes_on() {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else { return };
            let result = work(item, &say);
            drop(sender.send(Sent::Ended(place, result)));
        }
    };
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    thread::scope(|scope| {
        for _ in 0..threads.max(1).min(items.len()) {
            let (sender, one_thread) = (sender.clone(), &one_thread);
            scope.spawn(move || one_thread(sender));
        }
        drop(sender);
        for sent in receiver {
            match sent {
                Sent::Said(message) => hear(Heard::Said(message)),
                Sent::Ended(place, result) => {
                    hear(Heard::Ended(place, &result));
                    results[place] = Some(result);
                }
            }
        }
    });
    results
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn results_keep_item_order_for_any_thread_count() {
        let items: Vec<u64> = (0..100).collect();
        let squares: Vec<u64> = items.iter().map(|item| item * item).collect();
        for threads in [0, 1, 3, 200] {
            assert_eq!(map(&items, threads, |item| item * item), squares, "{threads}");
        }
        assert_eq!(map(&[] as &[u64], 4, |item| *item), [] as [u64; 0]);
    }

    #[test]
    fn what_is_said_is_heard_before_its_item_ends() {
        let mut heard = Vec::new();
        let work = |item: &u32, say: &dyn Fn(u32)| {
            say(*item);
            item * 2
        };
        let results = run(&[1, 2], 1, &|| true, work, |told| match told {
            Heard::Said(message) => heard.push(("said", message)),
            Heard::Ended(_, result) => heard.push(("ended", *result)),
        });
        assert_eq!(heard, [("said", 1), ("ended", 2), ("said", 2), ("ended", 4)]);
        assert_eq!(results, [Some(2), Some(4)]);
    }

    #[test]
    fn nothing_is_begun_after_the_end() {
        let goes_on = AtomicBool::new(true);
        let work = |item: &u32, _: &dyn Fn(())| {
            goes_on.store(*item < 2, Ordering::Relaxed);
            *item
        };
        let is_on = || goes_on.load(Ordering::Relaxed);
        let results = run(&[1, 2, 3], 1, &is_on, work, |_: Heard<'_, (), u32>| ());
        assert_eq!(results, [Some(1), Some(2), None]);
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_of_a_thread_is_a_panic_of_the_call() {
        map(&[1, 2, 3], 2, |item| assert!(*item != 2));
    }
}
