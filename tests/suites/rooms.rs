//! The rooms and their directions, as `cargo metadata` and the sources show them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};
use referee_tests::circles::Room;
use referee_tests::root;
use referee_tests::sources::{Source, names, sources};

/// A room, which other rooms it may know, and what else it may stand on. `None` leaves that open.
type Rule = (
    &'static str,
    Option<&'static [&'static str]>,
    Option<&'static [&'static str]>,
);

/// The directions. A room that is not built yet is held as soon as it is there; one that is not in
/// this table does not belong to the house.
const ROOMS: &[Rule] = &[
    ("chess", Some(&[]), Some(&[])),
    ("pgn", Some(&["chess"]), Some(&[])),
    ("mate", Some(&["chess"]), Some(&[])),
    ("laws", Some(&["chess", "mate"]), Some(&[])),
    ("review", Some(&["chess", "laws", "pgn"]), Some(&[])),
    // Two plans are compared by their SHA-256.
    ("perft", Some(&["chess"]), Some(&["rayon", "sha2"])),
    (
        "spill",
        Some(&["chess", "perft"]),
        Some(&["rustix", "tempfile"]),
    ),
    ("api", Some(&[]), None),
    (
        "record",
        Some(&["api", "chess", "laws"]),
        Some(&["base64", "ed25519-dalek", "prost", "prost-types", "sha2"]),
    ),
    ("store", Some(&[]), None),
    ("telemetry", Some(&[]), None),
    (
        "server",
        Some(&[
            "record",
            "review",
            "store",
            "perft",
            "spill",
            "telemetry",
            // What record and review are about, since their signatures speak of it.
            "api",
            "chess",
            "laws",
            "pgn",
        ]),
        None,
    ),
    (
        "worker",
        Some(&["perft", "api", "telemetry", "chess"]),
        None,
    ),
    (
        "verify",
        Some(&["api", "chess", "perft", "record", "spill"]),
        None,
    ),
    ("conform", Some(&["api"]), None),
    ("referee", None, None),
];

/// The rooms without async, I/O, clock, randomness and environment.
const PURE: [&str; 6] = ["chess", "pgn", "mate", "laws", "review", "perft"];

/// The only rooms that read what is in a status: the server makes them; conform, workers and the
/// commands of the binary that ask a server read those of whatever referee they ask. The contract
/// has one among its messages.
const READ_STATUSES: [&str; 5] = ["server", "conform", "api", "referee", "worker"];

/// Where in the server statuses are known: the floors that speak gRPC.
const STATUS_FOLDERS: [&str; 2] = ["services", "transport"];

/// Circles among the files of a room that are one thing: the room, the files, and the reason.
const CIRCLES: &[(&str, &[&str], &str)] = &[
    (
        "chess",
        &[
            "chess960.rs",
            "fen.rs",
            "fen/error.rs",
            "fen/write.rs",
            "position.rs",
            "validate.rs",
        ],
        "a position is read, checked, set up by number and written; each form is a method of it",
    ),
    (
        "chess",
        &["illegal.rs", "uci.rs"],
        "an error names moves as UCI writes them, and reading UCI makes the error",
    ),
    (
        "mate",
        &["guards.rs", "saturate.rs"],
        "guards narrow what a man can reach, and what it can reach makes a guard",
    ),
    (
        "perft",
        &["fast.rs", "table.rs"],
        "what is counted is looked up first and kept, and what is not there is counted",
    ),
    (
        "pgn",
        &["export.rs", "game.rs"],
        "a game is written by a method of it",
    ),
];

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
        .manifest_path(root().join("Cargo.toml"))
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

