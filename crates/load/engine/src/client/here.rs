//! Protocol of a service in this process, which carries out operations on virtual machines. A call
//! sends the operation's name in a line. The answer is the line `done` or `failed`. No textual
//! address leads to such a service.

use std::sync::Arc;

use state_machine::CallError;
use units::Nanos;

use super::address::{Address, Here, Peer, Service};
use super::{Answer, Ask, Client, Encryption, Login, Logins, Protocol};

/// Protocol of services in this process. It is missing from [`super::PROTOCOLS`], so that no
/// textual address can name it.
static HERE: Protocol = Protocol {
    name: "vm",
    word: "vm",
    port: 0,
    has_path: true,
    query: Some(""),
    logins: Logins::None,
    encryption: Encryption::None,
    client: |address, _| Box::new(Line::new(address)),
};

impl Service {
    /// Creates a service that a part of this process answers, with a name and its own timeout.
    pub fn here(name: &str, within: Nanos, here: Arc<dyn Here>) -> Self {
        let address = Address::within(&HERE, name);
        Self { address, peer: Peer::Here(here), login: Login::default(), within: Some(within) }
    }
}

const DONE: &[u8] = b"done\n";
const FAILED: &[u8] = b"failed\n";

/// Client side of one connection.
#[derive(Debug)]
struct Line {
    request: Vec<u8>,
    held: Vec<u8>,
}

impl Line {
    fn new(address: &Address) -> Self {
        let name = address.path().trim_start_matches('/');
        Self { request: format!("{name}\n").into_bytes(), held: Vec::new() }
    }
}

impl Client for Line {
    fn call(&mut self, _: Ask<'_>, out: &mut Vec<u8>) {
        self.held.clear();
        out.extend_from_slice(&self.request);
    }

    fn take(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> Option<Answer> {
        let room = (FAILED.len() + 1).saturating_sub(self.held.len());
        self.held.extend_from_slice(&bytes[..room.min(bytes.len())]);
        let failed = |error, can_go_on| Some(Answer { result: Err(error), can_go_on });
        match &self.held[..] {
            DONE => Some(Answer { result: Ok(DONE.len() as u64), can_go_on: true }),
            FAILED => failed(CallError::Status, true),
            held if DONE.starts_with(held) || FAILED.starts_with(held) => None,
            _ => failed(CallError::Protocol, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use state_machine::Draws;

    fn taken(pieces: &[&[u8]]) -> Option<Answer> {
        let mut line = Line { request: b"a\n".to_vec(), held: Vec::new() };
        let mut out = Vec::new();
        line.call(Ask { text: None, draws: Draws::default(), size: 1 }, &mut out);
        assert_eq!(out, b"a\n");
        pieces.iter().find_map(|piece| line.take(piece, &mut out))
    }

    #[test]
    fn an_answer_is_one_of_two_lines_however_it_is_cut() {
        let done = Answer { result: Ok(5), can_go_on: true };
        assert_eq!(taken(&[b"do", b"ne", b"\n"]), Some(done));
        assert_eq!(taken(&[b"done\n"]), Some(done));
        let failed = taken(&[b"fail", b"ed\n"]).expect("whole");
        assert_eq!((failed.result, failed.can_go_on), (Err(CallError::Status), true));
        assert_eq!(taken(&[b"done"]), None);
        assert_eq!(taken(&[b"donner\n"]), Some(Answer::failed(CallError::Protocol)));
        assert_eq!(taken(&[b"failed\nmore"]), Some(Answer::failed(CallError::Protocol)));
    }
}
