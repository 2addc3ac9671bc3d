use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use crate::counters::Counters;

/// Message of the server for its operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Text of the note.
    pub text: String,
    /// Hint on how to solve the problem, if there is one.
    pub hint: Option<&'static str>,
}

/// State that the server's thread shares with its owner.
#[derive(Debug)]
pub(crate) struct Shared {
    pub stop: AtomicBool,
    pub event: Arc<OwnedFd>,
    pub counters: Counters,
    /// Notes for an operator that are not fetched yet.
    pub notes: Mutex<Vec<Note>>,
}

/// Maximum number of notes that are kept until they are fetched.
const NOTES_MAX: usize = 100;

impl Shared {
    pub fn note(&self, text: String) {
        self.note_with_hint(text, None);
    }

    pub fn note_with_hint(&self, text: String, hint: Option<&'static str>) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < NOTES_MAX {
            notes.push(Note { text, hint });
        }
    }
}
