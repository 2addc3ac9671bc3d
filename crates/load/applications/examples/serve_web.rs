//! Test program that serves a web site, as `tilemark app serve web` does with the same arguments.
//! It contains no other commands.

use std::process::ExitCode;

use web_site::{SiteOptions, serve};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|own| own == name).expect("an option");
        arguments[at + 1].clone()
    };
    assert_eq!(arguments[..3], ["app", "serve", "web"]);
    let options = SiteOptions {
        data: value("--data").into(),
        database: value("--database").into(),
        socket: value("--socket").into(),
        connections: value("--connections").parse().expect("a number"),
    };
    let Err(error) = serve(options);
    eprintln!("{error}: {:?}", std::error::Error::source(&error).map(ToString::to_string));
    ExitCode::FAILURE
}
