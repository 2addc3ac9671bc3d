//! The stored schemas match the types, and judge the shipped files like the loader.

use std::path::PathBuf;

use tilemark_spec as spec;

use spec::Kind;

/// If set to anything, the stored schemas are written again.
const UPDATE: &str = "TILEMARK_UPDATE";

fn stored(kind: Kind) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../docs/schemas");
    folder.join(format!("{}.json", kind.name()))
}

#[test]
fn stored_schemas_are_up_to_date() {
    for kind in Kind::ALL {
        let fresh = serde_json::to_string_pretty(&spec::schema(kind)).expect("JSON") + "\n";
        if std::env::var_os(UPDATE).is_some() {
            std::fs::write(stored(kind), &fresh).expect("writable docs/schemas");
        }
        let old = std::fs::read_to_string(stored(kind)).unwrap_or_default();
        assert!(
            old == fresh,
            "docs/schemas/{}.json is not that of the types; run this test with {UPDATE}=1",
            kind.name()
        );
    }
}

#[test]
fn a_time_or_a_block_size_in_either_form_is_in_the_schema() {
    let schema = spec::schema(Kind::Workload);
    for name in ["Time", "Size"] {
        let forms = schema["$defs"][name]["anyOf"].as_array().expect("two forms");
        assert_eq!(forms.len(), 2, "{name}: {forms:?}");
    }
    let load = schema["$defs"]["Load"].to_string();
    assert!(load.contains("outstanding-max") && !load.contains("outstanding_max"), "{load}");
}
