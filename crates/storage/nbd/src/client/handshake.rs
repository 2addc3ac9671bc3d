use super::agreed::{Agreed, ClientDemands};
use super::error::ClientError;
use super::inner::{Reply, read_block_sizes, read_export, reason};
use super::requests::Requests;
use crate::bytes::{Reader, Write, short, string};
use crate::limits::{OPTION_REPLIES_MAX, OPTION_REPLY_MAX, STRING_MAX};
use crate::wire::{self, handshake, info, option, reply};
use crate::{Abilities, BlockSizes, Progress, Violation};

/// Next action that the driver must take.
#[derive(Debug)]
pub enum Next {
    /// Send the output and read more. Less than [`crate::limits::HANDSHAKE_BUFFER`] bytes of input
    /// are unconsumed.
    More,
    /// Start TLS, then call [`Handshake::encrypted`].
    StartTls,
    /// The handshake is complete.
    Ready(Box<Requests>),
}

/// Client side of the handshake.
#[derive(Debug)]
pub struct Handshake {
    wish: ClientDemands,
    state: State,
    with_zeroes: bool,
    is_structured: bool,
    replies: u32,
    export: Option<(u64, u16)>,
    blocks: BlockSizes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Greeting,
    AskedTls,
    Encrypting,
    AskedStructured,
    AskedGo,
    AskedName,
    Ended,
}

enum Step {
    Starved,
    Went { consumed: usize, next: Option<Next> },
}

impl Handshake {
    /// Creates a handshake that waits for a server's greeting.
    ///
    /// # Panics
    /// If the export's name is longer than [`STRING_MAX`].
    #[must_use]
    pub fn new(wish: ClientDemands) -> Self {
        assert!(wish.export.len() <= STRING_MAX, "the name can be sent");
        Self {
            wish,
            state: State::Greeting,
            with_zeroes: true,
            is_structured: false,
            replies: 0,
            export: None,
            blocks: BlockSizes::DEFAULT,
        }
    }

    /// Continues after TLS has begun.
    ///
    /// # Panics
    /// If the handshake did not ask for TLS.
    pub fn encrypted(&mut self, out: &mut Vec<u8>) {
        assert!(self.state == State::Encrypting, "the handshake asked for TLS");
        self.ask_structured(out);
    }

