//! The record of a job: sound as it was exported, and found out whatever is changed in it, by
//! somebody who computes the chain again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use prost::Message as _;
use referee_api::v1;
use referee_api::v1::PerftJob;
use referee_api::v1::export_perft_job_response::Kind;
use referee_api::v1::perft_job::State;
use referee_api::v1::position::Base;
use referee_tests::process::binary;
use referee_verify::perft_file::{Parts, write_part};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::station::{Station, Way};
use super::work;

/// A small tree with many positions.
const ROOK: &str = "8/8/8/3k4/8/8/8/R3K3 w - - 0 1";

/// The first test vector of RFC 8032.
const SECRET: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

fn link(tag: &str, before: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut hasher = Sha256::new();
    hasher.update(tag.as_bytes());
    hasher.update(before);
    hasher.update(bytes);
    hasher.finalize().to_vec()
}

/// A record in parts.
#[derive(Clone)]
struct Record {
    header: v1::PerftRecordHeader,
    entries: Vec<v1::PerftSubtotals>,
    outcome: v1::PerftJob,
    seal: v1::PerftRecordSeal,
}

impl Record {
    fn read(path: &Path) -> Record {
        let parts = Parts::new(File::open(path).expect("it was exported"));
        let parts: Result<Vec<Kind>, _> = parts.collect();
        let mut parts = parts.expect("it is a record").into_iter();
        let Some(Kind::Header(header)) = parts.next() else {
            panic!("it begins with a header")
        };
        let (mut entries, mut seal) = (Vec::new(), None);
        for part in parts {
            match part {
                Kind::Entry(entry) => {
                    let subtotals = v1::PerftSubtotals::decode(entry.subtotals);
                    entries.push(subtotals.expect("subtotals"));
                }
                Kind::Seal(found) => seal = Some(found),
                Kind::Header(_) => panic!("there is one header"),
            }
        }
        let seal = seal.expect("it is sealed");
        Record {
            header,
            entries,
            outcome: PerftJob::decode(seal.outcome.clone()).expect("an outcome"),
            seal,
        }
    }

    /// All subtotals, one after the other.
    fn all(&mut self) -> Vec<&mut v1::PerftSubtotal> {
        let entries = self.entries.iter_mut();
        entries
            .flat_map(|entry| entry.subtotals.iter_mut())
            .collect()
    }

    /// Writes the record with a chain of its own.
    fn write(&self, path: &Path) {
        let mut out = File::create(path).expect("a file");
        let mut put = |kind: &Kind| write_part(&mut out, kind).expect("written");
        put(&Kind::Header(self.header.clone()));
        let mut head = self.header.chain_hash.to_vec();
        for (sequence, entry) in (1..).zip(&self.entries) {
            let subtotals = entry.encode_to_vec();
            head = link("referee.perft.v1.entry\n", &head, &subtotals);
            put(&Kind::Entry(v1::PerftRecordEntry {
                sequence,
                subtotals: subtotals.into(),
                chain_hash: head.clone().into(),
            }));
        }
        let outcome = self.outcome.encode_to_vec();
        head = link("referee.perft.v1.outcome\n", &head, &outcome);
        put(&Kind::Seal(v1::PerftRecordSeal {
            entry_count: self.entries.len() as i64,
            outcome: outcome.into(),
            head_hash: head.into(),
            ..self.seal.clone()
        }));
    }
}

fn perft(arguments: &[&str]) -> Output {
    let run = Command::new(binary()).arg("perft").args(arguments).output();
    run.expect("the binary runs")
}

/// Verifies a record; returns the exit code and what is said of it.
fn verify(path: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let path = path.to_str().expect("a plain path");
    let output = perft(&[&["--verify", path, "--json"], arguments].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    let report = serde_json::from_slice(&output.stdout);
    let report = report.unwrap_or_else(|error| panic!("{error}: {said}"));
    (output.status.code(), report)
}

fn check_found(record: &Record, path: &Path, arguments: &[&str], what: &str) {
    record.write(path);
    let (code, report) = verify(path, arguments);
    assert_eq!(code, Some(1), "{report}");
    let problems = report["problems"].to_string();
    assert!(problems.contains(what), "{what}: {problems}");
}

/// Writes a secret to a file that nobody else may read.
fn keep(folder: &Path, name: &str, secret: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, secret).expect("written");
    let only_ours = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&path, only_ours).expect("a mode");
    path
}

/// Exports the record of the job.
fn export(station: &Station, path: &Path) {
    let token = keep(station.folder.path(), "token", &station.platform);
    let exporting = Command::new(binary())
        .args(["perft", "--export", "kept", "--output"])
        .arg(path)
        .args(["--server", &format!("http://{}", station.referee.address())])
        .arg("--token-file")
        .arg(&token)
        .output();
    let exported = exporting.expect("the binary runs");
    let said = String::from_utf8_lossy(&exported.stderr);
    assert!(exported.status.success(), "{said}");
}

