//! A driver's part: bytes to and fro, in pieces of any size.

use tilemark_nbd::client::{self, ClientDemands, ClientError, Requests};
use tilemark_nbd::limits::HANDSHAKE_BUFFER;
use tilemark_nbd::server::{self, Session, Tls};
use tilemark_nbd::{Abilities, BlockSizes, Export, Progress, Violation};

/// Everything a disk may offer.
pub(crate) fn all() -> Abilities {
    Abilities::FLUSH
        | Abilities::FUA
        | Abilities::TRIM
        | Abilities::WRITE_ZEROES
        | Abilities::FAST_ZERO
        | Abilities::CACHE
        | Abilities::MULTI_CONN
}

pub(crate) fn export(name: &str, size: u64) -> Export {
    Export::new(name, size, BlockSizes::DEFAULT, all()).unwrap()
}

/// A server of three disks.
pub(crate) fn exports() -> Vec<Export> {
    let blocks = BlockSizes::new(512, 4096, 1 << 20).unwrap();
    let read_only = Abilities::READ_ONLY | Abilities::FLUSH;
    vec![
        export("vm1", 1 << 20),
        Export::new("vm2", 1 << 30, blocks, all()).unwrap().described("the second").unwrap(),
        Export::new("fixed", 4096, BlockSizes::DEFAULT, read_only).unwrap(),
    ]
}

/// Lengths in which a stream arrives, again and again; never 0.
pub(crate) struct Cuts(pub Vec<usize>, pub usize);

impl Cuts {
    pub fn whole() -> Self {
        Self(vec![usize::MAX], 0)
    }

    /// Size of the next piece out of so many bytes.
    pub fn next(&mut self, there: usize) -> usize {
        let cut = self.0[self.1 % self.0.len()].max(1);
        self.1 += 1;
        cut.min(there)
    }
}

/// Output of a server, its last action, and the unconsumed rest.
pub(crate) type Said = (Vec<u8>, server::Next, Vec<u8>);
/// Output of a server until the client broke a rule.
pub(crate) type Ended = (Vec<u8>, Violation);

/// Server of `exports`, fed with `input` in these pieces: its output, and its last action.
pub(crate) fn serve(
    exports: &[Export],
    tls: Tls,
    input: &[u8],
    mut cuts: Cuts,
) -> Result<Said, Ended> {
    let mut out = Vec::new();
    let mut machine = server::Handshake::new(tls, &mut out);
    let (mut held, mut rest) = (Vec::new(), input);
    let mut sent = Vec::new();
    loop {
        let length = cuts.next(rest.len());
        held.extend_from_slice(&rest[..length]);
        rest = &rest[length..];
        let fed = machine.feed(exports, &held, &mut out);
        sent.append(&mut out);
        let Progress { consumed, next } = match fed {
            Ok(progress) => progress,
            Err(violation) => return Err((sent, violation)),
        };
        held.drain(..consumed);
        match next {
            server::Next::Send => {}
            server::Next::More if rest.is_empty() => return Ok((sent, server::Next::More, held)),
            server::Next::More => {}
            next => return Ok((sent, next, [&held, rest].concat())),
        }
    }
}

/// Both sides until there is a disk.
pub(crate) fn meet(
    exports: &[Export],
    wish: ClientDemands,
    cuts: &mut Cuts,
) -> Result<(Session, Requests), ClientError> {
    let (mut to_client, mut to_server) = (Vec::new(), Vec::new());
    let mut server = server::Handshake::new(Tls::None, &mut to_client);
    let mut client = client::Handshake::new(wish);
    let (mut at_client, mut at_server) = (Vec::new(), Vec::new());
    let (mut session, mut requests) = (None, None);
    for _ in 0..100_000 {
        let length = cuts.next(to_client.len());
        at_client.extend(to_client.drain(..length));
        if requests.is_none() {
            let Progress { consumed, next } = client.feed(&at_client, &mut to_server)?;
            at_client.drain(..consumed);
            if let client::Next::Ready(ready) = next {
                requests = Some(*ready);
            }
        }
        let length = cuts.next(to_server.len());
        at_server.extend(to_server.drain(..length));
        if session.is_none() {
            let fed = server.feed(exports, &at_server, &mut to_client);
            let Progress { consumed, next } = fed.expect("this client keeps the rules");
            at_server.drain(..consumed);
            if let server::Next::Serve(serve) = next {
                session = Some(serve);
            }
        }
        assert!(at_client.len() < HANDSHAKE_BUFFER && at_server.len() < HANDSHAKE_BUFFER);
        if let (Some(_), Some(_)) = (&session, &requests) {
            assert!(at_client.is_empty() && at_server.is_empty(), "nobody speaks before its time");
            return Ok((session.unwrap(), requests.unwrap()));
        }
    }
    panic!("the two never came to an end");
}

pub(crate) fn wish(export: &str, structured: bool) -> ClientDemands {
    ClientDemands { export: export.to_owned(), tls: false, structured }
}

/// An option as sent.
pub(crate) fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap();
    [b"IHAVEOPT", &number.to_be_bytes()[..], &length.to_be_bytes(), data].concat()
}

/// Data of `INFO` and `GO`.
pub(crate) fn asking(name: &str, kinds: &[u16]) -> Vec<u8> {
    let length = u32::try_from(name.len()).unwrap();
    let count = u16::try_from(kinds.len()).unwrap();
    let kinds: Vec<u8> = kinds.iter().flat_map(|kind| kind.to_be_bytes()).collect();
    [&length.to_be_bytes()[..], name.as_bytes(), &count.to_be_bytes(), &kinds].concat()
}

/// Replies to options after a greeting: option, kind, data.
pub(crate) fn replies(out: &[u8]) -> Vec<(u32, u32, Vec<u8>)> {
    let mut rest = &out[18..];
    let mut found = Vec::new();
    while !rest.is_empty() {
        assert_eq!(rest[..8], 0x0003_e889_0455_65a9_u64.to_be_bytes());
        let number = |at: usize| u32::from_be_bytes(rest[at..at + 4].try_into().unwrap());
        let end = 20 + number(16) as usize;
        found.push((number(8), number(12), rest[20..end].to_vec()));
        rest = &rest[end..];
    }
    found
}
