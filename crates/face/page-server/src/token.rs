use std::fmt;
use std::io::{self, Read};

/// Random bytes in a token.
const LENGTH: usize = 24;

/// Secret that clients on other computers must send.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Draws a new token: 192 bits from the operating system, in hexadecimal.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; LENGTH];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Makes a token of a given text.
    pub fn known(text: String) -> Self {
        Self(text)
    }

    /// Returns the text of the token.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Compares a guess with the token. The time depends only on the lengths, so it does not show
    /// how many letters were right.
    pub fn is(&self, guess: &str) -> bool {
        let (ours, theirs) = (self.0.as_bytes(), guess.as_bytes());
        let differs = ours.iter().zip(theirs).fold(0, |all, (a, b)| all | (a ^ b));
        ours.len() == theirs.len() && std::hint::black_box(differs) == 0
    }
}

/// Prints no part of the token, so that debug output does not leak it.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_it() {
        let token = Token::known("abc".to_owned());
        assert!(token.is("abc"));
        for guess in ["", "ab", "abx", "abcd", "ABC"] {
            assert!(!token.is(guess), "{guess}");
        }
    }

    #[test]
    fn two_tokens_differ_and_neither_is_shown() {
        let (a, b) = (Token::random().expect("random"), Token::random().expect("random"));
        assert_ne!(a.text(), b.text());
        assert_eq!(a.text().len(), 48);
        assert!(!format!("{a:?}").contains(a.text()));
    }
}
