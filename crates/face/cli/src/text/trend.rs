//! Many runs beside each other, each compared with the first.

use compare::{Comparison, MetricComparison, Verdict};
use run_store::run::Run;
use serde::Serialize;

use super::Table;

/// Tag with the price of a run's storage: `12000 EUR`.
const PRICE: &str = "price";

/// The document of `runs trend --format json`.
#[derive(Debug, Serialize)]
pub struct Trend {
    schema: &'static str,
    runs: Vec<Row>,
}

/// Run in a trend.
#[derive(Debug, Serialize)]
pub struct Row {
    id: String,
    started: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    datastore: String,
    profile: String,
    /// Largest number of tiles that met the limits, as an interval.
    tiles: String,
    tiles_held: Option<u32>,
    score: Option<f64>,
    /// Price per VM at the largest and at the smallest number of tiles that met the limits, in the
    /// unit of the tag `price`.
    #[serde(skip_serializing_if = "Option::is_none")]
    price_per_vm: Option<PricePerVm>,
    /// Text of the tag `price`, if it is not a valid price.
    #[serde(skip_serializing_if = "Option::is_none")]
    price_not_read: Option<String>,
    /// Verdict over all figures against the first run; absent for the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    against_first: Option<&'static str>,
    /// Figure that decided the verdict, with its change.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Facts of plan and tiles that differ from those of the first run.
    plan_differs: Vec<String>,
    /// Reason why the run was not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
}

#[derive(Debug, Serialize)]
struct PricePerVm {
    /// Lowest possible price. Absent if more tiles than were tried might meet the limits.
    low: Option<f64>,
    /// Highest possible price. Absent if no number of tiles surely met the limits.
    high: Option<f64>,
    unit: String,
}

impl Row {
    /// Makes the row of a run that is not compared yet.
    pub fn of(id: &str, started: &str, run: &Run) -> Self {
        let answer = &run.answer;
        Self {
            id: id.to_owned(),
            started: started.to_owned(),
            name: run.labels.name.clone(),
            datastore: run.target.datastore.clone(),
            profile: run.profile.clone(),
            tiles: answer.tiles_text(),
            tiles_held: answer.tiles_held,
            score: answer.score.value,
            price_per_vm: PricePerVm::of(run),
            price_not_read: run.labels.tags.get(PRICE).filter(|tag| price(tag).is_none()).cloned(),
            against_first: None,
            reason: None,
            plan_differs: Vec::new(),
            not_compared: None,
        }
    }

    /// Adds the comparison with the first run.
    pub fn compare(&mut self, comparison: &Comparison) {
        self.against_first = Some(comparison.verdict.name());
        self.plan_differs = comparison.plan.iter().map(|own| own.key.clone()).collect();
        let is_reason = |own: &&MetricComparison| own.verdict == comparison.verdict;
        self.reason = match comparison.verdict {
            Verdict::Same => None,
            _ => comparison.deciding().find(is_reason).map(reason),
        };
    }

    fn verdict(&self) -> String {
        if let Some(reason) = &self.not_compared {
            return format!("not compared: {reason}");
        }
        let reason = self.reason.as_ref().map_or_else(String::new, |own| format!(": {own}"));
        let mut text = format!("{}{reason}", self.against_first.unwrap_or("-"));
        if !self.plan_differs.is_empty() {
            text += &format!("; differs in {}", self.plan_differs.join(", "));
        }
        text
    }

    fn cells(&self) -> [String; 6] {
        let dash = || "-".to_owned();
        // To the minute.
        let started = self.started.get(..16).unwrap_or(&self.started).replace('T', " ");
        [
            started,
            self.name.clone().unwrap_or_else(|| self.id.clone()),
            self.tiles.clone(),
            self.score.map_or_else(dash, |score| format!("{score:.2}")),
            match (&self.price_not_read, &self.price_per_vm) {
                (Some(tag), _) => format!("\"{tag}\" is not a price"),
                (None, Some(price)) => price.text(),
                (None, None) => dash(),
            },
            self.verdict(),
        ]
    }
}

fn reason(metric: &MetricComparison) -> String {
    let tiles = metric.tiles.map_or_else(String::new, |tiles| format!(" at {tiles} tiles"));
    let percent = |share: f64| format!("{:+.1} %", 100.0 * share);
    let change = metric.change.as_ref().map_or_else(String::new, |own| {
        let interval = own.low.zip(own.high);
        let interval = interval.map_or_else(String::new, |(low, high)| {
            format!(" ({} to {})", percent(low), percent(high))
        });
        format!(" {}{interval}", percent(own.value))
    });
    format!("{}{tiles}{change}", metric.title)
}

impl PricePerVm {
    /// Calculates the price per VM from the tag `price`; `None` without the tag, or if no number of
    /// tiles met the limits.
    fn of(run: &Run) -> Option<Self> {
        let (amount, unit) = price(run.labels.tags.get(PRICE)?)?;
        let held = run.answer.tiles_held.filter(|held| *held > 0)?;
        let vms_per_tile = f64::from(run.answer.vms_held?) / f64::from(held);
        let per_vm = |tiles: u32| (tiles > 0).then(|| amount / (f64::from(tiles) * vms_per_tile));
        let (least, most) = match run.answer.tiles_interval {
            Some(own) => (own.low, own.high),
            None => (held, run.answer.is_bounded().then_some(held)),
        };
        let (low, high) = (most.and_then(per_vm), per_vm(least));
        Some(Self { low, high, unit: unit.to_owned() })
    }

    fn text(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        let price = |price: f64| format!("{price:.2}");
        match (self.low, self.high) {
            (Some(low), Some(high)) if low == high => format!("{}{unit}", price(low)),
            (Some(low), Some(high)) => format!("{} to {}{unit}", price(low), price(high)),
            (None, Some(high)) => format!("at most {}{unit}", price(high)),
            (Some(low), None) => format!("at least {}{unit}", price(low)),
            (None, None) => "-".to_owned(),
        }
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

impl Trend {
    /// Makes a trend of runs, oldest first.
    pub fn new(runs: Vec<Row>) -> Self {
        Self { schema: "tilemark.runs-trend/1.0", runs }
    }

    const HEADS: [&str; 6] =
        ["started (UTC)", "run", "tiles that held", "score", "price per VM", "against the first"];

    /// Returns a text for people.
    pub fn text(&self) -> String {
        if self.runs.is_empty() {
            return "no complete run matches; `tilemark runs` lists all runs\n".to_owned();
        }
        let mut table = Table::new(&Self::HEADS);
        self.runs.iter().for_each(|row| table.row(row.cells().to_vec()));
        table.lines().join("\n") + "\n"
    }

    /// Returns the table in Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|own| own.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut text = line(&Self::HEADS.map(str::to_owned));
        text += &format!("|{}\n", "---|".repeat(Self::HEADS.len()));
        self.runs.iter().for_each(|row| text += &line(&row.cells()));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
