use hardware::{Copies, LinkParameters, LinkPreset};
use spec::array;
use units::{Bytes, Nanos};

use super::disks::unknown;
use super::plan::PlantError;

/// Returns the parameters of the network between hosts: the array's link if it is a network,
/// otherwise 10 Gbit/s Ethernet (our choice; copies of FVP used the network of live migration).
pub fn between_hosts(array: &array::Array) -> Result<LinkParameters, PlantError> {
    let preset = |link: &array::Link| link.kind.as_deref().and_then(LinkPreset::named);
    let is_network = |link: &&array::Link| preset(link).is_some_and(LinkPreset::is_network);
    match array.link.as_ref().filter(is_network) {
        Some(link) => link_parameters(array, link),
        None => Ok(LinkPreset::Ethernet10.parameters()),
    }
}

/// Returns the path of the data that deployments and migrations copy.
pub fn copies_of(array: &array::Array) -> Copies {
    match &array.controller {
        Some(controller) if controller.full_copy => Copies::InArray,
        _ => Copies::OverLinks,
    }
}

/// Returns the parameters of an array's link: its preset, overridden by the file's own values.
pub fn link_parameters(
    array: &array::Array,
    link: &array::Link,
) -> Result<LinkParameters, PlantError> {
    let preset = link
        .kind
        .as_deref()
        .map(|kind| LinkPreset::named(kind).ok_or_else(|| unknown(array, "link", kind)));
    let frame = link.frame.and_then(|frame| u32::try_from(frame.get()).ok());
    let framed = |preset: LinkPreset| preset.with_frame(frame.unwrap_or(preset.frame()));
    // Without kind and rate the rate is 0, which the link refuses.
    let mut parameters =
        preset.transpose()?.map_or(LinkParameters::stream(0.0, Nanos::ZERO), framed);
    parameters.header = u32::try_from(link.header.get()).unwrap_or(u32::MAX);
    parameters.rate = link.rate.map_or(parameters.rate, Bytes::as_f64);
    parameters.latency = link.latency.unwrap_or(parameters.latency);
    Ok(parameters)
}
