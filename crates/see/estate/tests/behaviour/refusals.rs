//! Bad input is refused or counted, with its place; nothing is guessed.

use proptest::prelude::*;
use tilemark_estate::{EstateError, EstateOptions, ReadError, estate};

use crate::book::workbook;
use crate::formats::read;

fn refused(name: &str, content: &[u8]) -> ReadError {
    read(&[(name, content)]).expect_err("it is no inventory")
}

#[test]
fn headings_in_another_language_are_listed_with_the_way_out() {
    let error = refused("vms.csv", "Serveur;Taille GiB\nweb;3\n".as_bytes());
    assert!(error.to_string().contains("its headings are Serveur, Taille GiB"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("--column vm=HEADING")));
}

#[test]
fn rows_that_cannot_be_used_are_counted_and_located() {
    let text = "VM,Powerstate,Used GiB,CPUs\n\
                ok,poweredOn,10,2\n\
                ,poweredOn,10,2\n\
                ok,poweredOn,10,2\n\
                bad,half on,10,2\n\
                big,poweredOn,9e99,2\n\
                short,poweredOn\n\
                neg,poweredOn,-1,2\n\
                frac,poweredOn,1,2.5\n";
    let inventory = read(&[("vms.csv", text.as_bytes())]).expect("a table");
    assert_eq!(inventory.vms.len(), 1);
    let told = inventory.bad.first.join("\n");
    for part in [
        "row 3: it names no virtual machine",
        "row 4: VM \"ok\" is listed twice",
        "row 5: its state \"half on\" is neither on nor off",
        "row 6:",
        "row 7: it has 2 columns, but the heading has 4",
        "row 8: \"-1\" is not a size",
        "row 9: 2.5 is not a number of processors",
    ] {
        assert!(told.contains(part), "{part} is not in\n{told}");
    }
    assert_eq!(inventory.bad.count, 7);
}

#[test]
fn vms_of_one_name_stay_two_and_ambiguous_rows_are_unused() {
    let info = vec![
        vec!["VM", "Powerstate", "In Use MiB", "VM UUID"],
        vec!["twin", "poweredOn", "n:1", "a"],
        vec!["twin", "poweredOn", "n:2", "b"],
    ];
    let partitions = vec![vec!["VM", "Disk", "Consumed MiB"], vec!["twin", "C", "n:1"]];
    let book = workbook(&[("vInfo", info), ("vPartition", partitions)]);
    let inventory = read(&[("lab.xlsx", &book)]).expect("a workbook");
    assert_eq!(inventory.vms.len(), 2);
    assert!(
        inventory.bad.first[0].contains("vPartition, row 2: several VMs are called \"twin\""),
        "{:?}",
        inventory.bad
    );
}

#[test]
fn a_load_is_not_counted_twice() {
    let list = "VM,Used GiB\na,1\n";
    let load = "VM,IOPS\na,100\n";
    let files = [("vms.csv", list), ("one.csv", load), ("two.csv", load)];
    let inventory = read(&files.map(|(name, text)| (name, text.as_bytes()))).expect("tables");
    assert_eq!(inventory.vms[0].load.io_per_s, Some(100.0));
    assert!(
        inventory.bad.first[0].contains("has a load from another file already"),
        "{:?}",
        inventory.bad
    );
}

#[test]
fn a_load_of_a_machine_that_no_list_has_is_told_and_makes_none() {
    let (list, load) = ("VM,Used GiB\na,1\n", "VM,Read IOPS\na,7\nb,9\n");
    let files = [("vms.csv", list), ("load.csv", load)];
    let inventory = read(&files.map(|(name, text)| (name, text.as_bytes()))).expect("tables");
    assert_eq!(inventory.vms.len(), 1);
    assert_eq!(inventory.vms[0].load.reads_per_s, Some(7.0));
    assert!(inventory.bad.first[0].contains("row 3: no VM \"b\" is listed"), "{:?}", inventory.bad);
}

#[test]
fn a_workbook_that_unpacks_to_more_than_any_real_one_is_refused() {
    // 3 GiB of blanks in one part.
    use std::io::Write;
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().large_file(true);
    archive.start_file("xl/sharedStrings.xml", options).expect("a part");
    let blank = vec![b' '; 1 << 20];
    (0..2100).for_each(|_| archive.write_all(&blank).expect("written"));
    let bomb = archive.finish().expect("an archive").into_inner();
    assert!(bomb.len() < 8 << 20, "it is small: {} bytes", bomb.len());
    assert!(matches!(refused("bomb.xlsx", &bomb), ReadError::Bomb { .. }));
}

