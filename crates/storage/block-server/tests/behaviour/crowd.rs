//! Many clients, and those who harm only themselves.

use std::time::Duration;

use nbd::{Code, Operation};
use tilemark_block_server::Limits;

use crate::client::{Client, connect, rest};
use crate::disks::{Served, ram};
use crate::gated::Gated;

const MAGIC: [u8; 4] = 0x2560_9513_u32.to_be_bytes();

/// A header made by hand.
fn header(kind: u8, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let numbers = [&cookie.to_be_bytes()[..], &offset.to_be_bytes(), &length.to_be_bytes()];
    [&MAGIC[..], &[0, 0, 0, kind], &numbers.concat()].concat()
}

/// Checks that another client is served.
fn is_fine(served: &Served) {
    let mut client = Client::open(served.place(), "vm").unwrap();
    client.write(4096, &[9; 4096]).unwrap();
    assert_eq!(client.read(4096, 4096).unwrap(), [9; 4096]);
    client.flush().unwrap();
}

#[test]
fn a_hundred_clients_are_served_at_once_each_its_own_bytes() {
    let served = Served::ram(1 << 20);
    let clients: Vec<Client> =
        (0..100).map(|_| Client::open(served.place(), "vm").unwrap()).collect();
    std::thread::scope(|scope| {
        for (number, mut client) in clients.into_iter().enumerate() {
            scope.spawn(move || {
                let offset = u64::try_from(number).unwrap() * 8192;
                for round in 0..50_u8 {
                    let bytes = vec![round ^ u8::try_from(number).unwrap(); 8192];
                    client.write(offset, &bytes).unwrap();
                    assert!(client.read(offset, 8192).unwrap() == bytes, "client {number}");
                }
            });
        }
    });
    let counts = served.running.counts();
    assert_eq!((counts.connections, counts.requests, counts.errors), (100, 10_000, 0));
}

#[test]
fn one_client_too_many_is_sent_away_and_the_others_stay() {
    let limits = Limits { connections: 3, ..Limits::default() };
    let served = Served::of(vec![ram("vm", 1 << 20)], limits);
    let mut clients: Vec<Client> =
        (0..3).map(|_| Client::open(served.place(), "vm").unwrap()).collect();
    assert_eq!(rest(&mut *connect(served.place()).unwrap()), b"");
    assert_eq!(served.running.counts().sent_away, 1);
    for client in &mut clients {
        client.write(0, &[1; 512]).unwrap();
    }
}

#[test]
fn client_that_never_reads_fills_only_its_own_share() {
    let served = Served::ram(1 << 20);
    let mut socket = std::os::unix::net::UnixStream::connect(served.socket()).unwrap();
    drop(Client::over(Box::new(socket.try_clone().unwrap()), "vm", true).unwrap());
    socket.set_nonblocking(true).unwrap();
    // 64 KiB for each 28 B, until the server has taken its share and the socket is full.
    let requests = header(0, 1, 0, 64 << 10).repeat(1000);
    let mut sent = 0;
    while let Ok(some) = std::io::Write::write(&mut socket, &requests) {
        sent += some;
        assert!(sent < 1 << 30, "the server takes requests without end");
    }
    is_fine(&served);
    let limit = u64::try_from(Limits::default().bytes_in_flight).unwrap() / (64 << 10);
    assert!(served.running.counts().requests < 2 * limit + 100, "{:?}", served.running.counts());
}

#[test]
fn refusals_without_end_fill_their_own_share_only() {
    let limits = Limits { bytes_in_flight: 1 << 20, ..Limits::default() };
    let served = Served::of(vec![ram("vm", 1 << 20)], limits);
    let mut socket = std::os::unix::net::UnixStream::connect(served.socket()).unwrap();
    drop(Client::over(Box::new(socket.try_clone().unwrap()), "vm", true).unwrap());
    socket.set_nonblocking(true).unwrap();
    let requests = header(0, 1, 1 << 40, 512).repeat(1000);
    let mut sent = 0;
    while let Ok(some) = std::io::Write::write(&mut socket, &requests) {
        sent += some;
        assert!(sent < 1 << 28, "the server refuses without end");
    }
    is_fine(&served);
}

#[test]
fn clients_that_stall_in_the_middle_delay_nobody() {
    let served = Served::ram(1 << 20);
    let mut stalled = Vec::new();
    for bytes in
        [&MAGIC[..2], &header(1, 1, 0, 1 << 20), &[header(1, 1, 0, 8192), vec![1; 100]].concat()]
    {
        let mut client = Client::open(served.place(), "vm").unwrap();
        client.send(bytes).unwrap();
        stalled.push(client);
    }
    is_fine(&served);
    let mut client = stalled.pop().unwrap();
    client.send(&[1; 8092]).unwrap();
    client.send(&header(2, 0, 0, 0)).unwrap();
    let done = [&0x6744_6698_u32.to_be_bytes()[..], &[0; 4], &1_u64.to_be_bytes()].concat();
    assert_eq!(client.rest(), done, "what was begun can be ended");
    served.running.stop().unwrap();
}

