//! Made-up estate in the columns of RVTools' sheet vInfo, for trying an import and for tests. No
//! number is from a real estate.

use std::fmt::Write as _;

const HEADING: &str = "VM,Powerstate,Template,SRM Placeholder,CPUs,Memory,Disks,Total disk capacity MiB,Provisioned MiB,\
In Use MiB,Cluster,Host,OS according to the configuration file,VM UUID\n";

/// Kinds of VMs, which repeat every ten VMs: a name, processors, GiB of disks, and an operating
/// system.
const KINDS: [(&str, u32, u32, &str); 10] = [
    ("app", 4, 60, "Microsoft Windows Server 2022 (64-bit)"),
    ("sql", 8, 400, "Microsoft Windows Server 2022 (64-bit)"),
    ("web", 2, 40, "Debian GNU/Linux 12 (64-bit)"),
    ("app", 4, 80, "Red Hat Enterprise Linux 9 (64-bit)"),
    ("vdi", 2, 50, "Microsoft Windows 11 (64-bit)"),
    ("vdi", 2, 50, "Microsoft Windows 11 (64-bit)"),
    ("file", 4, 1000, "Microsoft Windows Server 2019 (64-bit)"),
    ("pg", 4, 200, "Debian GNU/Linux 12 (64-bit)"),
    ("test", 2, 40, "Ubuntu Linux (64-bit)"),
    ("mail", 4, 300, "Red Hat Enterprise Linux 9 (64-bit)"),
];

/// Makes an inventory of so many VMs by rule. Ten kinds repeat; sizes vary by a fifth; 40 to 80 %
/// is used; every 25th VM is off, and every 50th is a template.
pub fn example(vms: u32) -> String {
    let mut text = HEADING.to_owned();
    for number in 0..vms {
        let (kind, vcpus, gib, os) = KINDS[(number % 10) as usize];
        let (is_off, is_template) = (number % 25 == 24, number % 50 == 49);
        let capacity = gib * 1024 / 100 * (80 + number * 7 % 41);
        let used = capacity / 100 * (40 + number * 13 % 41);
        let _ = writeln!(
            text,
            "{kind}{:03},{},{},False,{vcpus},{},1,{capacity},{},{used},cluster-{},host-{:02},{os},{}",
            number + 1,
            if is_off { "poweredOff" } else { "poweredOn" },
            if is_template { "True" } else { "False" },
            vcpus * 4096,
            capacity + vcpus * 4096,
            number % 2 + 1,
            number % 8 + 1,
            uuid(number),
        );
    }
    text
}

/// Makes a text in the form of a UUID, not random.
fn uuid(number: u32) -> String {
    format!("4200{number:04x}-0000-4000-8000-{number:012x}")
}
