use state_machine::{Purpose, Stream};
use units::Nanos;

use crate::desk::{Hold, Span};
use crate::schedule::{Kind, Op, Rule, Schedule, fits};

const SECTOR: u64 = 512;
/// Alignment of the target of misdirected writes, so that they hit another block.
const BLOCK: u64 = 4096;

/// Decides which requests are affected by a schedule's faults.
#[derive(Debug)]
pub struct Judge {
    rules: Vec<(Rule, Counts)>,
}

#[derive(Debug)]
struct Counts {
    random: Stream,
    seen: u64,
    done: u64,
    /// Earliest time of the next answer, for a rule with a maximum rate.
    next: Nanos,
}

/// Request, with the facts that rules use.
#[derive(Debug, Clone, Copy)]
pub struct JudgedRequest<'a> {
    /// Operation.
    pub op: Op,
    /// Path below the mount point.
    pub path: &'a str,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// Size of the file before the request.
    pub size: u64,
}

/// Faults of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// Delay of the request's answer.
    pub hold: Hold,
    /// Positions of the rules that delay it.
    pub delays: Vec<usize>,
    /// Change of the request's effect, with the position of the rule.
    pub change: Option<(usize, Change)>,
}

/// Change of a request's effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The request has no effect, and this error number is the answer.
    Error(i32),
    /// Only this number of bytes is transferred.
    Short(u64),
    /// The request has no effect, but succeeds.
    Lost,
    /// Only this number of bytes is written.
    Torn(u64),
    /// The data is written to this offset instead.
    Misdirected(u64),
    /// The next read returns the old bytes.
    Stale,
    /// One bit is inverted, in a byte counted from the request's first.
    BitFlip {
        /// Position of the byte in the request.
        byte: u64,
        /// Position of the bit, 0 to 7.
        bit: u8,
    },
    /// The file is not removed but gets another name.
    SillyRename,
}

impl Judge {
    /// Creates the judge of a schedule, at the start.
    pub fn new(schedule: &Schedule, seed: u64) -> Self {
        let counts = |place: u64| Counts {
            random: Stream::derive(seed, &[place], Purpose::Device),
            seen: 0,
            done: 0,
            next: Nanos::ZERO,
        };
        let rules = schedule.rules.iter().cloned().zip((0..).map(counts)).collect();
        Self { rules }
    }

    /// Returns true if there are no rules.
    pub fn is_idle(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns the kind of a rule.
    pub fn kind(&self, rule: usize) -> Kind {
        self.rules[rule].0.kind
    }

    /// Decides about a request that arrives now.
    pub fn verdict(&mut self, now: Nanos, seen: &JudgedRequest) -> Verdict {
        let mut verdict = Verdict::default();
        for (place, (rule, counts)) in self.rules.iter_mut().enumerate() {
            let is_hang = rule.kind == Kind::Hang;
            let begun = is_hang || rule.from <= now;
            let fits = begun && now < rule.until() && rule.ops().contains(&seen.op);
            let is_free = verdict.change.is_none() || matches!(rule.kind, Kind::Delay | Kind::Hang);
            if !fits || !is_free || !self::fits(&rule.path, seen.path) || !is_possible(rule, seen) {
                continue;
            }
            if !counts.strikes(rule) {
                continue;
            }
            match rule.kind {
                Kind::Delay => {
                    let by = rule.by.unwrap_or_default().saturating_add(counts.turn(now, rule));
                    verdict.hold.delay = verdict.hold.delay.saturating_add(by);
                    verdict.delays.push(place);
                }
                Kind::Hang => {
                    let span = Span { from: rule.from, until: rule.until(), rule: place };
                    verdict.hold.spans.push(span);
                }
                kind => {
                    verdict.change = change(kind, seen, &mut counts.random).map(|to| (place, to))
                }
            }
        }
        verdict
    }
}

impl Counts {
    fn strikes(&mut self, rule: &Rule) -> bool {
        self.seen += 1;
        // One random number for each request, whatever the result.
        let strikes = self.random.chance(rule.probability.get());
        let strikes = strikes && self.seen > rule.after && self.done < rule.times;
        self.done += u64::from(strikes);
        strikes
    }

