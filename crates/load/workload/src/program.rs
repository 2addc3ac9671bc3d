use state_machine::{Content, DiskId, EndpointId, KindId, Operation, Stream};

use crate::address::Placement;
use crate::draw::Draw;
use crate::moving::Task;
use crate::payload::Data;
use crate::pick::Pick;

/// Instruction of a compiled dialogue. Instructions are executed in order, except for jumps.
/// Counters and strands are numbered within one user.
#[derive(Debug, Clone, Copy)]
pub enum Op {
    /// Issues an access (a position in [`Program::accesses`]), repeated by its count.
    Access(u32),
    Flush {
        disk: DiskId,
        kind: KindId,
    },
    /// Makes a call (a position in [`Program::calls`]), repeated by its count.
    Call(u32),
    Cpu(Draw),
    Wait(Draw),
    /// Sets a counter for a loop.
    Loop {
        counter: u32,
        times: u32,
    },
    /// Jumps to the body until the counter has reached its end.
    Again {
        counter: u32,
        body: u32,
    },
    /// Starts branches (positions in [`Program::branches`]). This strand continues at `next` when
    /// all branches have arrived at their [`Op::Join`].
    Fork {
        counter: u32,
        first: u32,
        count: u32,
        next: u32,
    },
    /// Ends a branch.
    Join {
        counter: u32,
        parent: u32,
    },
    /// Reads the next block of a copy (a position in [`Program::copies`]). The counter holds the
    /// block's number. After the last block, it jumps to `done`.
    CopyRead {
        copy: u32,
        counter: u32,
        done: u32,
    },
    /// Writes the block that was read, or compares it with a block of the other disk.
    CopyWrite(u32),
    /// Issues a request about a whole disk.
    Whole {
        disk: DiskId,
        kind: KindId,
        content: Content,
    },
    /// Jumps to an instruction.
    Goto(u32),
    /// Begins the steps of a group commit, or waits for others who take such steps. `leave` is the
    /// instruction that ends them.
    Enter {
        log: u32,
        leave: u32,
    },
    /// Ends the steps of a group commit.
    Leave {
        log: u32,
    },
    /// Begins a stage, which is reported as this action.
    Begin(u16),
    /// Ends a stage, which is reported as this action (a position among actions and stages).
    Finish(u16),
    /// Orders a task on a disk of a running virtual machine. The task's stages are reported as
    /// these actions.
    Ask {
        task: Task,
        stages: [u16; 3],
    },
    /// Ends the action.
    End,
}

/// Compiled copy or comparison of two disks.
#[derive(Debug, Clone, Copy)]
pub struct Copy {
    pub from: DiskId,
    pub to: DiskId,
    pub read: KindId,
    pub write: KindId,
    pub length: u32,
    /// Number of blocks that are copied or compared.
    pub blocks: u32,
    /// Number of the disk's blocks per copied or compared block. One of them is chosen at random.
    pub among: u32,
    /// Operation after the read: a write, or a read from the other disk.
    pub then: Operation,
}

impl Copy {
    /// Returns the block of the disk for the copied or compared block with this number.
    pub fn place(&self, number: u32, stream: &mut Stream) -> u32 {
        let within = if self.among > 1 { stream.below(u64::from(self.among)) } else { 0 };
        let within = u32::try_from(within).unwrap_or(0);
        number.saturating_mul(self.among).saturating_add(within)
    }
}

/// Part of a dialogue that runs in parallel with others.
#[derive(Debug, Clone, Copy)]
pub struct Branch {
    pub strand: u32,
    pub entry: u32,
    /// Instruction to jump to if the action has failed: the branch's [`Op::Join`].
    pub exit: u32,
}

/// First and last instruction of an action.
#[derive(Debug, Clone, Copy)]
pub struct Dialogue {
    pub entry: u32,
    pub exit: u32,
}

/// Compiled read, write or append.
#[derive(Debug, Clone)]
pub struct Access {
    pub operation: Operation,
    pub disk: DiskId,
    pub kind: KindId,
    pub count: u32,
    pub size: Pick,
    /// Blocks, indexed by the position of their size.
    pub blocks: Box<[Block]>,
    pub data: Data,
    /// Share of writes that must be durable before they complete.
    pub durable: f64,
}

/// Compiled call.
#[derive(Debug, Clone, Copy)]
pub struct Calls {
    pub endpoint: EndpointId,
    pub kind: KindId,
    pub count: u32,
    pub size: u32,
    /// True if the request text has values that are drawn for each call.
    pub has_draws: bool,
}

/// Block length, and the placement of blocks of this length.
#[derive(Debug, Clone)]
pub struct Block {
    pub length: u32,
    pub place: Placement,
}

/// Compiled actions of a workload, in flat lists.
#[derive(Debug, Clone, Default)]
pub struct Program {
    pub ops: Vec<Op>,
    pub branches: Vec<Branch>,
    pub accesses: Vec<Access>,
    pub calls: Vec<Calls>,
    /// True if a request text has values that are drawn for each call.
    pub has_draws: bool,
    pub copies: Vec<Copy>,
    pub dialogues: Vec<Dialogue>,
    /// Number of strands that a user needs: one, and one for each branch that runs at the same
    /// time.
    pub strands: u32,
    /// Number of counters that a user needs.
    pub counters: u32,
    /// Number of logs of group commits.
    pub logs: u32,
}
