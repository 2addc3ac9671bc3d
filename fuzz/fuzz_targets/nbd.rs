//! Both sides of NBD: what the other side says is refused or understood, and never asks for more than
//! the limits; what was let through lies within the export.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilemark_nbd::client::{self, ClientDemands, Received, Requests};
use tilemark_nbd::limits::{HANDSHAKE_BUFFER, REPLY_BUFFER};
use tilemark_nbd::server::{self, Incoming, REQUEST_BYTES, Session, Tls};
use tilemark_nbd::{Abilities, BlockSizes, Export, Operation};

const SIZE: u64 = 1 << 20;

fn export(name: &str) -> Export {
    let abilities = Abilities::FLUSH | Abilities::FUA | Abilities::TRIM | Abilities::WRITE_ZEROES;
    Export::new(name, SIZE, BlockSizes::DEFAULT, abilities).expect("a name")
}

fn exports() -> Vec<Export> {
    vec![export("a"), export("b")]
}

fuzz_target!(|data: &[u8]| {
    let Some((first, data)) = data.split_first() else { return };
    match first % 4 {
        0 => server_hears(Tls::None, first & 4 != 0, data),
        1 => server_hears(Tls::Required, first & 4 != 0, data),
        2 => client_hears_of_an_export(data),
        _ => client_hears_replies(first & 4 != 0, data),
    }
});

/// Asks until nothing more is wanted, and then as if what followed were requests. Who asks for others gets every
/// second one of them, and that alone.
fn server_hears(tls: Tls, asks: bool, data: &[u8]) {
    let (mut out, mut offered) = (Vec::new(), exports());
    let mut handshake = server::Handshake::new(tls, &mut out);
    if asks {
        handshake.ask_for_others();
    }
    let input = [&[0, 0, 0, 3][..], data].concat();
    let mut rest = &input[..];
    loop {
        let Ok(progress) = handshake.feed(&offered, rest, &mut out) else { return };
        rest = &rest[progress.consumed..];
        match progress.next {
            server::Next::More => return assert!(rest.len() < HANDSHAKE_BUFFER),
            server::Next::Wanted(name) => {
                assert!(asks && offered.iter().all(|export| export.name() != name));
                if name.len() % 2 == 0 {
                    offered = vec![export(&name)];
                }
            }
            server::Next::Serve(session) => return requests(&session, rest),
            server::Next::Send | server::Next::StartTls | server::Next::Close => return,
        }
    }
}

fn requests(session: &Session, mut rest: &[u8]) {
    while let Some((header, after)) = rest.split_first_chunk::<REQUEST_BYTES>() {
        rest = after;
        match session.incoming(header) {
            Ok(Incoming::Request(request)) => {
                let end = request.offset + u64::from(request.length);
                assert!(
                    end <= SIZE && (request.length > 0) == (request.operation != Operation::Flush)
                );
                if matches!(request.operation, Operation::Write { .. }) {
                    rest = &rest[(request.length as usize).min(rest.len())..];
                }
            }
            Ok(Incoming::Refused(refusal)) => {
                rest = &rest[(refusal.skip as usize).min(rest.len())..];
            }
            Ok(Incoming::Disconnect) | Err(_) => return,
        }
    }
}

fn client_hears_of_an_export(data: &[u8]) {
    let wish = ClientDemands { export: "a".to_owned(), tls: false, structured: true };
    let input = [&b"NBDMAGICIHAVEOPT\x00\x03"[..], data].concat();
    let mut handshake = client::Handshake::new(wish);
    if let Ok(progress) = handshake.feed(&input, &mut Vec::new())
        && matches!(progress.next, client::Next::More)
    {
        assert!(input.len() - progress.consumed < HANDSHAKE_BUFFER);
    }
}

/// Agrees with a server that keeps the rules.
fn agreed(structured: bool) -> Requests {
    let (mut to_client, mut to_server) = (Vec::new(), Vec::new());
    let mut server = server::Handshake::new(Tls::None, &mut to_client);
    let mut client =
        client::Handshake::new(ClientDemands { export: "a".to_owned(), tls: false, structured });
    loop {
        let heard = client.feed(&to_client, &mut to_server).expect("a server that keeps the rules");
        to_client.clear();
        if let client::Next::Ready(requests) = heard.next {
            return *requests;
        }
        let _ = server.feed(&exports(), &to_server, &mut to_client).expect("a client as well");
        to_server.clear();
    }
}

fn client_hears_replies(structured: bool, mut rest: &[u8]) {
    let mut requests = agreed(structured);
    for offset in [0, 4096, 8192] {
        requests.submit(Operation::Read, offset, 512, &mut Vec::new()).expect("within the export");
    }
    requests.submit(Operation::Flush, 0, 0, &mut Vec::new()).expect("it is offered");
    let mut ended = 0;
    while let Ok(progress) = requests.receive(rest) {
        rest = &rest[progress.consumed..];
        match progress.next {
            Received::More => return assert!(rest.len() < REPLY_BUFFER),
            Received::Data { at, length, .. } => {
                assert!(length > 0 && at + length <= 512);
                rest = &rest[(length as usize).min(rest.len())..];
            }
            Received::Zeroes { at, length, .. } => assert!(length > 0 && at + length <= 512),
            Received::Done { .. } => ended += 1,
        }
        assert_eq!(ended + requests.outstanding(), 4);
    }
}
