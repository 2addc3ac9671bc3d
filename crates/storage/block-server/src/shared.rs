use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use crate::counters::Counters;

/// What a server's thread and its owner both see.
#[derive(Debug)]
pub(crate) struct Shared {
    pub stop: AtomicBool,
    pub event: Arc<OwnedFd>,
    pub counters: Counters,
    /// What an operator should know, and has not been told.
    pub notes: Mutex<Vec<String>>,
}

/// Notes that nobody fetches are kept up to so many.
const NOTES_MAX: usize = 100;

impl Shared {
    pub fn note(&self, words: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < NOTES_MAX {
            notes.push(words);
        }
    }
}
