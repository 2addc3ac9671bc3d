use std::ops::Range;

use super::error::FormulaError;
use super::tree::Comparison;

/// A token of a formula, with its byte range.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub at: Range<usize>,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Number(f64),
    Text(String),
    Word(String),
    Open,
    Close,
    Comma,
    Plus,
    Minus,
    Times,
    Over,
    Compare(Comparison),
}

/// Units of numbers, with their factors.
const UNITS: [(&str, f64); 10] = [
    ("%", 0.01),
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];

/// Splits a formula into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, FormulaError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Result<Option<Token>, FormulaError> {
        self.at += self.rest().len() - self.rest().trim_start().len();
        let start = self.at;
        let Some(first) = self.rest().chars().next() else { return Ok(None) };
        let kind = match first {
            '0'..='9' | '.' => self.number()?,
            '"' | '\'' => self.quoted(first)?,
            letter if letter.is_ascii_alphabetic() || letter == '_' => self.word(),
            _ => self.symbol(first)?,
        };
        Ok(Some(Token { at: start..self.at, kind }))
    }

    /// Takes the longest prefix of the rest whose characters satisfy `is_in`.
    fn take(&mut self, is_in: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|letter| !is_in(letter)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn number(&mut self) -> Result<Kind, FormulaError> {
        let start = self.at;
        self.take(|letter| letter.is_ascii_digit() || letter == '.' || letter == '_');
        self.exponent();
        let digits = self.text[start..self.at].replace('_', "");
        let Ok(number) = digits.parse::<f64>() else {
            return Err(FormulaError::new(start..self.at, format!("\"{digits}\" is not a number")));
        };
        let unit_at = self.at;
        let unit = if self.rest().starts_with('%') {
            self.at += 1;
            "%"
        } else {
            self.take(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        if unit.is_empty() {
            return Ok(Kind::Number(number));
        }
        match UNITS.iter().find(|(name, _)| *name == unit) {
            Some((_, factor)) => Ok(Kind::Number(number * factor)),
            None => {
                let known = UNITS.map(|(name, _)| name).join(", ");
                let message = format!("\"{unit}\" is not a unit");
                Err(FormulaError::new(unit_at..self.at, message)
                    .help(format!("known units: {known}; times are numbers of milliseconds")))
            }
        }
    }

    fn exponent(&mut self) {
        let rest = self.rest();
        let Some(after) = rest.strip_prefix(['e', 'E']) else { return };
        let digits = after.strip_prefix(['+', '-']).unwrap_or(after);
        if digits.starts_with(|letter: char| letter.is_ascii_digit()) {
            self.at += rest.len() - digits.len();
            self.take(|letter| letter.is_ascii_digit());
        }
    }

    fn quoted(&mut self, quote: char) -> Result<Kind, FormulaError> {
        let start = self.at;
        let inside = &self.rest()[1..];
        let Some(length) = inside.find(quote) else {
            return Err(FormulaError::new(start..self.text.len(), "the closing quote is missing"));
        };
        self.at += length + 2;
        Ok(Kind::Text(inside[..length].to_owned()))
    }

    fn word(&mut self) -> Kind {
        Kind::Word(self.take(|letter| letter.is_ascii_alphanumeric() || letter == '_').to_owned())
    }

    fn symbol(&mut self, first: char) -> Result<Kind, FormulaError> {
        let start = self.at;
        let two = self.rest().get(..2).and_then(|two| {
            let comparison = match two {
                "<=" => Comparison::LessOrEqual,
                ">=" => Comparison::GreaterOrEqual,
                "==" => Comparison::Equal,
                "!=" => Comparison::NotEqual,
                _ => return None,
            };
            Some(Kind::Compare(comparison))
        });
        if let Some(kind) = two {
            self.at += 2;
            return Ok(kind);
        }
        self.at += first.len_utf8();
        match first {
            '(' => Ok(Kind::Open),
            ')' => Ok(Kind::Close),
            ',' => Ok(Kind::Comma),
            '+' => Ok(Kind::Plus),
            '-' => Ok(Kind::Minus),
            '*' => Ok(Kind::Times),
            '/' => Ok(Kind::Over),
            '<' => Ok(Kind::Compare(Comparison::Less)),
            '>' => Ok(Kind::Compare(Comparison::Greater)),
            '=' => Err(FormulaError::new(start..self.at, "\"=\" compares nothing")
                .help("write \"==\" for equal")),
            other => {
                let message = format!("\"{other}\" has no meaning in a formula");
                Err(FormulaError::new(start..self.at, message))
            }
        }
    }
}