#[test]
fn client_gone_in_the_middle_of_a_write_wrote_nothing() {
    let served = Served::ram(1 << 20);
    let mut client = Client::open(served.place(), "vm").unwrap();
    client.write(0, &[1; 8192]).unwrap();
    client.send(&header(1, 1, 0, 8192)).unwrap();
    client.send(&[2; 8000]).unwrap();
    drop(client);
    is_fine(&served);
    let mut client = Client::open(served.place(), "vm").unwrap();
    assert_eq!(client.read(0, 4096).unwrap(), [1; 4096]);
}

#[test]
fn requests_of_a_vanished_client_are_carried_out() {
    let (disk, gate) = Gated::with_gate(1 << 20, None);
    let served = Served::of(vec![disk], Limits::default());
    let mut client = Client::open(served.place(), "vm").unwrap();
    for block in 0..4 {
        client.ask(Operation::Write { fua: false }, block * 4096, 4096, &[7; 4096]).unwrap();
        client.ask(Operation::Read, block * 4096, 4096, &[]).unwrap();
    }
    gate.wait_for(8);
    drop(client);
    gate.open(8);
    let mut other = Client::open(served.place(), "vm").unwrap();
    for block in 0..4 {
        let cookie = other.ask(Operation::Read, block * 4096, 4096, &[]).unwrap();
        gate.wait_for(1);
        gate.open(1);
        assert_eq!(other.wait(cookie).unwrap().unwrap(), [7; 4096]);
    }
    served.running.stop().unwrap();
}

#[test]
fn a_client_that_only_speaks_no_more_still_hears_its_answers() {
    let (disk, gate) = Gated::with_gate(1 << 20, None);
    let served = Served::of(vec![disk], Limits::default());
    let socket = std::os::unix::net::UnixStream::connect(served.socket()).unwrap();
    let mut client = Client::over(Box::new(socket.try_clone().unwrap()), "vm", true).unwrap();
    for block in 0..3 {
        client.ask(Operation::Read, block * 4096, 4096, &[]).unwrap();
    }
    gate.wait_for(3);
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    // The server has seen it by the time it has let somebody else in.
    drop(Client::open(served.place(), "vm").unwrap());
    gate.open(3);
    for _ in 0..3 {
        assert_eq!(client.wait_any().unwrap().1.unwrap(), [0; 4096]);
    }
    assert!(client.wait_any_is_over());
}

#[test]
fn those_who_break_the_protocol_are_cut_off_and_counted() {
    let served = Served::ram(1 << 20);
    let lies = [
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\n".to_vec(),
        header(1, 1, 0, u32::MAX),
        [&header(0, 1, 0, 512)[1..], b"x"].concat(),
    ];
    for lie in &lies {
        let mut client = Client::open(served.place(), "vm").unwrap();
        client.send(lie).unwrap();
        client.rest();
    }
    let mut stream = connect(served.place()).unwrap();
    std::io::Write::write_all(&mut stream, &[0xff; 64]).unwrap();
    assert_eq!(rest(&mut *stream), b"NBDMAGICIHAVEOPT\0\x03");
    assert_eq!(served.running.counts().violations, 4);
    is_fine(&served);
}

#[test]
fn who_never_chooses_a_disk_goes_and_who_has_one_stays() {
    let limits = Limits { handshake: Duration::from_secs(1), ..Limits::default() };
    let served = Served::of(vec![ram("vm", 1 << 20)], limits);
    let mut stays = Client::open(served.place(), "vm").unwrap();
    let mut silent = connect(served.place()).unwrap();
    assert_eq!(rest(&mut *silent), b"NBDMAGICIHAVEOPT\0\x03");
    assert_eq!(served.running.counts().late, 1);
    stays.write(0, &[1; 512]).unwrap();
}

#[test]
fn disk_error_is_a_client_error_and_never_zeroes() {
    let (disk, gate) = Gated::with_gate(1 << 20, Some(Code::NoSpace));
    let served = Served::of(vec![disk], Limits::default());
    gate.open(100);
    for structured in [true, false] {
        let stream = connect(served.place()).unwrap();
        let mut client = Client::over(stream, "vm", structured).unwrap();
        assert_eq!(client.read(0, 4096), Err(Code::NoSpace));
        assert_eq!(client.write(0, &[1; 512]), Err(Code::NoSpace));
        client.flush().unwrap();
    }
    assert_eq!(served.running.counts().errors, 4);
}
