use std::collections::HashMap;

use state_machine::Operation;
use tilemark_cache::tier::{Data, Step, StepDevice, Wait};

pub const SECTOR: u64 = 512;

/// Devices that hold, per sector, the number of the write that wrote it.
#[derive(Default)]
pub struct Devices {
    sectors: HashMap<(StepDevice, u64), u64>,
}

impl Devices {
    /// Content of a sector of the backing store; 0 before the first write.
    pub fn backing(&self, sector: u64) -> u64 {
        self.sectors.get(&(StepDevice::Backing, sector)).copied().unwrap_or(0)
    }

    /// Takes a device away, with all it holds.
    pub fn lose(&mut self, lost: StepDevice) {
        self.sectors.retain(|(place, _), _| *place != lost);
    }

    /// Executes steps in order. Returns the data that a read returns, by address.
    pub fn run(&mut self, version: u64, steps: &[Step]) -> HashMap<u64, u64> {
        let (mut answer, mut moved) = (HashMap::new(), HashMap::new());
        for step in steps {
            for sector in 0..u64::from(step.length) / SECTOR {
                let at = step.offset / SECTOR + sector;
                let address = step.address / SECTOR + sector;
                if step.operation == Operation::Read {
                    let content = match step.place {
                        StepDevice::Share(_) => self.sectors[&(step.place, at)],
                        StepDevice::Backing => self.backing(at),
                    };
                    moved.insert(address, content);
                    if step.data == Data::Request {
                        assert_eq!(step.wait, Wait::Request, "an answer is waited for");
                        answer.insert(address, content);
                    }
                } else {
                    let content =
                        if step.data == Data::Request { version } else { moved[&address] };
                    self.sectors.insert((step.place, at), content);
                }
            }
        }
        answer
    }
}
