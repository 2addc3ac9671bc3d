use super::options::{Answer, Known, check_name, info, list, list_contexts, query};
use super::session::Session;
use crate::bytes::{Reader, Write, string};
use crate::limits::{HANDSHAKE_OUTPUT, OPTION_MAX, OPTION_SKIP_MAX, OPTIONS_MAX};
use crate::wire::{self, handshake, option, reply};
use crate::{Export, Progress, Violation};

/// State of a connection's encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// TLS is not available.
    None,
    /// TLS is available, and a client may request it.
    Offered,
    /// TLS is required. Until it is active, only the request to start it is answered.
    Required,
    /// TLS is active.
    Active,
}

/// Next action that the driver must take.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Send the output and read more. Less than [`crate::limits::HANDSHAKE_BUFFER`] bytes of input
    /// are unconsumed.
    More,
    /// Send the output before the next call. It is already large, and a client that sends options
    /// without reading answers would enlarge it.
    Send,
    /// A client chooses an export of this name, which is not offered. The driver may add the export
    /// now and calls again. If it does not add one, the client gets an error.
    Wanted(String),
    /// Send the output, begin TLS, and call [`Handshake::encrypted`].
    StartTls,
    /// Send the output; requests follow.
    Serve(Session),
    /// Send the output and close the connection.
    Close,
}

/// Server side of the handshake.
#[derive(Debug)]
pub struct Handshake {
    state: State,
    tls: Tls,
    is_fixed: bool,
    with_zeroes: bool,
    is_structured: bool,
    knows_blocks: bool,
    options: u32,
    /// True to ask the driver for exports that are not offered. `has_asked` is true once it was
    /// asked for the present option.
    asks: bool,
    has_asked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Expects the client's flags.
    Flags,
    /// Expects an option.
    Option,
    /// Skips the data of an option, then answers it.
    Skip {
        option: u32,
        left: usize,
        answer: Answer,
    },
    /// The driver must start TLS.
    Encrypting,
    Ended,
}

/// Result of one step.
enum Step {
    /// There is not enough input.
    Starved,
    Went {
        consumed: usize,
        next: Option<Next>,
    },
}

const OFFERED: u16 = handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES;

impl Handshake {
    /// Creates a handshake and writes the greeting to the client.
    #[must_use]
    pub fn new(tls: Tls, out: &mut Vec<u8>) -> Self {
        out.u64(wire::GREETING);
        out.u64(wire::OPTION);
        out.u16(OFFERED);
        Self {
            state: State::Flags,
            tls,
            is_fixed: false,
            with_zeroes: true,
            is_structured: false,
            knows_blocks: false,
            options: 0,
            asks: false,
            has_asked: false,
        }
    }

    /// Enables [`Next::Wanted`], which asks the driver for exports that are not offered.
    pub fn ask_for_others(&mut self) {
        self.asks = true;
    }

    /// Records that TLS is active, and discards the earlier unencrypted negotiation (the
    /// specification, `STARTTLS`).
    ///
    /// # Panics
    /// If the client did not request TLS.
    pub fn encrypted(&mut self) {
        assert!(self.state == State::Encrypting, "the handshake asked for TLS");
        (self.tls, self.state) = (Tls::Active, State::Option);
        (self.is_structured, self.knows_blocks) = (false, false);
    }