    /// Returns the time from now until the request's turn, if the rule has a maximum rate.
    fn turn(&mut self, now: Nanos, rule: &Rule) -> Nanos {
        let Some(rate) = rule.at_most else { return Nanos::ZERO };
        let turn = self.next.max(now);
        self.next = turn.saturating_add(Nanos::from_secs_f64(1.0 / rate.get()));
        turn.saturating_sub(now)
    }
}

/// Returns true if the rule's fault can happen to this request at all.
fn is_possible(rule: &Rule, seen: &JudgedRequest) -> bool {
    match rule.kind {
        Kind::Torn => seen.length > SECTOR,
        Kind::Short => seen.length > SECTOR && seen.length.is_multiple_of(SECTOR),
        Kind::Misdirected => seen.length > 0 && places(seen) > 2,
        Kind::Lost | Kind::Stale | Kind::BitFlip => seen.length > 0,
        _ => true,
    }
}

/// Returns the number of positions in the file at which the whole request fits.
const fn places(seen: &JudgedRequest) -> u64 {
    seen.size.saturating_sub(seen.offset % BLOCK) / seen.length.next_multiple_of(BLOCK)
}

fn change(kind: Kind, seen: &JudgedRequest, random: &mut Stream) -> Option<Change> {
    let sectors = seen.length.div_ceil(SECTOR);
    Some(match kind {
        Kind::Delay | Kind::Hang => return None,
        Kind::Eio => Change::Error(rustix::io::Errno::IO.raw_os_error()),
        Kind::Enospc => Change::Error(rustix::io::Errno::NOSPC.raw_os_error()),
        Kind::Short => Change::Short(SECTOR * (1 + random.below(sectors - 1))),
        Kind::Lost => Change::Lost,
        Kind::Torn => Change::Torn(SECTOR * (1 + random.below(sectors - 1))),
        Kind::Misdirected => Change::Misdirected(elsewhere(seen, random)?),
        Kind::Stale => Change::Stale,
        Kind::BitFlip => {
            let bit = random.below(8 * seen.length);
            Change::BitFlip { byte: bit / 8, bit: u8::try_from(bit % 8).unwrap_or(0) }
        }
        Kind::SillyRename => Change::SillyRename,
    })
}

/// Returns another position in the file for the whole request, without overlap with the intended
/// one. A request overlaps at most two positions.
fn elsewhere(seen: &JudgedRequest, random: &mut Stream) -> Option<u64> {
    let step = seen.length.next_multiple_of(BLOCK);
    let count = places(seen);
    let first = random.below(count);
    let at = |turn: u64| (first + turn) % count * step + seen.offset % BLOCK;
    let is_apart = |at: &u64| *at >= seen.offset + seen.length || seen.offset >= *at + seen.length;
    (0..count).map(at).find(is_apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(op: Op) -> JudgedRequest<'static> {
        JudgedRequest { op, path: "a.disk", offset: 8192, length: 4096, size: 1 << 20 }
    }

    fn judge(text: &str, seed: u64) -> Judge {
        Judge::new(&Schedule::parse("f.toml", text).expect("valid"), seed)
    }

    fn struck(judge: &mut Judge, count: u64) -> Vec<u64> {
        let hit = |at: &u64| judge.verdict(Nanos(*at), &seen(Op::Write)).change.is_some();
        (0..count).filter(hit).collect()
    }

    #[test]
    fn seed_decides_which_requests_get_a_fault() {
        let text = "[[fault]]\nkind = \"lost\"\nprobability = \"10%\"";
        let first = struck(&mut judge(text, 1), 1000);
        assert_eq!(first, struck(&mut judge(text, 1), 1000));
        assert_ne!(first, struck(&mut judge(text, 2), 1000));
        assert!((70..130).contains(&first.len()), "{}", first.len());
    }

    #[test]
    fn after_and_times_bound_what_is_struck() {
        let text = "[[fault]]\nkind = \"torn\"\nafter = 3\ntimes = 2";
        assert_eq!(struck(&mut judge(text, 1), 10), [3, 4]);
    }

    #[test]
    fn a_rule_is_about_its_time_its_files_and_its_operations() {
        let text = "[[fault]]\nkind = \"eio\"\non = [\"write\"]\npath = \"*.disk\"\nfrom = \"1s\"\nfor = \"1s\"";
        let mut judge = judge(text, 1);
        let mut strikes =
            |at: u64, seen: &JudgedRequest| judge.verdict(Nanos(at), seen).change.is_some();
        let second = Nanos::SECOND.0;
        assert!(!strikes(second - 1, &seen(Op::Write)));
        assert!(strikes(second, &seen(Op::Write)));
        assert!(!strikes(second, &seen(Op::Read)));
        assert!(!strikes(second, &JudgedRequest { path: "a.state", ..seen(Op::Write) }));
        assert!(strikes(2 * second - 1, &seen(Op::Write)));
        assert!(!strikes(2 * second, &seen(Op::Write)));
    }

    #[test]
    fn a_hang_also_holds_what_arrived_before_it() {
        let text = "[[fault]]\nkind = \"hang\"\nfrom = \"2s\"\nfor = \"3s\"";
        let verdict = judge(text, 1).verdict(Nanos::SECOND, &seen(Op::Read));
        let seconds = Nanos::from_secs;
        assert_eq!(verdict.hold.release(seconds(1)), (seconds(1), None));
        assert_eq!(verdict.hold.release(seconds(2)), (seconds(5), Some(0)));
        assert_eq!(verdict.hold.release(seconds(5)), (seconds(5), None));
    }

    #[test]
    fn delays_add_up_and_the_first_change_counts() {
        let text = "[[fault]]\nkind = \"delay\"\nby = \"1ms\"\n[[fault]]\nkind = \"lost\"\n\
                    [[fault]]\nkind = \"eio\"\n[[fault]]\nkind = \"delay\"\nby = \"2ms\"";
        let verdict = judge(text, 1).verdict(Nanos::ZERO, &seen(Op::Write));
        assert_eq!(verdict.hold.delay, Nanos::from_millis(3));
        assert_eq!((verdict.delays, verdict.change), (vec![0, 3], Some((1, Change::Lost))));
    }

    #[test]
    fn a_rate_gives_each_request_its_turn_and_saves_nothing_up() {
        let mut judge = judge("[[fault]]\nkind = \"delay\"\nat-most = \"100/s\"", 1);
        let mut delay = |at| judge.verdict(Nanos::from_millis(at), &seen(Op::Read)).hold.delay;
        let delays: Vec<u64> =
            [0, 0, 4, 500, 501].map(&mut delay).map(|it| it.0 / 1_000_000).into();
        assert_eq!(delays, [0, 10, 16, 0, 9]);
    }

    #[test]
    fn a_misdirected_write_never_touches_where_it_was_meant() {
        let mut judge = judge("[[fault]]\nkind = \"misdirected\"", 1);
        let lengths = [512, 4096, 8192, 12288].into_iter().cycle();
        for (block, length) in (0..2000).zip(lengths) {
            let size = 64 << 10;
            let offset = block * 512 % (size - length);
            let seen = JudgedRequest { offset, length, size, ..seen(Op::Write) };
            let change = judge.verdict(Nanos::ZERO, &seen).change;
            let Some((_, Change::Misdirected(to))) = change else { panic!("{seen:?}: {change:?}") };
            assert!(to + length <= size, "{seen:?} went to {to}, beyond the end");
            assert!(to >= offset + length || offset >= to + length, "{seen:?} went to {to}");
        }
    }

    #[test]
    fn what_cannot_be_torn_or_sent_elsewhere_is_left_alone() {
        let mut torn = judge("[[fault]]\nkind = \"torn\"", 1);
        let sector = JudgedRequest { length: 512, ..seen(Op::Write) };
        assert_eq!(torn.verdict(Nanos::ZERO, &sector).change, None);
        let mut misdirected = judge("[[fault]]\nkind = \"misdirected\"", 1);
        let whole = JudgedRequest { offset: 0, length: 1 << 20, ..seen(Op::Write) };
        assert_eq!(misdirected.verdict(Nanos::ZERO, &whole).change, None);
    }
}
