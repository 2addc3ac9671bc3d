//! The end of a server.

use nbd::Operation;
use tilemark_block_server::Limits;

use crate::client::Client;
use crate::disks::Served;
use crate::gated::Gated;

#[test]
fn stop_answers_received_requests_and_no_others() {
    let (disk, gate) = Gated::with_gate(1 << 20, None);
    let served = Served::of(vec![disk], Limits::default());
    let socket = served.socket();
    let mut client = Client::open(served.place(), "vm").unwrap();
    for block in 0..2 {
        let write = Operation::Write { fua: false };
        client.ask(write, block * 4096, 4096, &[1; 4096]).unwrap();
    }
    gate.wait_for(2);
    let Served { running, directory } = served;
    std::thread::scope(|scope| {
        let stopped = scope.spawn(|| running.stop());
        // Which of the two goes first is the kernel's choice.
        for _ in 0..2 {
            gate.open(1);
            assert!(client.wait_any().unwrap().1.is_ok());
        }
        assert!(client.wait_any_is_over(), "and then the connection ends");
        stopped.join().unwrap().unwrap();
    });
    assert!(!socket.exists(), "its socket is gone");
    drop(directory);
}

#[test]
fn clients_that_are_idle_or_shake_hands_do_not_delay_the_end() {
    let served = Served::ram(1 << 20);
    let mut idle = Client::open(served.place(), "vm").unwrap();
    let mut shaking = crate::client::connect(served.place()).unwrap();
    idle.flush().unwrap();
    served.running.stop().unwrap();
    assert!(idle.wait_any_is_over());
    crate::client::rest(&mut *shaking);
}

#[test]
fn a_server_that_is_dropped_is_gone() {
    let served = Served::ram(1 << 20);
    let socket = served.socket();
    drop(served.running);
    assert!(!socket.exists());
}
