//! Requests of clients that are longer than their disk takes at once.

use std::io;

use nbd::Code;
use nbd::server::{self, Command};

use super::{Asked, Clients};
use crate::core::Core;
use crate::{Answer, Buffer};

/// A client's request, of which a disk has the parts.
pub(super) struct Divided {
    client: u32,
    request: server::Request,
    /// Bytes of the parts of a read that have come, each at its place.
    data: Vec<Buffer>,
    /// Parts without an answer.
    left: usize,
    result: Result<(), Code>,
}

impl Clients {
    /// Asks a disk in parts of at most so many bytes, all at once: their order is as open as that of two requests.
    pub(super) fn divide(
        &mut self,
        client: u32,
        request: server::Request,
        data: Buffer,
        most: usize,
        core: &mut Core,
    ) -> io::Result<()> {
        let length = request.length as usize;
        let count = length.div_ceil(most);
        let places = (0..count).map(|_| Buffer::none()).collect();
        let divided = Divided { client, request, data: places, left: count, result: Ok(()) };
        let divided = self.divided.insert(divided);
        let is_read = request.command == Command::Read;
        for part in 0..count {
            let at = part * most;
            let bytes = most.min(length - at);
            let mut own = core.pool.take(bytes);
            if !is_read {
                own.copy_from_slice(&data[at..at + bytes]);
            }
            let asked = server::Request {
                offset: request.offset + at as u64,
                length: u32::try_from(bytes).expect("a part is shorter than its request"),
                ..request
            };
            let disk = self.clients[client].disk;
            self.ask(disk, Asked::Part { divided, part }, asked, own, core)?;
        }
        core.pool.give(data);
        Ok(())
    }

    /// A part is answered, and the client with the last one.
    pub(super) fn answer_part(
        &mut self,
        number: u32,
        part: usize,
        answer: Answer,
        core: &mut Core,
    ) {
        let divided = &mut self.divided[number];
        divided.left -= 1;
        divided.result = divided.result.and(answer.result);
        divided.data[part] = answer.data;
        if divided.left == 0 {
            let Divided { client, request, data, result, .. } = self.divided.remove(number);
            self.tell(client, request, request.length as usize, result, data, core);
        }
    }
}