#[test]
fn what_is_no_inventory_is_told_so() {
    assert!(matches!(refused("a.bin", &[0, 1, 2, 3]), ReadError::Unknown { .. }));
    assert!(matches!(refused("a.csv", b""), ReadError::Unknown { .. }));
    assert!(matches!(refused("a.json", b"{\"a\": "), ReadError::Broken { .. }));
    assert!(matches!(refused("a.json", b"{\"a\": 1}"), ReadError::Unknown { .. }));
    assert!(matches!(refused("a.xlsx", b"PK\x03\x04 nothing"), ReadError::Broken { .. }));
    assert!(matches!(
        refused("a.xml", b"<network><name>x</name></network>"),
        ReadError::Broken { .. }
    ));
    assert!(matches!(refused("a.xml", b"<domain><name>x"), ReadError::Broken { .. }));
    assert!(matches!(refused("a.toml", b"name = 3"), ReadError::Broken { .. }));
}

#[test]
fn an_estate_without_machines_sizes_or_known_classes_is_none() {
    let inventory = |text: &str| read(&[("vms.csv", text.as_bytes())]).expect("a table");
    let none = estate(&inventory("VM,Powerstate,Used GiB\na,off,1\n"), &EstateOptions::default());
    let error = none.expect_err("all are off");
    assert!(error.to_string().contains("1 not running"), "{error}");
    let sizes = estate(&inventory("VM,CPUs\na,1\n"), &EstateOptions::default());
    assert!(matches!(sizes, Err(EstateError::NoSizes { machines: 1 })));
    let wanted = |vm: &str, class: &str| EstateOptions {
        classes: vec![format!("{vm}={class}").parse().expect("a rule")],
        ..EstateOptions::default()
    };
    let list = inventory("VM,Used GiB\nserver1,1\n");
    let error = estate(&list, &wanted("server1x", "web")).expect_err("misspelt");
    assert!(error.to_string().contains("did you mean \"server1\"?"), "{error}");
    let error = estate(&list, &wanted("server1", "webb")).expect_err("misspelt");
    assert!(error.to_string().contains("did you mean \"web\"?"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_end_in_an_answer(mut bytes in prop::collection::vec(any::<u8>(), 0..2000), kind in 0_usize..6) {
        let begin: [&[u8]; 6] = [b"PK", b"Domain: 'a'\n", b"<domain>", b"[{\"vmid\":", b"VM,Used GiB\n", b""];
        bytes.splice(0..0, begin[kind].iter().copied());
        if let Ok(inventory) = read(&[("any", &bytes)]) {
            let _ = estate(&inventory, &EstateOptions::default());
        }
    }

    #[test]
    fn a_damaged_workbook_ends_in_an_answer(at in 0_usize..4000, with: u8) {
        let info = vec![vec!["VM", "Powerstate", "In Use MiB"], vec!["a", "poweredOn", "n:1"]];
        let mut book = workbook(&[("vInfo", info)]);
        let at = at % book.len();
        book[at] = with;
        if let Ok(inventory) = read(&[("lab.xlsx", &book)]) {
            let _ = estate(&inventory, &EstateOptions::default());
        }
    }
}

/// 100,000 nested elements once took 23 s, and four times that for twice as many (seen at
/// e6eaf978).
#[test]
fn xml_nested_deeper_than_libvirt_nests_is_refused() {
    let nested = |depth: usize| "<domain>".repeat(depth) + &"</domain>".repeat(depth);
    let error = refused("deep.xml", nested(100_000).as_bytes());
    assert!(error.to_string().contains("more than 256 nested elements"), "{error}");
}

#[test]
fn machines_of_one_name_are_told_apart_by_their_ids() {
    let rows: String = (0..50).map(|at| format!("web,id-{at},10\n")).collect();
    let inventory = read(&[("vms.csv", format!("VM,VM UUID,Used GiB\n{rows}").as_bytes())]);
    assert_eq!(inventory.expect("a table").vms.len(), 50);
    let two = read(&[("vms.csv", b"VM,VM UUID,Used GiB\nweb,,10\nweb,a,10\n")]).expect("a table");
    assert!(two.bad.first[0].contains("is listed twice"), "{:?}", two.bad);
}