/// The record holds, and what is said of it is true of the job.
fn check_sound(path: &Path, done: &PerftJob) {
    let positions = done.progress.as_ref().expect("it is told").positions;
    let part = |share: f64| (positions as f64 * share).ceil() as i64;
    let rechecked = done.trust.as_ref().expect("it is told").rechecked;
    assert_eq!(rechecked, part(0.1));
    let (code, report) = verify(
        path,
        &["--public-key", PUBLIC, "--sample", "0.05", "--seed", "7"],
    );
    assert_eq!(
        (code, &report["nodes"]),
        (Some(0), &done.nodes[..].into()),
        "{report}"
    );
    assert_eq!(
        (&report["recounted"], &report["positions"]),
        (&part(0.05).into(), &positions.into())
    );
    assert_eq!(
        (&report["by_second_generator"], &report["seed"]),
        (&part(0.05).into(), &7.into())
    );
    assert_eq!(report["signature"], "valid");
    let words = perft(&[
        "--verify",
        path.to_str().expect("a plain path"),
        "--sample",
        "0.05",
    ]);
    let words = String::from_utf8_lossy(&words.stdout).into_owned();
    let missed = (positions - part(0.05)) as f64 / positions as f64;
    assert!(
        words.contains(&format!("missed with probability {missed:.6}")),
        "{words}"
    );
    assert!(words.contains("seed "), "{words}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_shows_what_was_changed_in_it() {
    let keys = tempfile::tempdir().expect("a folder");
    let key = keep(keys.path(), "key", SECRET);
    let station = Station::start(2, &["--signing-key", key.to_str().expect("a plain path")]);
    let mut jobs = station.jobs().await;
    let job = PerftJob {
        position: Some(v1::Position {
            base: Some(Base::Fen(ROOK.to_owned())),
            ..v1::Position::default()
        }),
        depth: 6,
        recheck_share: 0.1,
        ..PerftJob::default()
    };
    jobs.create("kept", job).await;
    let mut one = station.desk(0, Way::Honest).await;
    let mut two = station.desk(1, Way::Honest).await;
    let done = work(&mut jobs, "kept", &mut [&mut one, &mut two]).await;
    assert_eq!(done.state(), State::Succeeded);
    let folder = station.folder.path();
    let path = folder.join("kept.perft");
    export(&station, &path);
    check_sound(&path, &done);

    let sound = Record::read(&path);
    let changed = folder.join("changed.perft");
    // Without the key the signature does not hold, and its absence shows.
    sound.write(&changed);
    let mut unsigned = sound.clone();
    unsigned.seal.signature = None;
    check_found(
        &unsigned,
        &changed,
        &["--require-signature"],
        "there is none",
    );
    check_every_change(&unsigned, &changed);
}

/// Whatever is changed in a record is found, by one who does not ask for a signature.
fn check_every_change(sound: &Record, changed: &Path) {
    sound.write(changed);
    assert_eq!(verify(changed, &["--sample", "0"]).0, Some(0));
    // A position is left out, and another counts for it: the sum is the same.
    let mut dropped = sound.clone();
    let gone = dropped.entries[3].subtotals.remove(0);
    let other = dropped.entries[3]
        .subtotals
        .first_mut()
        .expect("there are more");
    other.nodes += gone.nodes;
    check_found(
        &dropped,
        changed,
        &["--sample", "0"],
        "another one in the record",
    );
    // Another way to do so: more paths to another one.
    let mut raised = sound.clone();
    raised.entries[3].subtotals[0].paths[0] += 1;
    check_found(&raised, changed, &["--sample", "0"], "other paths");
    // Two counts are swapped, each with one path: the sums are the same where the first move is,
    // and only who counts again can know.
    let mut swapped = sound.clone();
    let mut all = swapped.all();
    let first_moves = all[0].first_moves.clone();
    let (mut at, mut nodes) = (1, all[0].nodes);
    while all[at].first_moves != first_moves || all[at].nodes == nodes {
        at += 1;
    }
    std::mem::swap(&mut all[at].nodes, &mut nodes);
    all[0].nodes = nodes;
    swapped.write(changed);
    assert_eq!(verify(changed, &["--sample", "0"]).0, Some(0));
    check_found(&swapped, changed, &["--all"], "in the record");
    check_every_cut(sound, changed);
}

/// So it is where something is missing, or stands elsewhere.
fn check_every_cut(sound: &Record, changed: &Path) {
    // The tail is cut: with its seal, and without.
    let mut cut = sound.clone();
    cut.entries.pop();
    check_found(&cut, changed, &["--sample", "0"], "not in the record");
    let text = {
        sound.write(changed);
        fs::read_to_string(changed).expect("it was written")
    };
    let lines: Vec<&str> = text.lines().collect();
    fs::write(changed, lines[..lines.len() - 1].join("\n")).expect("written");
    let (code, report) = verify(changed, &["--sample", "0"]);
    assert_eq!(code, Some(1), "{report}");
    assert!(
        report["problems"].to_string().contains("without a seal"),
        "{report}"
    );
    // Another sum, and an entry that is not that of its link.
    let mut sum = sound.clone();
    sum.outcome.nodes = format!("{}0", sound.outcome.nodes);
    check_found(&sum, changed, &["--sample", "0"], "add up to");
    fs::write(
        changed,
        [lines[0], lines[2], lines[1], &lines[3..].join("\n")].join("\n"),
    )
    .expect("written");
    let (code, report) = verify(changed, &["--sample", "0"]);
    assert_eq!(code, Some(1), "{report}");
    assert!(
        report["problems"]
            .to_string()
            .contains("chain: entry 2 comes"),
        "{report}"
    );
    // What is no record at all is trouble.
    fs::write(changed, "{}").expect("written");
    assert_eq!(verify(changed, &[]).0, Some(2));
}
