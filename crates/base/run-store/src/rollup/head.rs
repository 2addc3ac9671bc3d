use serde::{Deserialize, Serialize};
use units::Nanos;
use untrusted::Malformed;

use super::Rollup;
use super::intern::Names;
use super::rows::{ActionName, CallName, Entity, Level, Span, TierName};
use crate::run::Phase;

/// Lists to which rows refer by index, stored as JSON in the file's metadata.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    wide_width_ns: u64,
    narrow_width_ns: u64,
    spans: Vec<SpanHead>,
    wide_entities: Vec<Entity>,
    narrow_entities: Vec<Entity>,
    actions: Vec<ActionName>,
    /// Kinds of calls; missing in files before 2.1.
    #[serde(default)]
    calls: Vec<CallName>,
    tiers: Vec<TierName>,
}

/// Maximum number of buckets that is accepted in a file: several times [`super::WIDE_BUCKETS`].
const BUCKETS_MAX: u128 = 1 << 16;

#[derive(Debug, Serialize, Deserialize)]
struct SpanHead {
    step: u32,
    repeat: u32,
    tiles: u32,
    phase: Phase,
    from_ns: u64,
    to_ns: u64,
    zero_ns: u64,
}

impl Head {
    pub(super) fn of(rollup: &Rollup) -> Self {
        let span = |span: &Span| SpanHead {
            step: span.step,
            repeat: span.repeat,
            tiles: span.tiles,
            phase: span.phase,
            from_ns: span.from.0,
            to_ns: span.to.0,
            zero_ns: span.zero.0,
        };
        Self {
            wide_width_ns: rollup.wide.width.0,
            narrow_width_ns: rollup.narrow.width.0,
            spans: rollup.spans.iter().map(span).collect(),
            wide_entities: rollup.wide.entities.clone(),
            narrow_entities: rollup.narrow.entities.clone(),
            actions: rollup.action_names.clone(),
            calls: rollup.call_names.clone(),
            tiers: rollup.tier_names.clone(),
        }
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("names and numbers can be JSON")
    }

    /// Parses the metadata into a rollup without rows.
    pub(super) fn parse(text: &str) -> Result<Rollup, Malformed> {
        let head: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let has_no_width = head.wide_width_ns == 0 || head.narrow_width_ns == 0;
        if has_no_width && !head.spans.is_empty() {
            return Err("its buckets have no width".into());
        }
        // Views allocate memory for each bucket, so a file must not claim too many.
        for width in [head.wide_width_ns, head.narrow_width_ns] {
            let buckets = |span: &SpanHead| {
                u128::from(span.to_ns.saturating_sub(span.from_ns).div_ceil(width.max(1)))
            };
            let all: u128 = head.spans.iter().map(buckets).sum();
            if all > BUCKETS_MAX + head.spans.len() as u128 {
                return Err(format!("its spans have {all} buckets of {}", Nanos(width)).into());
            }
        }
        let span = |span: SpanHead| Span {
            step: span.step,
            repeat: span.repeat,
            tiles: span.tiles,
            phase: span.phase,
            from: Nanos(span.from_ns),
            to: Nanos(span.to_ns),
            zero: Nanos(span.zero_ns),
        };
        let level = |width, entities| Level { width: Nanos(width), entities, rows: Vec::new() };
        Ok(Rollup {
            names: Names::of(
                (&head.wide_entities, &head.narrow_entities),
                (&head.actions, &head.calls),
            ),
            spans: head.spans.into_iter().map(span).collect(),
            wide: level(head.wide_width_ns, head.wide_entities),
            narrow: level(head.narrow_width_ns, head.narrow_entities),
            action_names: head.actions,
            call_names: head.calls,
            tier_names: head.tiers,
            ..Rollup::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_more_buckets_than_a_rollup_has_are_refused() {
        let head = |to_ns: u64| {
            let (spans, none) = (
                serde_json::json!([{ "step": 1, "repeat": 1, "tiles": 1, "phase": "measured",
                    "from_ns": 0, "to_ns": to_ns, "zero_ns": 0 }]),
                serde_json::json!([]),
            );
            let head = serde_json::json!({ "wide_width_ns": 1, "narrow_width_ns": 1, "spans": spans,
                "wide_entities": none, "narrow_entities": none, "actions": none, "tiers": none });
            Head::parse(&head.to_string()).map(|rollup| rollup.spans.len())
        };
        assert_eq!(head(2048), Ok(1));
        let error = head(u64::MAX).expect_err("too many");
        assert!(
            error.to_string().starts_with("its spans have 18446744073709551615 buckets"),
            "{error}"
        );
    }
}
