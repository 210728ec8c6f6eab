//! How much memory a count may take: what the machine has to spare, within what the control
//! groups of this process may still take (version 1 and 2; Linux).

use std::fs;
use std::path::{Path, PathBuf};

/// Returns how many bytes this process may take beyond what it has, as far as the system tells.
pub(super) fn spare() -> Option<u64> {
    spare_of(Path::new("/proc"), Path::new("/sys/fs/cgroup"))
}

/// The same, told by files that stand elsewhere.
fn spare_of(proc: &Path, groups: &Path) -> Option<u64> {
    let machine = fs::read_to_string(proc.join("meminfo"))
        .ok()
        .and_then(|text| available(&text));
    let own = fs::read_to_string(proc.join("self/cgroup")).unwrap_or_default();
    let group = places(&own)
        .iter()
        .filter_map(|place| spare_within(groups, place))
        .min();
    machine.into_iter().chain(group).min()
}

/// Reads the line `MemAvailable` of `/proc/meminfo`.
fn available(text: &str) -> Option<u64> {
    let rest = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Where the files of a control group are, and what they are called.
struct Place {
    /// The folder below which all groups are, under that of the system.
    root: &'static str,
    /// The path of the group below it.
    group: PathBuf,
    limit: &'static str,
    taken: &'static str,
}

/// Reads `/proc/self/cgroup`: `0::/path` in version 2, `4:memory:/path` in version 1.
fn places(text: &str) -> Vec<Place> {
    let mut places = Vec::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, group) = (parts.next(), parts.next(), parts.next());
        let Some(group) = group else { continue };
        let group = PathBuf::from(group.trim_start_matches('/'));
        if number == Some("0") && controllers == Some("") {
            places.push(Place {
                root: "",
                group,
                limit: "memory.max",
                taken: "memory.current",
            });
        } else if controllers.is_some_and(|names| names.split(',').any(|name| name == "memory")) {
            places.push(Place {
                root: "memory",
                group,
                limit: "memory.limit_in_bytes",
                taken: "memory.usage_in_bytes",
            });
        }
    }
    places
}

/// What a group and those around it may still take; nothing where none has a limit. In a container
/// the path may be one of the machine outside, and then the root of what can be seen counts.
fn spare_within(groups: &Path, place: &Place) -> Option<u64> {
    let root = groups.join(place.root);
    place
        .group
        .ancestors()
        .filter_map(|group| {
            let folder = root.join(group);
            let number = |name: &str| -> Option<u64> {
                let text = fs::read_to_string(folder.join(name)).ok()?;
                text.trim().parse().ok()
            };
            Some(number(place.limit)?.saturating_sub(number(place.taken)?))
        })
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lays out files as a system has them, and asks.
    fn ask(name: &str, files: &[(&str, &str)]) -> Option<u64> {
        let place = std::env::temp_dir().join(format!("referee-{}-{name}", std::process::id()));
        for (file, text) in files {
            let path = place.join(file);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        }
        let found = spare_of(&place.join("proc"), &place.join("sys"));
        fs::remove_dir_all(&place).expect("it can be removed");
        found
    }

    const MACHINE: (&str, &str) = (
        "proc/meminfo",
        "MemTotal:  9000 kB\nMemAvailable:    8000 kB\nSwapFree: 1 kB\n",
    );

    #[test]
    fn the_machine_is_the_limit_where_no_group_has_one() {
        assert_eq!(ask("bare", &[MACHINE]), Some(8_192_000));
        let unlimited = [
            MACHINE,
            ("proc/self/cgroup", "0::/a\n"),
            ("sys/a/memory.max", "max\n"),
            ("sys/a/memory.current", "5\n"),
        ];
        assert_eq!(ask("unlimited", &unlimited), Some(8_192_000));
    }

    #[test]
    fn the_tightest_group_is_the_limit() {
        let second = [
            MACHINE,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/a/memory.max", "3000\n"),
            ("sys/a/memory.current", "1000\n"),
            ("sys/a/b/memory.max", "9000\n"),
            ("sys/a/b/memory.current", "10\n"),
        ];
        assert_eq!(ask("second", &second), Some(2_000));
        let first = [
            MACHINE,
            ("proc/self/cgroup", "5:cpu:/x\n4:pids,memory:/a\n0::/\n"),
            ("sys/memory/a/memory.limit_in_bytes", "700\n"),
            ("sys/memory/a/memory.usage_in_bytes", "900\n"),
        ];
        assert_eq!(ask("first", &first), Some(0));
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_root() {
        let inside = [
            MACHINE,
            ("proc/self/cgroup", "0::/machine/pod\n"),
            ("sys/memory.max", "4096\n"),
            ("sys/memory.current", "96\n"),
        ];
        assert_eq!(ask("inside", &inside), Some(4_000));
    }

    #[test]
    fn nothing_is_told_where_nothing_can_be_read() {
        let garbled = [
            ("proc/meminfo", "MemAvailable: many\n"),
            ("proc/self/cgroup", "x\n"),
        ];
        assert_eq!(ask("garbled", &garbled), None);
    }
}
