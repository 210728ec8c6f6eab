//! Ours beside shakmaty with pgn-reader, and pgn-extract where it is installed: games parsed and
//! every move of the main line validated, by one thread.
//!
//! `cargo bench -p referee-pgn --bench readers [-- [--rounds N] [--record] [FILE.pgn…]]`
//!
//! Without a file, the master games of the test data are written out many times over. Every round
//! times all readers on the same bytes one after the other; what is printed are medians of
//! processor time, and their ratios. pgn-extract (Debian package `pgn-extract`) is a process,
//! whose reading of the file and start count, too; the file is long, and in memory. With
//! `--record` only our record is read, for a profiler.

#![expect(clippy::disallowed_types, reason = "a benchmark measures real time")]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Instant;
use std::{env, fs, hint};

use pgn_reader::shakmaty::{CastlingMode, Chess, Position as _, fen::Fen};
use pgn_reader::{RawTag, Reader, SanPlus};
use referee_chess::{Position, Tolerance};
use referee_pgn::{Game, GameReader, Item, Parser, Place, Tag, Tags, Visitor};
use serde_json::Value;

/// Games and plies, as a reader counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    games: u64,
    plies: u64,
    errors: u64,
}

/// A way to read a text.
type Read = fn(&[u8]) -> Count;

/// The work that pgn-reader's own example does: a board, the `FEN` tag, the moves; nothing kept.
struct Board {
    count: Count,
    position: Position,
    usual: Position,
    depth: u32,
    is_broken: bool,
}

impl Board {
    fn new() -> Board {
        Board {
            count: Count::default(),
            position: Position::startpos(),
            usual: Position::startpos(),
            depth: 0,
            is_broken: false,
        }
    }
}

impl Visitor for Board {
    fn begin_game(&mut self, _place: Place) {
        self.count.games += 1;
        self.position.clone_from(&self.usual);
        self.is_broken = false;
    }

    fn tag(&mut self, tag: Tag<'_>) {
        if tag.name == b"FEN" {
            let mode = referee_chess::CastlingMode::Chess960;
            match Position::from_fen_with(&tag.value(), mode, Tolerance::LENIENT) {
                Ok(position) => self.position = position,
                Err(_) => self.is_broken = true,
            }
        }
    }

    fn begin_variation(&mut self) {
        self.depth += 1;
    }

    fn end_variation(&mut self) {
        self.depth -= 1;
    }

    fn move_text(&mut self, text: &[u8], _place: Place) {
        if self.depth > 0 || self.is_broken {
            return;
        }
        let lenient = || self.position.read_move(str::from_utf8(text).ok()?).ok();
        match self.position.find_plain_san(text).or_else(lenient) {
            Some(mv) => {
                self.position.play_unchecked(mv);
                self.count.plies += 1;
            }
            None => {
                self.is_broken = true;
                self.count.errors += 1;
            }
        }
    }
}

fn board_only(bytes: &[u8]) -> Count {
    let mut board = Board::new();
    let mut parser = Parser::new();
    parser.push(bytes, &mut board);
    parser.finish(&mut board);
    board.count
}

fn full_record(bytes: &[u8]) -> Count {
    let mut count = Count::default();
    GameReader::new().read_all(bytes, &mut |item: Item<'_>| {
        if let Item::Game(reading) = hint::black_box(item) {
            count.games += 1;
            count.plies += reading.game.moves.len() as u64;
            count.errors += u64::from(reading.unplayed > 0);
        }
    });
    count
}

/// What pgn-reader's example of validation does.
#[derive(Default)]
struct Shakmaty(Count);

impl pgn_reader::Visitor for Shakmaty {
    type Tags = Option<Chess>;
    type Movetext = Chess;
    type Output = ();

    fn begin_tags(&mut self) -> ControlFlow<(), Option<Chess>> {
        self.0.games += 1;
        ControlFlow::Continue(None)
    }

    fn tag(&mut self, tags: &mut Option<Chess>, name: &[u8], value: RawTag<'_>) -> ControlFlow<()> {
        if name == b"FEN" {
            let fen = Fen::from_ascii(value.as_bytes()).ok();
            let position = fen.and_then(|fen| fen.into_position(CastlingMode::Chess960).ok());
            if position.is_none() {
                self.0.errors += 1;
                return ControlFlow::Break(());
            }
            *tags = position;
        }
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, tags: Option<Chess>) -> ControlFlow<(), Chess> {
        ControlFlow::Continue(tags.unwrap_or_default())
    }

    fn san(&mut self, board: &mut Chess, san_plus: SanPlus) -> ControlFlow<()> {
        match san_plus.san.to_move(board) {
            Ok(mv) => {
                board.play_unchecked(mv);
                self.0.plies += 1;
                ControlFlow::Continue(())
            }
            Err(_) => {
                self.0.errors += 1;
                ControlFlow::Break(())
            }
        }
    }

    fn end_game(&mut self, _board: Chess) {}
}

fn shakmaty(bytes: &[u8]) -> Count {
    let mut visitor = Shakmaty::default();
    let mut reader = Reader::new(bytes);
    while let Ok(Some(())) = reader.read_game(&mut visitor) {}
    visitor.0
}

