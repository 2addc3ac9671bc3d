//! Reads the output of `virsh dumpxml` (libvirt) for one VM. It has the name, the UUID, processors
//! and possibly the operating system, but no sizes, which come from `virsh domstats --raw` in
//! addition.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{Format, Input};
use crate::error::ReadError;
use crate::place::Findings;
use crate::row::{Facts, Record};

pub(super) struct DomXml;

const NAME: &str = "virsh dumpxml";
/// Maximum nesting of elements. libvirt's own elements need some ten, metadata of other programs
/// few more.
const DEPTH_MAX: usize = 256;

impl Format for DomXml {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fits(&self, input: &Input<'_>) -> bool {
        input.begins_with("<")
    }

    fn read(&self, input: &Input<'_>, _: &mut Findings) -> Result<Vec<Record>, ReadError> {
        let text = str::from_utf8(&input.bytes).map_err(|error| input.broken(NAME, error))?;
        let mut reader = Reader::from_str(text);
        let mut path: Vec<String> = Vec::new();
        // Text of the last element that began.
        let mut said = String::new();
        let mut found = Domain::default();
        loop {
            match reader.read_event().map_err(|error| input.broken(NAME, error))? {
                Event::Start(element) => {
                    found.begins(&element);
                    if path.len() == DEPTH_MAX {
                        let what = format!("more than {DEPTH_MAX} nested elements");
                        return Err(input.broken(NAME, what));
                    }
                    path.push(element.local_name().as_ref().to_owned());
                    said.clear();
                }
                Event::Empty(element) => found.begins(&element),
                Event::End(_) => {
                    found.says(&path, said.trim());
                    path.pop();
                    said.clear();
                }
                Event::Text(text) => said += &text,
                Event::GeneralRef(name) => {
                    said += quick_xml::escape::resolve_predefined_entity(&name).unwrap_or_default();
                }
                Event::Eof => break,
                _ => {}
            }
        }
        if found.name.is_empty() {
            return Err(input.broken(NAME, "it has no domain with a name"));
        }
        let facts = Facts { os: found.os, vcpus: found.vcpus, ..Facts::default() };
        Ok(vec![Record {
            at: input.at("", 1),
            name: found.name,
            id: found.id,
            number: String::new(),
            lists: true,
            facts,
        }])
    }
}

#[derive(Default)]
struct Domain {
    name: String,
    id: String,
    os: String,
    vcpus: Option<u32>,
}

impl Domain {
    fn says(&mut self, path: &[String], text: &str) {
        let [domain, name] = path else { return };
        match (domain.as_str(), name.as_str()) {
            ("domain", "name") => text.clone_into(&mut self.name),
            ("domain", "uuid") => self.id = text.to_lowercase(),
            ("domain", "vcpu") => self.vcpus = text.parse().ok(),
            _ => {}
        }
    }

    /// Reads `<libosinfo:os id="http://microsoft.com/win/10"/>` in the metadata.
    fn begins(&mut self, element: &BytesStart<'_>) {
        if element.name().as_ref() == "libosinfo:os"
            && let Ok(Some(id)) = element.try_get_attribute("id")
        {
            let id = id.value.into_owned();
            let parts: Vec<&str> = id.rsplit('/').take(2).collect();
            self.os = match parts[..] {
                [version, "win"] => format!("Windows {version}"),
                [version, name] => format!("{name} {version}"),
                _ => id,
            };
        }
    }
}