/// The rooms that another may know. Until `record` is a room, what it holds stands in the server.
fn known(rooms: &BTreeMap<String, &Package>, ours: &[&'static str]) -> Vec<&'static str> {
    let is_built = rooms.contains_key("record");
    let room = |room: &&'static str| match *room {
        "record" if !is_built => "server",
        room => room,
    };
    ours.iter().map(room).collect()
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
                    let known = known(&rooms, ours);
                    assert!(known.contains(other), "{room} must not know {other}");
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

/// The paths of a file that begin with one of some names.
fn paths_of(file: &Source, first: &[&str]) -> Vec<(usize, String)> {
    let paths = names(&file.syntax(), true).full_paths().into_iter();
    paths
        .filter(|path| first.contains(&path.segments[0].as_str()))
        .map(|path| (path.line, path.segments.join("::")))
        .collect()
}

#[test]
fn the_record_knows_no_transport() {
    let metadata = metadata();
    if let Some(package) = rooms(&metadata).get("record") {
        for name in ["tonic", "tonic-types", "tokio", "tokio-stream", "hyper"] {
            let mut shipped = shipped(package);
            assert!(
                !shipped.any(|one| one == name),
                "record must not know {name}"
            );
        }
    }
    for file in sources(&root(), "crates") {
        if file.path.starts_with("crates/record/src") {
            let found = paths_of(&file, &["tonic", "tonic_types", "tokio", "tokio_stream"]);
            assert!(found.is_empty(), "{}: {found:?}", file.path.display());
        }
    }
}

#[test]
fn few_rooms_read_statuses() {
    let metadata = metadata();
    for (room, package) in rooms(&metadata) {
        let knows = shipped(package).any(|name| name == "tonic-types");
        let may = READ_STATUSES.contains(&room.as_str());
        assert!(!knows || may, "{room} must not know statuses");
    }
}

#[test]
fn in_the_server_only_the_upper_floors_know_statuses() {
    let src = Path::new("crates/server/src");
    let floors = STATUS_FOLDERS.map(|folder| src.join(folder));
    // A server that has no floors yet is held as soon as it has.
    if !floors.iter().all(|floor| root().join(floor).is_dir()) {
        return;
    }
    let mut faults = Vec::new();
    for file in sources(&root(), "crates/server/src") {
        if file.is_proof() || floors.iter().any(|floor| file.path.starts_with(floor)) {
            continue;
        }
        for (line, path) in paths_of(&file, &["tonic", "tonic_types"]) {
            if is_status(&path) {
                faults.push(format!("{}:{line}: {path}", file.path.display()));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "statuses below the services: {faults:#?}"
    );
}

/// Whether a path names a status or something of one.
fn is_status(path: &str) -> bool {
    let mut segments = path.split("::");
    path.starts_with("tonic_types") || segments.any(|one| ["Status", "Code"].contains(&one))
}

#[test]
fn a_status_is_found_however_it_is_named() {
    let found = |text: &str| {
        let file = Source {
            path: "crates/server/src/games/slot.rs".into(),
            text: text.to_owned(),
        };
        let paths = paths_of(&file, &["tonic", "tonic_types"]);
        paths.iter().any(|(_, path)| is_status(path))
    };
    assert!(found("use tonic::Status;"));
    assert!(found("use tonic::{Request, Status as Answer};"));
    assert!(found("fn f() { g(tonic::Code::Internal) }"));
    assert!(found("fn f() { assert_eq!(tonic::Code::Internal, g()) }"));
    assert!(found("use tonic_types::StatusExt;"));
    assert!(!found(
        "use tonic::transport::Server; struct Status; fn f() { Status::new() }"
    ));
}

#[test]
fn files_of_a_room_stand_in_no_circle_without_a_reason() {
    let all = sources(&root(), "crates");
    let metadata = metadata();
    let mut faults = Vec::new();
    let mut unused: Vec<_> = CIRCLES.iter().collect();
    for room in rooms(&metadata).keys() {
        let src = format!("crates/{room}/src");
        let read = Room::read(&all, Path::new(&src));
        for circle in read.circles() {
            let files: Vec<&str> = circle.iter().map(String::as_str).collect();
            let before = unused.len();
            unused.retain(|(named, known, _)| named != room || *known != files);
            if unused.len() == before {
                faults.push(format!("{room}: {}", drawn(&read, &circle)));
            }
        }
    }
    let stale = unused.iter().map(|(room, files, _)| {
        format!("{room}: {files:?} is no circle any more: take it off the list")
    });
    faults.extend(stale);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A circle with the lines that draw it.
fn drawn(room: &Room, circle: &BTreeSet<String>) -> String {
    let mut text = format!("{circle:?} is a circle:");
    for file in circle {
        for (other, line) in room.arrows(file) {
            if circle.contains(&other) {
                text.push_str(&format!("\n    {file}:{line} -> {other}"));
            }
        }
    }
    text
}

/// The circles of a made-up room.
fn circles_of(files: &[(&str, &str)]) -> Vec<BTreeSet<String>> {
    let files = files.iter().map(|(path, text)| Source {
        path: Path::new("crates/made/src").join(path),
        text: (*text).to_owned(),
    });
    let files: Vec<Source> = files.collect();
    Room::read(&files, Path::new("crates/made/src")).circles()
}

#[test]
fn a_circle_is_found_through_doors_and_macros() {
    let door = ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;");
    let circle = BTreeSet::from(["a.rs".to_owned(), "b.rs".to_owned()]);
    // Through what the root of the room hands on.
    let a = ("a.rs", "use crate::B; pub struct A(B);");
    let b = ("b.rs", "pub struct B; fn f(_: crate::A) {}");
    assert_eq!(circles_of(&[door, a, b]), std::slice::from_ref(&circle));
    // Through a path in the call of a macro, and through a module that is imported.
    let a = (
        "a.rs",
        "pub struct A; fn f() { assert!(super::b::is_so()); }",
    );
    let b = ("b.rs", "use crate::a; pub struct B; fn f() { a::f() }");
    assert_eq!(circles_of(&[door, a, b]), [circle]);
    // A test may use what it likes, and a door draws no arrow.
    let a = ("a.rs", "use crate::B; pub struct A(B);");
    let b = (
        "b.rs",
        "pub struct B; #[cfg(test)] mod tests { use crate::A; }",
    );
    assert!(circles_of(&[door, a, b]).is_empty());
    // A folder and its files.
    let parent = ("a.rs", "mod c; pub struct A; fn f() { c::g() }");
    let child = ("a/c.rs", "use super::A; pub fn g(_: A) {}");
    let both = BTreeSet::from(["a.rs".to_owned(), "a/c.rs".to_owned()]);
    assert_eq!(circles_of(&[parent, child]), [both]);
}

/// Whether a crate may be shipped under its licence: it has one, and one of its choices is free.
fn is_free(license: Option<&str>) -> bool {
    let Some(license) = license else {
        return false;
    };
    let choices = license.replace('/', " OR ");
    let mut choices = choices.split(" OR ").map(str::trim);
    choices.any(|one| !one.is_empty() && !one.contains("GPL"))
}

#[test]
fn nothing_shipped_is_copyleft_or_without_a_licence() {
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
            let license = reached.license.as_deref();
            assert!(
                is_free(license),
                "{} ships {}, whose licence is {license:?}",
                package.name,
                reached.name
            );
        }
    }
}

#[test]
fn a_licence_is_free_by_one_of_its_choices() {
    for free in [
        "MIT",
        "MIT/Apache-2.0",
        "LGPL-2.1 OR MIT",
        "Unlicense OR GPL-3.0",
    ] {
        assert!(is_free(Some(free)), "{free}");
    }
    for other in [
        None,
        Some(""),
        Some("GPL-3.0-or-later"),
        Some("AGPL-3.0 OR GPL-2.0"),
    ] {
        assert!(!is_free(other), "{other:?}");
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
