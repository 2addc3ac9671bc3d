use std::borrow::Cow;
use std::fmt::Write as _;

use crate::{Purpose, Stream};

/// Request text of calls, with placeholders for values that are drawn for each call.
///
/// `{1..1000}` is a whole number from 1 to 1000, uniformly distributed. `{small*60|large*2}` is one
/// of the texts, chosen by weight. `{user=1..1000}` has the same value in all calls of an action.
/// `{{` and `}}` are braces. Values are derived from the random numbers of the call ([`Draws`]), so
/// the same seed gives the same requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestText {
    parts: Vec<TemplatePart>,
    numbered: String,
}

/// Random numbers from which the values of a call are derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Draws {
    /// Random number of the call.
    pub call: u64,
    /// Random number of the action that makes the call.
    pub action: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Fixed(String),
    Drawn {
        /// Name of a value that is the same in all calls of an action; `None` if it is drawn for
        /// each call.
        name: Option<String>,
        from: Source,
    },
}

/// Possible values of a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Between(u64, u64),
    /// Texts, each with the cumulative weight up to and including it.
    OneOf(Vec<(String, u64)>),
}

/// Error in a request text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RequestTextError {
    /// A brace has no partner.
    #[error("a brace has no partner; write a literal brace twice")]
    Brace,
    /// A range `{LOW..HIGH}` has an invalid number, or LOW is above HIGH.
    #[error("a range must be {{LOW..HIGH}}, whole numbers with LOW at most HIGH")]
    Range,
    /// The name before `=` has a character other than ASCII letters, digits, `-` and `_`.
    #[error("a name before = may have ASCII letters, digits, - and _")]
    Name,
    /// Choices have invalid weights or texts.
    #[error(
        "choices must be {{TEXT*WEIGHT|TEXT*WEIGHT}}, texts of ASCII letters, digits, - and _, and \
         whole weights above 0"
    )]
    Choices,
}

impl RequestText {
    /// Parses a request text.
    ///
    /// # Errors
    /// If braces do not match, or contain neither a range nor choices.
    pub fn parse(text: &str) -> Result<Self, RequestTextError> {
        let (mut parts, mut fixed, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            fixed.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(behind) = rest.strip_prefix(brace) {
                fixed.push_str(brace);
                rest = behind;
            } else if brace == "{" {
                let (inner, behind) = rest.split_once('}').ok_or(RequestTextError::Brace)?;
                if !fixed.is_empty() {
                    parts.push(TemplatePart::Fixed(std::mem::take(&mut fixed)));
                }
                parts.push(drawn(inner)?);
                rest = behind;
            } else {
                return Err(RequestTextError::Brace);
            }
        }
        fixed.push_str(rest);
        if !fixed.is_empty() {
            parts.push(TemplatePart::Fixed(fixed));
        }
        let numbered = numbered(&parts);
        Ok(Self { parts, numbered })
    }

    /// Returns true if the text has placeholders.
    pub fn has_draws(&self) -> bool {
        self.parts.iter().any(|part| !matches!(part, TemplatePart::Fixed(_)))
    }

    /// Returns the text with `$1`, `$2` in place of the values. A service can prepare it once as a
    /// statement.
    pub fn numbered(&self) -> &str {
        &self.numbered
    }

    /// Returns the values of a call, in the order of the placeholders.
    pub fn values(&self, draws: Draws) -> Vec<Cow<'_, str>> {
        let mut stream = Stream::derive(draws.call, &[], Purpose::Request);
        self.parts.iter().filter_map(|part| part.draw(draws, &mut stream)).collect()
    }

    /// Returns the text of a call, with its values filled in.
    pub fn filled(&self, draws: Draws) -> Cow<'_, str> {
        if let [TemplatePart::Fixed(text)] = &self.parts[..] {
            return Cow::Borrowed(text);
        }
        let mut stream = Stream::derive(draws.call, &[], Purpose::Request);
        let mut text = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Fixed(fixed) => text.push_str(fixed),
                drawn => text.push_str(&drawn.draw(draws, &mut stream).unwrap_or_default()),
            }
        }
        Cow::Owned(text)
    }
}

impl TemplatePart {
    fn draw(&self, draws: Draws, stream: &mut Stream) -> Option<Cow<'_, str>> {
        let Self::Drawn { name, from } = self else { return None };
        Some(match name {
            None => from.draw(stream),
            Some(name) => {
                let path: Vec<u64> = name.bytes().map(u64::from).collect();
                from.draw(&mut Stream::derive(draws.action, &path, Purpose::Request))
            }
        })
    }
}

