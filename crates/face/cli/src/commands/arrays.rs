//! Lists the shipped arrays and shows an array's file.

use std::path::Path;

use serde_json::json;
use spec::array::Array;

use crate::args::{ArrayAction, ArrayArgs, Format};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::text::Table;

/// Lists arrays or shows one.
pub fn arrays(args: &ArrayArgs) -> Result<Exit, Failure> {
    match &args.action {
        None => list(Format::Text)?,
        Some(ArrayAction::List { format }) => list(*format)?,
        Some(ArrayAction::Show { array, changes, format }) => show(array, changes, *format)?,
    }
    Ok(Exit::Success)
}

fn list(format: Format) -> Result<(), Failure> {
    let arrays = spec::shipped::array_names()
        .map(spec::shipped::array)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Failure::from_definition(&error))?;
    if format == Format::Json {
        let rows: Vec<_> = arrays.iter().map(row).collect();
        return output::print_json(&rows);
    }
    let mut table = Table::new(&["array", ">hosts", ">disks", ">holds", "what it is"]);
    for array in &arrays {
        table.row(vec![
            array.name.clone(),
            array.hosts.as_ref().map_or_else(|| "-".to_owned(), |hosts| hosts.count.to_string()),
            per_tile(array, array.data_disks(1).to_string()),
            per_tile(array, array.capacity(1).to_string()),
            array.title.clone(),
        ]);
    }
    output::show(&(table.lines().join("\n") + "\n"))
}

/// Appends "a tile" to a figure if the array grows with the number of tiles.
fn per_tile(array: &Array, figure: String) -> String {
    if grows(array) { format!("{figure} a tile") } else { figure }
}

fn grows(array: &Array) -> bool {
    array.pools.iter().any(|pool| pool.per_tile)
}

fn row(array: &Array) -> serde_json::Value {
    json!({
        "name": array.name,
        "title": array.title,
        "hosts": array.hosts.as_ref().map(|hosts| hosts.count),
        "disks_with_one_tile": array.data_disks(1),
        "capacity_bytes_with_one_tile": array.capacity(1).get(),
        "grows_with_tiles": grows(array),
    })
}

fn show(name: &str, changes: &[String], format: Format) -> Result<(), Failure> {
    let failure = |error| Failure::from_definition(&error);
    let overlay = spec::array::overlay(changes).map_err(failure)?;
    let (file, text) =
        spec::array_text(&crate::user_arrays::find(name), Path::new("")).map_err(failure)?;
    let array = spec::array::with_all(&file, &text, &[overlay]).map_err(failure)?;
    match format {
        Format::Json => output::print_json(&array),
        Format::Text if changes.is_empty() => output::print(&text),
        Format::Text => output::show(
            &toml::to_string(&array)
                .map_err(|error| Failure::new(Exit::Failure, format!("writing TOML: {error}")))?,
        ),
    }
}
