//! Division of client requests that are longer than their disk accepts in one request.

use std::io;

use nbd::server;
use nbd::{Code, Operation};

use super::{Clients, Origin};
use crate::core::Core;
use crate::{Answer, Buffer};

/// Client request that was submitted to its disk in parts.
pub(super) struct Divided {
    client: u32,
    request: server::Request,
    /// Data of a read, one buffer per part.
    data: Vec<Buffer>,
    /// Number of parts that are not completed.
    left: usize,
    result: Result<(), Code>,
}

impl Clients {
    /// Submits a request to its disk in parts of at most `most` bytes, all at once. The disk may
    /// complete the parts in any order, as it may for separate requests.
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
        let is_read = request.operation == Operation::Read;
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
            self.ask(disk, Origin::Part { divided, part }, asked, own, core)?;
        }
        core.pool.give(data);
        Ok(())
    }

    /// Records the completion of a part. The last part answers the client.
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
