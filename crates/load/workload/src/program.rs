use state_machine::{Content, DiskId, EndpointId, KindId, Operation, Stream};

use crate::address::Place;
use crate::draw::Draw;
use crate::moving::Task;
use crate::payload::Data;
use crate::pick::Pick;

/// One instruction of a compiled dialogue. Instructions follow one another unless they say
/// otherwise; counters and strands are numbered within one user.
#[derive(Debug, Clone, Copy)]
pub enum Op {
    /// Issues an access (a position in [`Program::accesses`]) as often as it says.
    Access(u32),
    Flush {
        disk: DiskId,
        kind: KindId,
    },
    /// Makes a call (a position in [`Program::calls`]) as often as it says.
    Call(u32),
    Cpu(Draw),
    Wait(Draw),
    /// Sets a counter for a loop.
    Loop {
        counter: u32,
        times: u32,
    },
    /// Jumps to the body until the counter has run out.
    Again {
        counter: u32,
        body: u32,
    },
    /// Starts branches (positions in [`Program::branches`]); this strand goes on at `next`
    /// when all have arrived at their [`Op::Join`].
    Fork {
        counter: u32,
        first: u32,
        count: u32,
        next: u32,
    },
    /// The end of a branch.
    Join {
        counter: u32,
        parent: u32,
    },
    /// Reads the next block of a copy (a position in [`Program::copies`]), whose number the counter
    /// has; behind the last one goes on at `done`.
    CopyRead {
        copy: u32,
        counter: u32,
        done: u32,
    },
    /// Writes the block that was read, or compares it with one of the other disk.
    CopyWrite(u32),
    /// Asks for something about a whole disk.
    Whole {
        disk: DiskId,
        kind: KindId,
        content: Content,
    },
    /// Goes on elsewhere.
    Goto(u32),
    /// A stage begins, which is told as this action.
    Begin(u16),
    /// A stage ends: the action (a position among actions and stages) as which it is told.
    Finish(u16),
    /// Has something done to a disk of a running virtual machine; its stages are told as these.
    Ask {
        task: Task,
        stages: [u16; 3],
    },
    /// The end of the action.
    End,
}

/// A compiled copy, or a comparison of one.
#[derive(Debug, Clone, Copy)]
pub struct Copy {
    pub from: DiskId,
    pub to: DiskId,
    pub read: KindId,
    pub write: KindId,
    pub length: u32,
    /// How many blocks.
    pub blocks: u32,
    /// Blocks of the disk for each of them: it is a random one of these.
    pub among: u32,
    /// What is done with the block that was read: it is written, or read from the other disk too.
    pub then: Operation,
}

impl Copy {
    /// The block of the disk for the one with this number.
    pub fn place(&self, number: u32, stream: &mut Stream) -> u32 {
        let within = if self.among > 1 { stream.below(u64::from(self.among)) } else { 0 };
        let within = u32::try_from(within).unwrap_or(0);
        number.saturating_mul(self.among).saturating_add(within)
    }
}

/// A part of a dialogue that runs beside others.
#[derive(Debug, Clone, Copy)]
pub struct Branch {
    pub strand: u32,
    pub entry: u32,
    /// Its [`Op::Join`], where it goes when the action has failed.
    pub exit: u32,
}

/// An action's first and last instruction.
#[derive(Debug, Clone, Copy)]
pub struct Dialogue {
    pub entry: u32,
    pub exit: u32,
}

/// A compiled read, write or append.
#[derive(Debug, Clone)]
pub struct Access {
    pub operation: Operation,
    pub disk: DiskId,
    pub kind: KindId,
    pub count: u32,
    pub size: Pick,
    /// By the size's position.
    pub blocks: Box<[Block]>,
    pub data: Data,
    /// Share of writes that are durable before they are answered.
    pub durable: f64,
}

/// A compiled call.
#[derive(Debug, Clone, Copy)]
pub struct Calls {
    pub endpoint: EndpointId,
    pub kind: KindId,
    pub count: u32,
    pub size: u32,
}

/// A block size and where such blocks go.
#[derive(Debug, Clone)]
pub struct Block {
    pub length: u32,
    pub place: Place,
}

/// All actions of a workload, flat.
#[derive(Debug, Clone, Default)]
pub struct Program {
    pub ops: Vec<Op>,
    pub branches: Vec<Branch>,
    pub accesses: Vec<Access>,
    pub calls: Vec<Calls>,
    pub copies: Vec<Copy>,
    pub dialogues: Vec<Dialogue>,
    /// Strands a user needs: one, and one for each branch that runs at the same time.
    pub strands: u32,
    /// Counters a user needs.
    pub counters: u32,
}
