//! Session that the text of a call describes.

use std::collections::VecDeque;

/// Maximum length of a user's name, in characters, as in a mail address (RFC 5321, section
/// 4.5.3.1.1).
const NAME_MAX: usize = 64;
/// Maximum number of steps of a session. Our choice.
pub(super) const STEPS_MAX: usize = 16;
/// Maximum number of messages of a step. Our choice.
pub(super) const COUNT_MAX: u32 = 1000;

/// User and steps.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) user: String,
    steps: VecDeque<Step>,
}

/// Step, with its number of messages.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Read(u32),
    Move(u32),
    Delete(u32),
}

impl Session {
    /// Parses `USER STEP=COUNT...`; `None` if the text is anything else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let user = words.next().filter(|name| is_name(name))?.to_owned();
        let steps: Option<VecDeque<Step>> = words.take(STEPS_MAX + 1).map(Step::parse).collect();
        let steps = steps.filter(|steps| steps.len() <= STEPS_MAX)?;
        Some(Self { user, steps })
    }

    pub(super) fn next_step(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }
}

impl Step {
    fn parse(word: &str) -> Option<Self> {
        let (name, count) = word.split_once('=')?;
        let is_number = count.bytes().all(|byte| byte.is_ascii_digit());
        let count = count.parse().ok().filter(|count| is_number && *count <= COUNT_MAX)?;
        match name {
            "read" => Some(Self::Read(count)),
            "move" => Some(Self::Move(count)),
            "delete" => Some(Self::Delete(count)),
            _ => None,
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(is_letter)
}
