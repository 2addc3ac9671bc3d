//! Encodes histograms for messages; empty ones are left out.

/// Encoding of a histogram.
pub(crate) mod histogram {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use stats::{Compact, Histogram};

    #[expect(clippy::ref_option, reason = "serde passes a reference")]
    pub(crate) fn serialize<S: Serializer>(
        of: &Option<Box<Histogram>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        of.as_ref().map(|histogram| histogram.compact()).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Box<Histogram>>, D::Error> {
        let compact: Option<Compact> = Option::deserialize(from)?;
        Ok(compact.map(|compact| Box::new(compact.expand())))
    }
}
