use nbd::{Abilities, BlockSizes, Export, ExportError, Operation};

use crate::{Disk, Effects, Request};

/// Disk in memory. It is zeroed at first, and lost when its server exits.
#[derive(Debug)]
pub struct RamDisk {
    export: Export,
    bytes: Vec<u8>,
}

impl RamDisk {
    /// Creates a disk of `size` bytes. Memory is allocated when it is first written.
    ///
    /// # Errors
    /// If the name or the size cannot be offered.
    pub fn new(name: &str, size: u64) -> Result<Self, ExportError> {
        let abilities = Abilities::FLUSH
            | Abilities::FUA
            | Abilities::TRIM
            | Abilities::WRITE_ZEROES
            | Abilities::CACHE
            | Abilities::MULTI_CONN;
        let export = Export::new(name, size, BlockSizes::DEFAULT, abilities)?;
        let export = export.described("memory, gone with its server")?;
        let bytes = usize::try_from(size).expect("addresses have 64 bits");
        Ok(Self { export, bytes: vec![0; bytes] })
    }
}

impl Disk for RamDisk {
    fn export(&self) -> &Export {
        &self.export
    }

    fn submit(&mut self, mut request: Request, effects: &mut Effects) {
        let start = usize::try_from(request.offset).expect("addresses have 64 bits");
        let bytes = &mut self.bytes[start..start + request.length as usize];
        match request.operation {
            Operation::Read => request.data.copy_from_slice(bytes),
            Operation::Write { .. } => bytes.copy_from_slice(&request.data),
            Operation::Trim { .. } | Operation::WriteZeroes { .. } => bytes.fill(0),
            Operation::Flush | Operation::Cache => {}
        }
        effects.answer(request.id, Ok(()), request.data);
    }
}