/// Returns the seconds that this thread has had a processor, where the system tells; elsewhere the
/// seconds since a first call. On a busy machine the former says more.
fn processor_seconds() -> f64 {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let statistics = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = statistics.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(
        || BEGIN.elapsed().as_secs_f64(),
        |nanoseconds| nanoseconds / 1e9,
    )
}

/// Returns the processor seconds of all processes that were waited for, where the system tells,
/// in hundredths.
fn children_seconds() -> Option<f64> {
    let statistics = fs::read_to_string("/proc/self/stat").ok()?;
    let fields = statistics.rsplit(')').next()?.split_ascii_whitespace();
    let ticks: f64 = fields
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok())
        .sum();
    Some(ticks / 100.0)
}

/// Runs pgn-extract over a file, and returns its processor seconds; `None` where it is missing.
/// It reads and checks every game and writes none.
fn pgn_extract(program: &Path, file: &Path) -> Option<f64> {
    let before = children_seconds()?;
    let status = Command::new(program)
        .args(["-s", "-r"])
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    status
        .success()
        .then(|| children_seconds().map(|after| after - before))?
}

/// The master games, written out again and again.
fn generated() -> Vec<u8> {
    /// Enough for a second of the fastest reader.
    const TIMES: usize = 1_500;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/games/masters.jsonl");
    let lines = fs::read_to_string(path).expect("the master games are among the test data");
    let mut text = String::new();
    for line in lines.lines() {
        let record: Value = serde_json::from_str(line).expect("each line is a game in JSON");
        let mut game = Game::new();
        for (tag, key) in [
            (Tags::EVENT, "event"),
            (Tags::SITE, "site"),
            (Tags::WHITE, "white"),
            (Tags::BLACK, "black"),
        ] {
            game.tags.set(tag, record[key].as_str().unwrap_or("?"));
        }
        for san in record["moves"].as_array().expect("a game has moves") {
            let position = game.final_position();
            let mv = position.read_san(san.as_str().expect("a move is a text"));
            game.play(mv.expect("the moves are legal"))
                .expect("the moves are legal");
        }
        text.push_str(&game.export().to_string());
        text.push('\n');
    }
    text.repeat(TIMES).into_bytes()
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn main() {
    let mut rounds = 7;
    let mut is_alone = false;
    let mut files = Vec::new();
    let mut arguments = env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--record" => is_alone = true,
            "--rounds" => {
                let number = arguments.next().and_then(|number| number.parse().ok());
                rounds = number.expect("--rounds needs a number");
            }
            _ => files.push(PathBuf::from(argument)),
        }
    }
    let mut bytes = Vec::new();
    for file in &files {
        bytes.extend(fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display())));
        bytes.extend_from_slice(b"\n\n");
    }
    if files.is_empty() {
        bytes = generated();
    }
    match is_alone {
        true => (0..rounds).for_each(|_| _ = hint::black_box(full_record(&bytes))),
        false => measure(&bytes, rounds),
    }
}

fn measure(bytes: &[u8], rounds: usize) {
    let file = env::temp_dir().join(format!("referee-readers-{}.pgn", std::process::id()));
    fs::write(&file, bytes).expect("a temporary file can be written");
    // Debian installs it where not every path leads.
    let usual = Path::new("/usr/games/pgn-extract");
    let fallback = if usual.exists() {
        usual
    } else {
        Path::new("pgn-extract")
    };
    let program = env::var_os("PGN_EXTRACT").map_or(fallback.to_owned(), PathBuf::from);
    let readers: [(&str, Read); 3] = [
        ("ours, a record of each game", full_record),
        ("ours, a board only", board_only),
        ("shakmaty + pgn-reader", shakmaty),
    ];
    let mut seconds = vec![Vec::new(); readers.len()];
    let mut foreign = Vec::new();
    let mut counts = vec![Count::default(); readers.len()];
    for _ in 0..rounds {
        for (index, (_, read)) in readers.iter().enumerate() {
            let begin = processor_seconds();
            counts[index] = hint::black_box(read(hint::black_box(bytes)));
            seconds[index].push(processor_seconds() - begin);
        }
        foreign.extend(pgn_extract(&program, &file));
    }
    fs::remove_file(&file).expect("the temporary file can be removed");
    let mebibytes = bytes.len() as f64 / f64::from(1 << 20);
    println!("{mebibytes:.1} MiB, {rounds} rounds, medians of processor time of one thread");
    let ours = median(seconds[0].clone());
    let print = |name: &str, seconds: f64, count: Count| {
        println!(
            "{name:<28} {:>7.3} s {:>9.0} games/s {:>5.1} M plies/s {:>6.0} MiB/s  {:>6.2} x \
             ours  ({} games, {} plies, {} errors)",
            seconds,
            count.games as f64 / seconds,
            count.plies as f64 / seconds / 1e6,
            mebibytes / seconds,
            seconds / ours,
            count.games,
            count.plies,
            count.errors,
        );
    };
    for (index, (name, _)) in readers.iter().enumerate() {
        print(name, median(seconds[index].clone()), counts[index]);
    }
    match foreign.is_empty() {
        true => println!("pgn-extract is not installed (set PGN_EXTRACT to its path)"),
        false => print("pgn-extract (games as ours)", median(foreign), counts[0]),
    }
}
