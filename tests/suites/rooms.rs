//! The rooms and their directions, as `cargo metadata` sees them.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

/// A room, which other rooms it may know, and what else it may stand on. `None` leaves that open.
type Room = (
    &'static str,
    Option<&'static [&'static str]>,
    Option<&'static [&'static str]>,
);

/// The directions. A room that is not built yet is held as soon as it is there; one that is not in
/// this table does not belong to the house.
const ROOMS: &[Room] = &[
    ("chess", Some(&[]), Some(&[])),
    ("pgn", Some(&["chess"]), Some(&[])),
    ("mate", Some(&["chess"]), Some(&[])),
    ("laws", Some(&["chess", "mate"]), Some(&[])),
    // Two plans are compared by their SHA-256.
    ("perft", Some(&["chess"]), Some(&["rayon", "sha2"])),
    ("api", Some(&[]), None),
    ("store", Some(&[]), None),
    ("telemetry", Some(&[]), None),
    (
        "server",
        Some(&[
            "chess",
            "pgn",
            "mate",
            "laws",
            "perft",
            "api",
            "store",
            "telemetry",
        ]),
        None,
    ),
    (
        "worker",
        Some(&["chess", "perft", "api", "telemetry"]),
        None,
    ),
    ("referee", None, None),
];

/// The rooms without async, I/O, clock, randomness and environment.
const PURE: [&str; 5] = ["chess", "pgn", "mate", "laws", "perft"];

/// What a pure room must not even reach through others.
const IMPURE: [&str; 12] = [
    "tokio",
    "tonic",
    "prost",
    "tracing",
    "log",
    "serde",
    "rand",
    "getrandom",
    "rusqlite",
    "hyper",
    "chrono",
    "time",
];

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(referee_tests::root().join("Cargo.toml"))
        .other_options(["--locked".to_owned()])
        .exec()
        .unwrap_or_else(|error| panic!("cargo metadata: {error}"))
}

/// The rooms that are there, by the name of the folder.
fn rooms(metadata: &Metadata) -> BTreeMap<String, &Package> {
    let crates = metadata.workspace_root.join("crates");
    let mut rooms = BTreeMap::new();
    for package in metadata.workspace_packages() {
        let folder = package
            .manifest_path
            .parent()
            .expect("a manifest stands in a folder");
        if let Ok(room) = folder.strip_prefix(&crates) {
            rooms.insert(room.to_string(), package);
        }
    }
    assert!(rooms.len() >= 6, "only {:?} were found", rooms.keys());
    rooms
}

/// What a package stands on when it is shipped: everything but its tests.
fn shipped(package: &Package) -> impl Iterator<Item = &str> {
    package
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind != DependencyKind::Development)
        .map(|dependency| dependency.name.as_str())
}

#[test]
fn packages_are_named_after_their_rooms() {
    let metadata = metadata();
    for (room, package) in rooms(&metadata) {
        let expected = if room == "referee" {
            room.clone()
        } else {
            format!("referee-{room}")
        };
        assert_eq!(package.name.as_str(), expected, "crates/{room}");
    }
    let binary = &rooms(&metadata)["referee"];
    let mut binaries = binary.targets.iter().filter(|target| target.is_bin());
    assert!(
        binaries.any(|target| target.name == "referee"),
        "the binary is named referee"
    );
}

#[test]
fn dependencies_run_one_way() {
    let metadata = metadata();
    let rooms = rooms(&metadata);
    let named: BTreeMap<&str, &str> = rooms
        .iter()
        .map(|(room, package)| (package.name.as_str(), room.as_str()))
        .collect();
    for (room, package) in &rooms {
        let Some((_, ours, others)) = ROOMS.iter().find(|(name, _, _)| name == room) else {
            panic!("crates/{room} is no room of the house");
        };
        for name in shipped(package) {
            match (named.get(name), ours, others) {
                (Some(other), Some(ours), _) => {
                    assert!(ours.contains(other), "{room} must not know {other}");
                }
                (None, _, Some(others)) => {
                    assert!(others.contains(&name), "{room} must not stand on {name}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn pure_rooms_reach_nothing_impure() {
    let metadata = metadata();
    for (room, package) in rooms(&metadata) {
        if !PURE.contains(&room.as_str()) {
            continue;
        }
        for reached in reach(&metadata, &package.id) {
            let name = metadata[&reached].name.as_str();
            assert!(!IMPURE.contains(&name), "{room} reaches {name}");
        }
    }
}

#[test]
fn only_the_server_knows_statuses() {
    let metadata = metadata();
    for (room, package) in rooms(&metadata) {
        let knows = shipped(package).any(|name| name == "tonic-types");
        // The binary reads the details of statuses as a client, where it plays cases.
        let may = ["server", "referee"].contains(&room.as_str());
        assert!(!knows || may, "{room} must not know statuses");
    }
}

#[test]
fn nothing_shipped_is_copyleft() {
    let metadata = metadata();
    for package in rooms(&metadata).values() {
        assert_eq!(
            package.license.as_deref(),
            Some("MIT OR Apache-2.0"),
            "{}",
            package.name
        );
        for reached in reach(&metadata, &package.id) {
            let reached = &metadata[&reached];
            let license = reached.license.as_deref().unwrap_or("none stated");
            let free = license
                .replace('/', " OR ")
                .split(" OR ")
                .any(|one| !one.contains("GPL"));
            assert!(
                free,
                "{} ships {}, which is {license}",
                package.name, reached.name
            );
        }
    }
}

/// Everything that is compiled into a package or builds it, the package left out.
fn reach(metadata: &Metadata, from: &PackageId) -> BTreeSet<PackageId> {
    let resolve = metadata
        .resolve
        .as_ref()
        .expect("cargo resolves what it builds");
    let mut reached = BTreeSet::new();
    let mut open = vec![from.clone()];
    while let Some(id) = open.pop() {
        let node = resolve.nodes.iter().find(|node| node.id == id);
        for dependency in &node.expect("cargo resolves every package").deps {
            let mut kinds = dependency.dep_kinds.iter();
            let ships = kinds.any(|found| found.kind != DependencyKind::Development);
            if ships && reached.insert(dependency.pkg.clone()) {
                open.push(dependency.pkg.clone());
            }
        }
    }
    reached
}
