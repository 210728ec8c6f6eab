//! Measures durable events per second beside a raw log with the same group commit.
//!
//! ```text
//! cargo run --release -p referee-store --example group_commit \
//!     [SECONDS [ROUNDS [FOLDER [WRITERS…]]]]
//! ```
//!
//! Writers wait for each acknowledgement before they send the next event, each in a game of its
//! own: once games without deadlines, and once games whose deadlines move as in play. The raw log
//! is a preallocated file that one thread writes and syncs with `fdatasync`: what the disk and the
//! queue allow, and nothing kept in order or found again. All run in turns; the figures are medians
//! of the rounds.

#![expect(clippy::disallowed_types, reason = "it shows how long it took")]

use std::error::Error;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use referee_store::{
    Append, Appended, GameKey, Games, NewGame, RequestKey, SqliteStore, Store, Write,
};
use tokio::sync::{mpsc, oneshot};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const EVENT_BYTES: usize = 120;
const WRITERS: &[usize] = &[1, 64, 512];
const LOG_BYTES: u64 = 64 << 20;

#[derive(Clone, Copy, Default)]
struct Figure {
    events_per_s: f64,
    p50_us: f64,
    p99_us: f64,
    cpu_us_per_event: f64,
    kib_per_event: f64,
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let seconds: f64 = arguments.next().map_or(Ok(2.0), |text| text.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(3), |text| text.parse())?;
    let folder = arguments
        .next()
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(folder)?;
    let mut counts = arguments
        .map(|text| text.parse())
        .collect::<Result<Vec<usize>, _>>()?;
    if counts.is_empty() {
        counts = WRITERS.to_vec();
    }
    let time = Duration::from_secs_f64(seconds);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;

    let mut figures = vec![<[Vec<Figure>; 3]>::default(); counts.len()];
    for round in 0..rounds {
        for (index, writers) in counts.iter().copied().enumerate() {
            let log = folder.path().join(format!("{round}-{writers}.log"));
            figures[index][0].push(runtime.block_on(measure_log(&log, writers, time))?);
            for (engine, deadline_us) in [(1, no_deadline as Deadline), (2, next_deadline)] {
                let database = folder.path().join(format!("{round}-{writers}-{engine}.db"));
                let measured = measure_store(&database, writers, time, deadline_us);
                figures[index][engine].push(runtime.block_on(measured)?);
            }
        }
    }
    println!("{EVENT_BYTES}-byte events, {seconds} s, medians of {rounds} rounds");
    println!(
        "writers  engine      events/s   of log   p50 us    p99 us   cpu us/event   KiB/event"
    );
    for (writers, figures) in counts.iter().zip(&mut figures) {
        let [log, store, timed] = figures.each_mut().map(|figures| median(figures));
        for (name, figure) in [("raw log", log), ("store", store), ("timed", timed)] {
            println!(
                "{writers:>7}  {name:<8}  {:>10.0}  {:>7.2}  {:>7.0}  {:>8.0}  {:>13.1}  {:>10.2}",
                figure.events_per_s,
                figure.events_per_s / log.events_per_s,
                figure.p50_us,
                figure.p99_us,
                figure.cpu_us_per_event,
                figure.kib_per_event,
            );
        }
    }
    Ok(())
}

