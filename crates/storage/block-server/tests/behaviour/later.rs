//! A disk that answers when a time has come.

use std::collections::BTreeMap;
use std::time::Duration;

use nbd::{Export, Operation};
use tilemark_block_server::{Buffer, Disk, Effects, IoId, Limits, RamDisk, Request, Service};

use crate::client::Client;
use crate::disks::Served;

/// Keeps each request for a while: the later ones shorter than the earlier.
struct Later {
    ram: RamDisk,
    kept: BTreeMap<u64, Request>,
    taken: u64,
}

impl Disk for Later {
    fn export(&self) -> &Export {
        self.ram.export()
    }

    fn submit(&mut self, request: Request, effects: &mut Effects) {
        effects.wake(Duration::from_micros(20_000 - self.taken * 100), self.taken);
        self.kept.insert(self.taken, request);
        self.taken += 1;
    }

    fn service(&mut self) -> Option<&mut dyn Service> {
        Some(self)
    }
}

impl Service for Later {
    fn done(&mut self, _: IoId, _: Result<u32, i32>, _: Buffer, _: &mut Effects) {
        unreachable!("it asks for no I/O");
    }

    fn woken(&mut self, alarm: u64, effects: &mut Effects) {
        let request = self.kept.remove(&alarm).expect("it is told once");
        self.ram.submit(request, effects);
    }
}

#[test]
fn a_disk_may_answer_later_and_all_is_answered_even_at_the_end() {
    let ram = RamDisk::new("vm", 1 << 20).unwrap();
    let disk = Later { ram, kept: BTreeMap::new(), taken: 0 };
    let served = Served::of(vec![Box::new(disk)], Limits::default());
    let mut client = Client::open(served.place(), "vm").unwrap();
    for block in 0..100_u64 {
        let byte = u8::try_from(block).unwrap();
        let write = Operation::Write { fua: false };
        client.ask(write, block * 4096, 4096, &[byte; 4096]).unwrap();
    }
    let running = served.running;
    while running.counts().requests < 100 {
        std::thread::yield_now();
    }
    std::thread::scope(|scope| {
        let stopped = scope.spawn(|| running.stop());
        for _ in 0..100 {
            assert!(client.wait_any().unwrap().1.is_ok());
        }
        assert!(client.wait_any_is_over());
        stopped.join().unwrap().unwrap();
    });
}
