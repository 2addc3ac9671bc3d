use machine::{DiskId, EndpointId, KindId, Operation};

use crate::address::Place;
use crate::draw::Draw;
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
    /// The end of the action.
    End,
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
    pub dialogues: Vec<Dialogue>,
    /// Strands a user needs: one, and one for each branch that runs at the same time.
    pub strands: u32,
    /// Counters a user needs.
    pub counters: u32,
}
