use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use crate::counters::Counters;

/// State that the server's thread shares with its owner.
#[derive(Debug)]
pub(crate) struct Shared {
    pub stop: AtomicBool,
    pub event: Arc<OwnedFd>,
    pub counters: Counters,
    /// Notes for an operator that nobody has fetched yet.
    pub notes: Mutex<Vec<String>>,
}

/// Most notes that are kept until they are fetched.
const NOTES_MAX: usize = 100;

impl Shared {
    pub fn note(&self, words: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < NOTES_MAX {
            notes.push(words);
        }
    }
}
