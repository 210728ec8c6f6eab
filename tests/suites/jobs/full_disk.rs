//! A disk that fills up while a job is planned: whoever watches is told, nothing is left on the
//! disk, the service goes on, and the job can be created again. On a real file system of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use referee_api::v1::perft_failure::Kind;
use referee_api::v1::perft_job::State;
use referee_api::v1::{
    CountPerftRequest, DeletePerftJobRequest, Game, PerftJob, WatchPerftJobRequest,
};
use referee_server::limits;
use referee_tests::process::Referee;
use referee_tests::wire::{self, make_move, on_move};

use super::desk::{Jobs, PATIENCE, name};

/// What the file system has beside what sorting leaves to others: enough for the store and the
/// first plies, and not for those of a deep job.
const ROOM: u64 = 40 << 20;

/// More than the files of a small store grow by.
const STORE_GROWS_MAX: u64 = 16 << 20;

/// A file system in memory, until it is dropped.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// Mounts it; the reason where this system does not let us.
    fn mount(place: &'a Path, bytes: u64) -> Result<SmallDisk<'a>, String> {
        run_mount(&format!("size={bytes}"), place)?;
        Ok(SmallDisk(place))
    }

    fn grow(&self, bytes: u64) {
        run_mount(&format!("remount,size={bytes}"), self.0).expect("it grows");
    }

    /// How many bytes are free.
    fn free(&self) -> u64 {
        let mut command = Command::new("df");
        command.args(["--output=avail", "-B1"]).arg(self.0);
        let output = command.output().expect("there is df");
        let text = String::from_utf8_lossy(&output.stdout);
        let free = text.lines().nth(1).map(|line| line.trim().parse());
        free.expect("a second line").expect("a number")
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        // A process may be about to end yet.
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

fn run_mount(options: &str, place: &Path) -> Result<(), String> {
    let mut command = Command::new("mount");
    command
        .args(["-t", "tmpfs", "-o", options, "tmpfs"])
        .arg(place);
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// The files without a name that a process has open on a disk.
fn nameless(referee: &Referee, disk: &Path) -> Vec<String> {
    let folder = format!("/proc/{}/fd", referee.id());
    let open = fs::read_dir(folder).expect("the process runs");
    let open = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    open.map(|path| path.to_string_lossy().into_owned())
        .filter(|path| path.starts_with(&*disk.to_string_lossy()) && path.ends_with(" (deleted)"))
        .collect()
}

/// Follows a job to its end.
async fn follow(jobs: &mut Jobs, id: &str) -> PerftJob {
    let request = WatchPerftJobRequest {
        name: name(id),
        interval: None,
    };
    let watched = jobs.0.watch_perft_job(request).await;
    let mut watched = watched.expect("watched").into_inner();
    let following = async {
        let mut last = None;
        while let Some(message) = watched.message().await.expect("it ends with OK") {
            last = message.perft_job;
        }
        last.expect("there is a job")
    };
    let followed = tokio::time::timeout(PATIENCE, following).await;
    followed.expect("it ends")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_without_room_ends_the_job_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let size = limits::PERFT_SPILL_ROOM_BYTES + ROOM;
    let disk = match SmallDisk::mount(folder.path(), size) {
        Ok(disk) => disk,
        Err(reason) => {
            println!("skipped: only root can mount a small disk: {reason}");
            return;
        }
    };
    let referee = Referee::start_in(folder.path());
    let mut jobs = Jobs::of(&referee).await;
    let mut games = referee.games().await;
    let game = games
        .create_game(wire::create("beside", Game::default()))
        .await;
    game.expect("created");
    let before = disk.free();
    assert!(before > limits::PERFT_SPILL_ROOM_BYTES, "{before}");
    jobs.create("deep", 10).await;
    let failed = follow(&mut jobs, "deep").await;
    assert_eq!(failed.state(), State::Failed, "{failed:?}");
    let failure = failed.failure.expect("it is told");
    assert_eq!(failure.kind(), Kind::NoRoom, "{failure:?}");
    assert!(failure.text.contains("bytes of room"), "{failure:?}");
    assert!(failure.text.contains("make room"), "{failure:?}");
    // Nothing is left of what was sorted.
    let taken = before.saturating_sub(disk.free());
    assert!(taken < STORE_GROWS_MAX, "{taken} bytes are still taken");
    assert_eq!(nameless(&referee, folder.path()), Vec::<String>::new());
    // The service goes on.
    let moved = games.submit_action(wire::submit("beside", on_move(0), make_move("e4")));
    let moved = moved.await.expect("judged").into_inner();
    assert!(moved.event.expect("it stands").r#move.is_some());
    let small = CountPerftRequest {
        depth: 4,
        ..CountPerftRequest::default()
    };
    let counted = jobs.0.count_perft(small).await.expect("counted");
    assert_eq!(counted.into_inner().nodes, "197281");
    // With more room the same job is planned.
    let delete = DeletePerftJobRequest { name: name("deep") };
    jobs.0.delete_perft_job(delete).await.expect("deleted");
    disk.grow(size + (1 << 30));
    jobs.create("deep", 10).await;
    let planned = jobs.wait("deep", State::Running).await;
    let progress = planned.progress.expect("it is told");
    assert!(progress.positions > 800_000, "{progress:?}");
    assert_eq!(nameless(&referee, folder.path()), Vec::<String>::new());
    jobs.cancel("deep").await;
}