fn median(figures: &mut [Figure]) -> Figure {
    figures.sort_by(|one, other| one.events_per_s.total_cmp(&other.events_per_s));
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// The deadline that the event after so many leaves its game with.
type Deadline = fn(i64) -> Option<i64>;

fn no_deadline(_: i64) -> Option<i64> {
    None
}

/// The clocks of both players run in turns, and each deadline comes later than the one before.
fn next_deadline(event: i64) -> Option<i64> {
    Some(60_000 * (1 + event % 2) + 10 * event)
}

async fn measure_store(
    path: &Path,
    writers: usize,
    time: Duration,
    deadline_us: Deadline,
) -> Outcome<Figure> {
    let store = Arc::new(SqliteStore::open(path)?);
    let mut chains = Vec::new();
    for writer in 0..writers {
        let game = NewGame {
            key: GameKey::new("default", format!("game-{writer}")),
            request_id: format!("create-{writer}"),
            content_hash: [0; 32],
            genesis: vec![b'g'; 200],
            private: None,
            state: 1,
            labels: Vec::new(),
            create_time_us: 0,
            deadline_us: None,
        };
        let created = store.create(game).await?.into_row();
        chains.push(Mutex::new(created.chain_head));
    }
    let figure = measure(writers, time, {
        let (store, chains) = (store.clone(), Arc::new(chains));
        move |writer, event| {
            let (store, chains) = (store.clone(), chains.clone());
            async move {
                let head = || {
                    chains[writer]
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                };
                let previous = *head();
                let append = Append {
                    key: GameKey::new("default", format!("game-{writer}")),
                    expected_sequence: event,
                    previous,
                    // As long as a UUID, and as scattered.
                    request: RequestKey::new(
                        1,
                        format!("{:032x}-{writer:03}", event.wrapping_mul(0x9e37_79b9_7f4a)),
                    ),
                    content_hash: [7; 32],
                    write: Write::Entry {
                        bytes: vec![b'e'; EVENT_BYTES],
                        private: None,
                        describes: None,
                        state: 1,
                        update_time_us: 0,
                        deadline_us: deadline_us(event),
                        asks: false,
                    },
                };
                match store.append(append).await? {
                    Appended::Stored { chain, .. } => *head() = chain,
                    Appended::Repeated(_) => return Err("an event was stored twice".into()),
                }
                Ok(())
            }
        }
    })
    .await?;
    store.close().await?;
    Ok(figure)
}

async fn measure_log(path: &Path, writers: usize, time: Duration) -> Outcome<Figure> {
    type Event = (Vec<u8>, oneshot::Sender<()>);

    let mut file = File::create(path)?;
    let zeros = vec![0; 1 << 20];
    for _ in 0..LOG_BYTES >> 20 {
        file.write_all(&zeros)?;
    }
    file.sync_all()?;
    file.seek(SeekFrom::Start(0))?;

    let (sender, mut queue) = mpsc::channel::<Event>(4096);
    let thread = std::thread::spawn(move || -> std::io::Result<()> {
        let (mut events, mut bytes, mut offset) = (Vec::new(), Vec::new(), 0);
        while queue.blocking_recv_many(&mut events, 1024) > 0 {
            bytes.clear();
            for (event, _) in &events {
                bytes.extend_from_slice(event);
            }
            offset += bytes.len() as u64;
            if offset > LOG_BYTES {
                offset = bytes.len() as u64;
                file.seek(SeekFrom::Start(0))?;
            }
            file.write_all(&bytes)?;
            file.sync_data()?;
            for (_, reply) in events.drain(..) {
                let _ = reply.send(());
            }
        }
        Ok(())
    });
    let figure = measure(writers, time, move |_, _| {
        let sender = sender.clone();
        async move {
            let (reply, answer) = oneshot::channel();
            sender.send((vec![b'e'; EVENT_BYTES], reply)).await?;
            answer.await?;
            Ok(())
        }
    })
    .await?;
    thread.join().map_err(|_| "the log's thread failed")??;
    Ok(figure)
}

/// Lets `writers` tasks write one event after the other for `time`.
async fn measure<F: Future<Output = Outcome<()>> + Send + 'static>(
    writers: usize,
    time: Duration,
    write: impl Fn(usize, i64) -> F + Clone + Send + 'static,
) -> Outcome<Figure> {
    let (start, cpu, written) = (Instant::now(), cpu_s(), written_bytes());
    let mut tasks = Vec::new();
    for writer in 0..writers {
        let write = write.clone();
        tasks.push(tokio::spawn(async move {
            let mut latencies = Vec::new();
            while start.elapsed() < time {
                let sent = Instant::now();
                write(writer, latencies.len() as i64).await?;
                latencies.push(sent.elapsed());
            }
            Outcome::Ok(latencies)
        }));
    }
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await??);
    }
    let events = latencies.len() as f64;
    let (elapsed, cpu) = (start.elapsed().as_secs_f64(), cpu_s() - cpu);
    latencies.sort_unstable();
    let at = |part: f64| latencies[(events * part) as usize].as_secs_f64() * 1e6;
    Ok(Figure {
        events_per_s: events / elapsed,
        p50_us: at(0.5),
        p99_us: at(0.99),
        cpu_us_per_event: cpu * 1e6 / events,
        kib_per_event: (written_bytes() - written) / 1024.0 / events,
    })
}

/// The processor time of this process so far, where the system tells it.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let ticks: f64 = fields
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum();
    ticks / 100.0
}

/// The bytes that this process gave to the system so far, where it tells them.
fn written_bytes() -> f64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let written = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    written
        .and_then(|bytes| bytes.parse().ok())
        .unwrap_or_default()
}
