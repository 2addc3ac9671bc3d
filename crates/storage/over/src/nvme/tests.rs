use super::*;

const OWN: &str = "nqn.2026-11.tilemark:over-0123456789abcdef-1";
const OTHERS: [&str; 3] = [
    "nqn.2026-11.tilemark:over-0123456789abcdee-1",
    "nqn.2026-11.tilemark:over-0123456789abcdef-",
    "nqn.2014-08.org.nvmexpress:theirs",
];

fn attached(root: &Path) -> Attached {
    let at = |name: &str| root.join(name);
    let [target, controllers] = [at("nvmet"), at("nvme")];
    let kernel = Kernel { target, controllers, blocks: at("block"), devices: at("dev") };
    Attached::new(kernel, Names::of("tilemark-over-0123456789abcdef").expect("a session"))
}

fn make(root: &Path, directories: &[&str], files: &[(&str, &str)]) {
    for directory in directories {
        fs::create_dir_all(root.join(directory)).expect("made");
    }
    for (file, text) in files {
        fs::create_dir_all(root.join(file).parent().expect("a directory")).expect("made");
        fs::write(root.join(file), text).expect("written");
    }
}

#[test]
fn names_come_from_the_digits_of_a_session_only() {
    let names = Names::of("tilemark-over-0123456789abcdef").expect("a session");
    assert_eq!((names.subsystem(1).as_str(), names.port), (OWN, 0x8123));
    assert!(names.is_own(OWN) && !OTHERS.iter().any(|other| names.is_own(other)));
    assert_eq!(Names::of("tilemark-vm-0123456789abcdef"), None);
}

#[test]
fn removal_spares_what_others_made() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    // The kernel removes a subsystem's own directories with it. Here it has none.
    make(root, &[&format!("nvmet/subsystems/{OWN}")], &[]);
    let of = |nqn: &str| format!("nvmet/subsystems/{nqn}/namespaces/1");
    make(root, &OTHERS.map(of).each_ref().map(|own| &**own), &[]);
    make(root, &["nvmet/ports/1/subsystems", "nvmet/ports/33059/subsystems"], &[]);
    make(
        root,
        &[],
        &[
            ("nvme/nvme0/subsysnqn", OTHERS[0]),
            ("nvme/nvme0/delete_controller", ""),
            ("nvme/nvme1/subsysnqn", OWN),
            ("nvme/nvme1/delete_controller", ""),
        ],
    );
    let link = |port: &str, nqn: &str| {
        let link = root.join(format!("nvmet/ports/{port}/subsystems/{nqn}"));
        std::os::unix::fs::symlink(root.join("nvmet/subsystems").join(nqn), link).expect("made");
    };
    link("1", OTHERS[0]);
    link("1", OWN);
    link("33059", OTHERS[2]);
    attached(root).remove().expect("removed");
    let names = |directory: &str| {
        let mut names: Vec<String> = paths(&root.join(directory))
            .expect("listed")
            .iter()
            .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    let mut others = OTHERS;
    others.sort_unstable();
    assert_eq!(names("nvmet/subsystems"), others);
    assert_eq!(names("nvmet/ports/1/subsystems"), [OTHERS[0]]);
    assert_eq!(names("nvmet/ports"), ["1", "33059"], "another's subsystem is on the port");
    let order =
        |name: &str| read(&root.join("nvme").join(name).join("delete_controller")).expect("there");
    assert_eq!((order("nvme0").as_str(), order("nvme1").as_str()), ("", "1"));
    attached(root).remove().expect("a second removal finds nothing");
}

#[test]
fn devices_are_found_by_subsystem_and_namespace() {
    let directory = tempfile::tempdir().expect("a directory");
    let files = [
        ("block/nvme0n1/device/subsysnqn", OTHERS[0]),
        ("block/nvme0n1/nsid", "1"),
        ("block/nvme0n1/dev", "259:0"),
        ("block/nvme1n9/device/subsysnqn", OWN),
        ("block/nvme1n9/nsid", "2\n"),
        ("block/nvme1n9/dev", "259:1"),
        // The hidden device of a path.
        ("block/nvme1c1n9/device/subsysnqn", OWN),
        ("block/nvme1c1n9/nsid", "2"),
        ("block/sda/dev", "8:0"),
    ];
    make(directory.path(), &[], &files);
    let found = attached(directory.path()).found_devices().expect("listed");
    assert_eq!(found, BTreeMap::from([((OWN.to_owned(), 2), "nvme1n9".to_owned())]));
}

#[test]
fn lost_controller_is_one_of_another_name_or_state() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut attached = attached(directory.path());
    attached.controllers = vec![(OWN.to_owned(), 3)];
    let state = |nqn: &str, state: &str| {
        let files = [("nvme/nvme3/subsysnqn", nqn), ("nvme/nvme3/state", state)];
        make(directory.path(), &[], &files);
        attached.lost().map(|(_, state)| state)
    };
    assert_eq!(state(OWN, "live\n"), None);
    assert_eq!(state(OWN, "resetting\n").as_deref(), Some("resetting"));
    assert_eq!(state(OTHERS[0], "live\n").as_deref(), Some("removed"));
}
