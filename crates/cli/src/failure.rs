//! How a failed command says why: one line, causes below it, the way out on a line of its own.

use std::error::Error;

use crate::exit::Exit;

/// Why a command ended without a result.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    message: String,
    hint: Option<String>,
    /// A message that points into a file, printed instead of the plain one.
    report: Option<miette::Report>,
}

impl Failure {
    /// A failure with a message.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: None, report: None }
    }

    /// A failure with an error and its causes, each on a line of its own.
    pub fn from_error(exit: Exit, error: &dyn Error) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !message.contains(&text) {
                message += &format!("\n  because {text}");
            }
            cause = error.source();
        }
        Self::new(exit, message)
    }

    /// A definition error that points into its file.
    pub fn from_definition(error: spec::SpecError) -> Self {
        Self {
            exit: Exit::Usage,
            message: error.to_string(),
            hint: None,
            report: Some(miette::Report::new(error)),
        }
    }

    /// Adds the way out.
    #[must_use]
    pub fn hint(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hint = hint.map(Into::into);
        self
    }

    /// Writes it to stderr.
    pub fn print(&self) {
        match &self.report {
            Some(report) => eprintln!("{report:?}"),
            None => eprintln!("tilemark: {}", self.message),
        }
        if let Some(hint) = &self.hint {
            eprintln!("hint: {hint}");
        }
    }
}