    /// Handles input and writes the answers.
    ///
    /// # Errors
    /// If the client violated the protocol, or its request cannot be answered.
    pub fn feed(
        &mut self,
        exports: &[Export],
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress<Next>, Violation> {
        let mut consumed = 0;
        loop {
            match self.step(exports, &input[consumed..], out)? {
                Step::Starved => return Ok(Progress { consumed, next: Next::More }),
                Step::Went { consumed: more, next: None } => {
                    consumed += more;
                    if out.len() >= HANDSHAKE_OUTPUT {
                        return Ok(Progress { consumed, next: Next::Send });
                    }
                }
                Step::Went { consumed: more, next: Some(next) } => {
                    consumed += more;
                    let behind = input.len() - consumed;
                    if next == Next::StartTls && behind > 0 {
                        return Err(Violation::AfterTls(behind));
                    }
                    return Ok(Progress { consumed, next });
                }
            }
        }
    }

    fn step(
        &mut self,
        exports: &[Export],
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step, Violation> {
        match self.state {
            State::Flags => self.flags(input),
            State::Option => self.option(exports, input, out),
            State::Skip { option, left, answer } => {
                let skipped = left.min(input.len());
                if skipped < left {
                    self.state = State::Skip { option, left: left - skipped, answer };
                    return Ok(if skipped == 0 { Step::Starved } else { went(skipped) });
                }
                self.state = State::Option;
                answer.write(option, out);
                Ok(went(skipped))
            }
            State::Encrypting | State::Ended => Ok(Step::Starved),
        }
    }

    fn flags(&mut self, input: &[u8]) -> Result<Step, Violation> {
        let Some(flags) = Reader(input).u32() else { return Ok(Step::Starved) };
        if flags & !u32::from(OFFERED) != 0 {
            return Err(Violation::ClientFlags(flags));
        }
        self.is_fixed = flags & u32::from(handshake::FIXED_NEWSTYLE) != 0;
        self.with_zeroes = flags & u32::from(handshake::NO_ZEROES) == 0;
        self.state = State::Option;
        Ok(went(4))
    }

    fn option(
        &mut self,
        exports: &[Export],
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step, Violation> {
        let mut reader = Reader(input);
        let header = (reader.u64(), reader.u32(), reader.u32());
        if let Some(magic) = header.0 {
            Violation::check("an option", magic, wire::OPTION)?;
        }
        let (_, Some(option), Some(length)) = header else { return Ok(Step::Starved) };
        self.check_option(option, length)?;
        let known = match self.known(option) {
            Ok(known) if length as usize <= OPTION_MAX => known,
            Ok(_) => return Ok(self.skip(option, length, Answer::of(reply::TOO_BIG))),
            Err(answer) => return Ok(self.skip(option, length, answer)),
        };
        let Some(data) = reader.take(length as usize) else { return Ok(Step::Starved) };
        if let Some(name) = self.wanted(known, exports, data) {
            return Ok(Step::Went { consumed: 0, next: Some(Next::Wanted(name)) });
        }
        self.options += 1;
        let next = self.carry_out(known, exports, data, out)?;
        Ok(Step::Went { consumed: wire::OPTION_HEADER + data.len(), next })
    }

    /// Returns the name of an export that is not offered, to ask the driver for it. Asks only once
    /// for each option.
    fn wanted(&mut self, known: Known, exports: &[Export], data: &[u8]) -> Option<String> {
        if !self.asks || std::mem::take(&mut self.has_asked) {
            return None;
        }
        let name = match known {
            Known::ExportName => data,
            Known::Go => Reader(data).counted()?,
            _ => return None,
        };
        let name = string(name).filter(|_| check_name(exports, name).is_err())?;
        self.has_asked = true;
        Some(name.to_owned())
    }

    /// Refuses options that must end the connection at once.
    fn check_option(&self, option: u32, length: u32) -> Result<(), Violation> {
        if self.options >= OPTIONS_MAX {
            return Err(Violation::Options(OPTIONS_MAX));
        }
        if option == option::EXPORT_NAME && self.tls == Tls::Required {
            return Err(Violation::Export("this server requires TLS first"));
        }
        if option == option::EXPORT_NAME && length as usize > OPTION_MAX {
            return Err(Violation::Export("its name is too long"));
        }
        if option != option::EXPORT_NAME && !self.is_fixed {
            return Err(Violation::NotFixed(option));
        }
        if length > OPTION_SKIP_MAX {
            return Err(Violation::OptionLength { option, length, max: OPTION_SKIP_MAX });
        }
        Ok(())
    }

    /// Returns the kind of an option, if it is known and allowed now.
    fn known(&self, option: u32) -> Result<Known, Answer> {
        let known = Known::of(option);
        if self.tls == Tls::Required && !matches!(known, Some(Known::StartTls | Known::Abort)) {
            return Err(Answer::of(reply::TLS_REQUIRED));
        }
        known.ok_or(Answer::of(reply::UNSUPPORTED))
    }

    fn skip(&mut self, option: u32, length: u32, answer: Answer) -> Step {
        self.options += 1;
        self.state = State::Skip { option, left: length as usize, answer };
        went(wire::OPTION_HEADER)
    }

    fn carry_out(
        &mut self,
        known: Known,
        exports: &[Export],
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Next>, Violation> {
        let option = known.number();
        let answer = match known {
            Known::ExportName => return self.export_name(exports, data, out).map(Some),
            Known::Abort => {
                Answer::of(reply::ACK).write(option, out);
                self.state = State::Ended;
                return Ok(Some(Next::Close));
            }
            Known::StartTls => {
                let answer = self.start_tls(data);
                answer.write(option, out);
                return Ok((answer == Answer::of(reply::ACK)).then_some(Next::StartTls));
            }
            Known::List => list(exports, data, out),
            Known::StructuredReply if !data.is_empty() => Answer::of(reply::INVALID),
            Known::StructuredReply => {
                self.is_structured = true;
                Answer::of(reply::ACK)
            }
            Known::ListContexts | Known::SetContexts => {
                list_contexts(exports, data, self.is_structured)
            }
            Known::Info | Known::Go => match query(exports, data) {
                Err(answer) => answer,
                Ok(asked) => {
                    self.knows_blocks |= asked.wants_blocks;
                    info(option, &asked, self.is_structured, out);
                    Answer::of(reply::ACK).write(option, out);
                    let export = asked.export;
                    return Ok((known == Known::Go).then(|| self.serve(export)));
                }
            },
        };
        answer.write(option, out);
        Ok(None)
    }

    fn start_tls(&mut self, data: &[u8]) -> Answer {
        match self.tls {
            Tls::None => Answer::of(reply::POLICY),
            Tls::Active => Answer::of(reply::INVALID),
            _ if !data.is_empty() => Answer::of(reply::INVALID),
            Tls::Offered | Tls::Required => {
                self.state = State::Encrypting;
                Answer::of(reply::ACK)
            }
        }
    }

    fn export_name(
        &mut self,
        exports: &[Export],
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Next, Violation> {
        let export = check_name(exports, data)
            .map_err(|_| Violation::Export("there is no export of that name"))?;
        out.u64(export.size());
        out.u16(export.abilities().to_wire(self.is_structured));
        if self.with_zeroes {
            out.bytes(&[0; wire::PADDING]);
        }
        Ok(self.serve(export))
    }

    fn serve(&mut self, export: &Export) -> Next {
        self.state = State::Ended;
        let (is_structured, knows_blocks) = (self.is_structured, self.knows_blocks);
        Next::Serve(Session { export: export.clone(), is_structured, knows_blocks })
    }
}

fn went(consumed: usize) -> Step {
    Step::Went { consumed, next: None }
}