    /// Consumes received bytes and writes the next messages.
    ///
    /// # Errors
    /// If the server violates the protocol, or refuses the export.
    pub fn feed(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<Progress<Next>, ClientError> {
        let mut consumed = 0;
        loop {
            match self.step(&input[consumed..], out)? {
                Step::Starved => return Ok(Progress { consumed, next: Next::More }),
                Step::Went { consumed: more, next: None } => consumed += more,
                Step::Went { consumed: more, next: Some(next) } => {
                    consumed += more;
                    let behind = input.len() - consumed;
                    if matches!(next, Next::StartTls) && behind > 0 {
                        return Err(Violation::AfterTls(behind).into());
                    }
                    return Ok(Progress { consumed, next });
                }
            }
        }
    }

    fn step(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<Step, ClientError> {
        match self.state {
            State::Greeting => self.greeting(input, out),
            State::AskedName => Ok(self.named(input)),
            State::Encrypting | State::Ended => Ok(Step::Starved),
            State::AskedTls | State::AskedStructured | State::AskedGo => self.replied(input, out),
        }
    }

    fn greeting(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<Step, ClientError> {
        let mut reader = Reader(input);
        let parts = (reader.u64(), reader.u64(), reader.u16());
        if let Some(magic) = parts.0 {
            Violation::check("the greeting", magic, wire::GREETING)?;
        }
        if let Some(magic) = parts.1 {
            if magic == wire::OLDSTYLE {
                return Err(ClientError::TooOld("oldstyle handshake", "names of exports"));
            }
            Violation::check("the handshake", magic, wire::OPTION)?;
        }
        let (_, _, Some(flags)) = parts else { return Ok(Step::Starved) };
        let is_fixed = flags & handshake::FIXED_NEWSTYLE != 0;
        if self.wish.tls && !is_fixed {
            return Err(ClientError::TooOld("newstyle handshake that is not fixed", "TLS"));
        }
        let answer = flags & (handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
        self.with_zeroes = flags & handshake::NO_ZEROES == 0;
        out.u32(answer.into());
        match (is_fixed, self.wish.tls) {
            (false, _) => self.ask_name(out),
            (true, true) => self.ask(State::AskedTls, option::STARTTLS, &[], out),
            (true, false) => self.ask_structured(out),
        }
        Ok(went(18))
    }

    fn ask(&mut self, state: State, option: u32, data: &[u8], out: &mut Vec<u8>) {
        (self.state, self.replies) = (state, 0);
        out.u64(wire::OPTION);
        out.u32(option);
        out.u32(short(data.len()));
        out.bytes(data);
    }

    fn ask_structured(&mut self, out: &mut Vec<u8>) {
        if self.wish.structured {
            self.ask(State::AskedStructured, option::STRUCTURED_REPLY, &[], out);
        } else {
            self.ask_go(out);
        }
    }

    fn ask_go(&mut self, out: &mut Vec<u8>) {
        let mut data = Vec::new();
        data.u32(short(self.wish.export.len()));
        data.bytes(self.wish.export.as_bytes());
        data.u16(1);
        data.u16(info::BLOCK_SIZE);
        self.ask(State::AskedGo, option::GO, &data, out);
    }

    /// Falls back to `EXPORT_NAME` for servers without `GO`.
    fn ask_name(&mut self, out: &mut Vec<u8>) {
        let name = self.wish.export.clone().into_bytes();
        self.ask(State::AskedName, option::EXPORT_NAME, &name, out);
    }

    fn named(&mut self, input: &[u8]) -> Step {
        let length = 10 + if self.with_zeroes { wire::PADDING } else { 0 };
        let mut reader = Reader(input);
        let (Some(size), Some(flags)) = (reader.u64(), reader.u16()) else { return Step::Starved };
        if input.len() < length {
            return Step::Starved;
        }
        self.export = Some((size, flags));
        Step::Went { consumed: length, next: Some(self.ready(size, flags)) }
    }

    fn asked(&self) -> u32 {
        match self.state {
            State::AskedTls => option::STARTTLS,
            State::AskedStructured => option::STRUCTURED_REPLY,
            _ => option::GO,
        }
    }

    fn replied(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<Step, ClientError> {
        let Some(reply) = Reply::read(input, self.asked(), OPTION_REPLY_MAX)? else {
            return Ok(Step::Starved);
        };
        self.replies += 1;
        if self.replies > OPTION_REPLIES_MAX {
            let what = "replies to one option";
            return Err(Violation::reply(what, self.replies, OPTION_REPLIES_MAX).into());
        }
        let consumed = wire::OPTION_REPLY_HEADER + reply.data.len();
        let next = match self.state {
            State::AskedTls => self.tls_replied(&reply)?,
            State::AskedStructured => self.structured_replied(&reply, out)?,
            _ => self.go_replied(&reply, out)?,
        };
        Ok(Step::Went { consumed, next })
    }

    fn tls_replied(&mut self, reply: &Reply<'_>) -> Result<Option<Next>, ClientError> {
        if reply.kind == reply::ACK {
            self.state = State::Encrypting;
            return Ok(Some(Next::StartTls));
        }
        Err(self.refused("TLS", reply))
    }

    fn structured_replied(
        &mut self,
        reply: &Reply<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Next>, ClientError> {
        match reply.kind {
            reply::ACK => self.is_structured = true,
            reply::UNSUPPORTED | reply::POLICY | reply::PLATFORM => {}
            _ => return Err(self.refused("structured replies", reply)),
        }
        self.ask_go(out);
        Ok(None)
    }

    fn go_replied(
        &mut self,
        reply: &Reply<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Next>, ClientError> {
        match reply.kind {
            reply::INFO => {
                self.informed(reply.data)?;
                Ok(None)
            }
            reply::ACK => {
                let told = self.export.ok_or_else(|| {
                    Violation::reply("an export's size", "none before the end", "one")
                })?;
                Ok(Some(self.ready(told.0, told.1)))
            }
            reply::UNSUPPORTED => {
                self.ask_name(out);
                Ok(None)
            }
            _ => Err(self.refused("use", reply)),
        }
    }

    fn informed(&mut self, data: &[u8]) -> Result<(), Violation> {
        let mut reader = Reader(data);
        match reader.u16() {
            Some(info::EXPORT) => self.export = Some(read_export(reader.0)?),
            Some(info::BLOCK_SIZE) => self.blocks = read_block_sizes(reader.0)?,
            Some(_) => {}
            None => return Err(Violation::reply("an information", "no kind", "two bytes of it")),
        }
        Ok(())
    }

    fn refused(&self, what: &'static str, reply: &Reply<'_>) -> ClientError {
        let Some(reason) = reason(reply.kind) else {
            let wanted = "one that fits the option";
            return Violation::reply("a kind of reply", reply.kind, wanted).into();
        };
        let message = string(reply.data).filter(|text| !text.is_empty());
        let message = message.map(|text| format!(": {}", text.escape_debug())).unwrap_or_default();
        let export = self.wish.export.clone();
        ClientError::Refused { what, export, reason, message }
    }

    fn ready(&mut self, size: u64, flags: u16) -> Next {
        self.state = State::Ended;
        let agreed = Agreed {
            export: self.wish.export.clone(),
            size,
            abilities: Abilities::from_wire(flags),
            blocks: self.blocks,
            is_structured: self.is_structured,
        };
        Next::Ready(Box::new(Requests::new(agreed)))
    }
}

fn went(consumed: usize) -> Step {
    Step::Went { consumed, next: None }
}
