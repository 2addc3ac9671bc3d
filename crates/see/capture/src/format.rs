//! Parses the kernel's descriptions of events and pages, which differ between versions.
//!
//! Layout of the text: kernel `Documentation/trace/events.rst`, section 3 (event formats);
//! `kernel/trace/ring_buffer.c`, `ring_buffer_print_page_header`.

/// Position of a value, from the first byte of an event or page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Field {
    pub offset: usize,
    pub size: usize,
}

/// Description of one event, or of a page header.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Format {
    /// Number of the event; 0 for a page header.
    pub id: u16,
    fields: Vec<(String, Field)>,
}

impl Format {
    /// Parses a description; other lines are skipped.
    pub fn parse(text: &str) -> Self {
        let mut format = Self::default();
        for line in text.lines().map(str::trim) {
            if let Some(id) = line.strip_prefix("ID:") {
                format.id = id.trim().parse().unwrap_or(0);
            } else if let Some((name, field)) = field(line) {
                format.fields.push((name, field));
            }
        }
        format
    }

    /// Returns the field of this name.
    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(have, _)| have == name).map(|(_, field)| *field)
    }
}

/// Parses a line such as `field:unsigned int nr_sector; offset:24; size:4; signed:0;`
fn field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.strip_prefix("field:")?.split(';').map(str::trim);
    let declaration = parts.next()?;
    let name = declaration.rsplit([' ', '*']).next()?;
    let name = name.split('[').next()?.to_owned();
    let mut field = Field::default();
    for part in parts {
        if let Some(offset) = part.strip_prefix("offset:") {
            field.offset = offset.parse().ok()?;
        } else if let Some(size) = part.strip_prefix("size:") {
            field.size = size.parse().ok()?;
        }
    }
    Some((name, field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_places_and_the_number_are_read() {
        let format = Format::parse(
            "name: block_rq_issue\nID: 2104\nformat:\n\
             \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
             \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n\
             \tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;\n\n\
             print fmt: \"%d\", REC->dev\n",
        );
        assert_eq!(format.id, 2104);
        assert_eq!(format.field("common_type"), Some(Field { offset: 0, size: 2 }));
        assert_eq!(format.field("rwbs"), Some(Field { offset: 34, size: 10 }));
        assert_eq!(format.field("cmd"), Some(Field { offset: 60, size: 4 }));
        assert_eq!(format.field("dev"), None);
    }
}