impl Source {
    fn draw(&self, stream: &mut Stream) -> Cow<'_, str> {
        match self {
            Self::Between(low, high) => {
                let number = match (high - low).checked_add(1) {
                    Some(count) => low + stream.below(count),
                    None => stream.bits(),
                };
                Cow::Owned(number.to_string())
            }
            Self::OneOf(choices) => {
                let total = choices.last().map_or(1, |(_, sum)| *sum);
                let drawn = stream.below(total);
                let chosen = choices.iter().find(|(_, sum)| drawn < *sum);
                Cow::Borrowed(chosen.map_or("", |(text, _)| text))
            }
        }
    }

    fn parse(text: &str) -> Result<Self, RequestTextError> {
        if let Some((low, high)) = text.split_once("..") {
            let number = |text: &str| text.parse().map_err(|_| RequestTextError::Range);
            let (low, high) = (number(low)?, number(high)?);
            let is_range = low <= high;
            return is_range.then_some(Self::Between(low, high)).ok_or(RequestTextError::Range);
        }
        let mut sum = 0_u64;
        let choice = |choice: &str| {
            let (text, weight) = choice.rsplit_once('*')?;
            let weight = weight.parse::<u32>().ok().filter(|weight| *weight > 0)?;
            sum += u64::from(weight);
            // No dot, slash or quote can come out of a choice, so a protocol that checks the text
            // around the places has checked every request.
            is_plain(text).then(|| (text.to_owned(), sum))
        };
        let choices: Option<Vec<_>> = text.split('|').map(choice).collect();
        choices.map(Self::OneOf).ok_or(RequestTextError::Choices)
    }
}

fn drawn(inner: &str) -> Result<TemplatePart, RequestTextError> {
    let (name, from) = match inner.split_once('=') {
        Some((name, _)) if !is_plain(name) => return Err(RequestTextError::Name),
        Some((name, from)) => (Some(name.to_owned()), from),
        None => (None, inner),
    };
    Ok(TemplatePart::Drawn { name, from: Source::parse(from)? })
}

fn is_plain(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !text.is_empty() && text.bytes().all(is_plain)
}

fn numbered(parts: &[TemplatePart]) -> String {
    let (mut text, mut number) = (String::new(), 0);
    for part in parts {
        if let TemplatePart::Fixed(fixed) = part {
            text.push_str(fixed);
        } else {
            number += 1;
            // Writing to a string cannot fail.
            let _ = write!(text, "${number}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_in_their_range_and_repeat_with_the_draw() {
        let text = RequestText::parse("select f({1..3}, '{{{a*1|b*3}}}')").expect("a text");
        assert!(text.has_draws());
        assert_eq!(text.numbered(), "select f($1, '{$2}')");
        let mut seen = [[0_u32; 2]; 3];
        for draw in 0..1000 {
            let draws = Draws { call: draw, action: 7 };
            let values = text.values(draws);
            let number: usize = values[0].parse().expect("a number");
            seen[number - 1][usize::from(values[1] == "b")] += 1;
            let filled = format!("select f({}, '{{{}}}')", values[0], values[1]);
            assert_eq!(text.filled(draws), filled);
        }
        // Binomial: 250 of 1000 expected with a standard deviation of 14; five of them.
        let of_a: u32 = seen.iter().map(|[a, _]| a).sum();
        assert!((180..320).contains(&of_a), "{of_a}");
        assert!(seen.iter().flatten().all(|count| *count > 0));
    }

    #[test]
    fn text_without_places_is_itself() {
        for text in ["", "items?page=2", "a..b*c|d"] {
            let read = RequestText::parse(text).expect("a text");
            assert!(!read.has_draws());
            assert_eq!((read.filled(Draws::default()).as_ref(), read.numbered()), (text, text));
        }
    }

    #[test]
    fn malformed_places_are_refused() {
        use RequestTextError::{Brace, Choices, Name, Range};
        for (text, error) in [
            ("{", Brace),
            ("}", Brace),
            ("a}b", Brace),
            ("{1..2", Brace),
            ("{2..1}", Range),
            ("{1..}", Range),
            ("{-1..2}", Range),
            ("{}", Choices),
            ("{a}", Choices),
            ("{a*0}", Choices),
            ("{a*1|b}", Choices),
            ("{*1}", Choices),
            ("{=1..2}", Name),
            ("{a b=1..2}", Name),
            ("{.*1}", Choices),
            ("{a/b*1}", Choices),
        ] {
            assert_eq!(RequestText::parse(text), Err(error), "{text}");
        }
        let all = RequestText::parse("{0..18446744073709551615}").expect("every number");
        assert_eq!(all.values(Draws::default()).len(), 1);
    }

    #[test]
    fn named_value_is_the_same_in_all_calls_of_an_action() {
        let text = RequestText::parse("{user=1..1000000}").expect("a text");
        let again =
            RequestText::parse("{1..9} {user=1..1000000} {other=1..1000000}").expect("a text");
        let value = |call, action| text.values(Draws { call, action })[0].clone().into_owned();
        assert_eq!(value(1, 5), value(2, 5));
        assert_ne!(value(1, 5), value(1, 6));
        let others = again.values(Draws { call: 3, action: 5 });
        assert_eq!(others[1], value(1, 5));
        assert_ne!(others[2], others[1]);
    }
}
