//! Price of a tile and of a VM, from the price of the storage.

use run_store::run::Run;

use crate::document::PricePer;

/// Tag with the price of a run's storage: `12000 EUR`.
const TAG: &str = "price";

/// Returns the price per tile; `None` without the tag, or if no number of tiles met the limits.
pub(super) fn per_tile(run: &Run) -> Option<PricePer> {
    price_per(run, 1.0)
}

/// Returns the price per VM of all tiles that were held.
pub(super) fn per_vm(run: &Run) -> Option<PricePer> {
    let held = run.answer.tiles_held.filter(|held| *held > 0)?;
    price_per(run, f64::from(run.answer.vms_held?) / f64::from(held))
}

/// Returns the text of the tag, if it is not a price.
pub(super) fn not_read(run: &Run) -> Option<String> {
    run.labels.tags.get(TAG).filter(|tag| price(tag).is_none()).cloned()
}

fn price_per(run: &Run, parts_of_tile: f64) -> Option<PricePer> {
    let (amount, unit) = price(run.labels.tags.get(TAG)?)?;
    let held = run.answer.tiles_held.filter(|held| *held > 0)?;
    let per = |tiles: u32| (tiles > 0).then(|| amount / (f64::from(tiles) * parts_of_tile));
    let (least, most) = match run.answer.tiles_interval {
        Some(own) => (own.low, own.high),
        None => (held, run.answer.is_bounded().then_some(held)),
    };
    let (low, high) = (most.and_then(per), per(least));
    Some(PricePer { low, high, unit: unit.to_owned(), text: text(low, high, unit) })
}

fn text(low: Option<f64>, high: Option<f64>, unit: &str) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    match (low, high) {
        (Some(low), Some(high)) if low == high => format!("{low:.2}{unit}"),
        (Some(low), Some(high)) => format!("{low:.2} to {high:.2}{unit}"),
        (None, Some(high)) => format!("at most {high:.2}{unit}"),
        (Some(low), None) => format!("at least {low:.2}{unit}"),
        (None, None) => "-".to_owned(),
    }
}

/// Parses amount and currency of a price: `12000`, `12000 EUR`, `99.90EUR`. `12,000` and `12.000`
/// mean twelve or twelve thousand depending on the country, so they are refused.
fn price(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (amount, unit) = text.split_at(end.unwrap_or(text.len()));
    let (whole, cents) = amount.split_once('.').unwrap_or((amount, "00"));
    let is_amount = !whole.is_empty() && (1..=2).contains(&cents.len());
    let is_unit = !unit.contains(|letter: char| letter.is_ascii_digit() || ",.'".contains(letter));
    (is_amount && is_unit).then(|| Some((amount.parse().ok()?, unit.trim())))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::{run, step};

    #[test]
    fn price_that_differs_by_country_is_none() {
        assert_eq!(price("12000 EUR"), Some((12_000.0, "EUR")));
        assert_eq!(price("99.90EUR"), Some((99.9, "EUR")));
        assert_eq!(price("12000"), Some((12_000.0, "")));
        for text in ["12,000 EUR", "12.000", "12.000,00 EUR", "12'000", "EUR 12000", "", "1.", ".5"]
        {
            assert_eq!(price(text), None, "{text}");
        }
    }

    #[test]
    fn price_per_vm_is_price_per_tile_by_its_vms() {
        let mut own = run(1, vec![step(2, 1.0)]);
        assert_eq!(per_tile(&own), None, "there is no tag");
        own.labels.tags.insert(TAG.to_owned(), "1200 EUR".to_owned());
        (own.answer.tiles_held, own.answer.vms_held) = (Some(6), Some(48));
        own.answer.tiles_interval = None;
        let high = |own: Option<PricePer>| own.and_then(|own| own.high);
        assert_eq!((high(per_tile(&own)), high(per_vm(&own))), (Some(200.0), Some(25.0)));
        own.answer.tiles_held = Some(0);
        assert_eq!((per_tile(&own), per_vm(&own)), (None, None), "nothing was held");
    }
}
