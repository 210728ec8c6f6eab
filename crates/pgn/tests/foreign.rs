//! What other programs read in what we write: python-chess and pgn-extract agree on the moves and
//! the result of each game. A program that is not there is passed over, unless the environment
//! says that it must be (`REFEREE_TOOLS_REQUIRED`).

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;
use std::{env, fs};

use referee_chess::{CastlingMode, chess960};
use referee_pgn::{Eval, Game, Outcome, Tags};
use serde_json::Value;
use support::root;

/// Prints the result and the moves of each game, and the clock after each move.
const PYTHON: &str = r#"
import sys, chess.pgn
with open(sys.argv[1], encoding="utf-8") as file:
    while (game := chess.pgn.read_game(file)) is not None:
        assert not game.errors, game.errors
        nodes = list(game.mainline())
        print(game.headers["Result"], *[node.move.uci() for node in nodes])
        print(*[node.clock() for node in nodes])
"#;

/// The master games.
fn masters() -> Vec<Game> {
    let path = root().join("tests/data/games/masters.jsonl");
    let lines = fs::read_to_string(path).expect("the master games are among the test data");
    let games = lines.lines().map(|line| {
        let record: Value = serde_json::from_str(line).expect("each line is a game in JSON");
        let mut game = Game::new();
        let player = |key: &str| record[key].as_str().unwrap_or("?").to_owned();
        game.tags.set(Tags::WHITE, &player("white"));
        game.tags.set(Tags::BLACK, &player("black"));
        for san in record["moves"].as_array().expect("a game has moves") {
            let san = san.as_str().expect("a move is a text");
            let mv = game
                .final_position()
                .read_san(san)
                .expect("the moves are legal");
            game.play(mv).expect("the moves are legal");
        }
        game.outcome = match record["result"].as_str() {
            Some("1-0") => Outcome::WhiteWins,
            Some("0-1") => Outcome::BlackWins,
            _ => Outcome::Draw,
        };
        game
    });
    games.collect()
}

/// Games without sense from positions of Chess960, with clocks and comments.
fn chess960_games() -> Vec<Game> {
    let games = (0..60_u32).map(|number| {
        let number = number * 16;
        let start = chess960::startpos(number, CastlingMode::Chess960);
        let mut game = Game::from_position(start.expect("there are 960 positions"));
        game.tags.set(Tags::EVENT, "\"Quotes\" and \\ backslashes");
        let mut position = game.start.clone();
        for ply in 0..80_u32 {
            let moves = position.legal_moves();
            let Some(castling) = moves.iter().find(|mv| mv.is_castle()).or(moves.first()) else {
                break;
            };
            let any = moves[(number as usize * 31 + ply as usize * 17) % moves.len()];
            let mv = if castling.is_castle() { *castling } else { any };
            position.play_unchecked(mv);
            game.moves.push(mv);
            let note = game.notes.get_mut(ply as usize);
            note.clock = Some(Duration::from_millis(600_000 - u64::from(ply) * 1_500));
            match ply % 5 {
                0 => {
                    note.eval = Some(Eval::Centipawns {
                        score: -25,
                        depth: Some(12),
                    })
                }
                1 => note.nags.push(14),
                2 => note.comment = "a comment; with 50% (odd) signs".to_owned(),
                3 => note.comment = "braces {as they are}".to_owned(),
                _ => {}
            }
        }
        game.comment_end("FIDE-E01-2023 9.1: drawn by agreement.");
        game.outcome = Outcome::Draw;
        game
    });
    games.collect()
}

fn write(name: &str, games: &[Game]) -> PathBuf {
    let texts: Vec<String> = games.iter().map(|game| game.export().to_string()).collect();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, texts.join("\n")).expect("a file can be written");
    path
}

/// The result and the moves of a game, as the programs write them.
fn line(game: &Game) -> String {
    let moves = game
        .positions()
        .map(|(position, mv)| position.uci(mv).to_string());
    let mut words = vec![game.outcome.to_string()];
    words.extend(moves);
    words.join(" ")
}

/// Whether the environment says that the programs must be there.
fn is_required() -> bool {
    env::var_os("REFEREE_TOOLS_REQUIRED").is_some()
}

fn run(command: &mut Command) -> Option<Output> {
    command.output().ok()
}

#[test]
fn python_chess_reads_what_we_write() {
    let python = env::var_os("REFEREE_PYTHON").map_or("python3".into(), PathBuf::from);
    let games: Vec<Game> = masters().into_iter().chain(chess960_games()).collect();
    let file = write("foreign-python.pgn", &games);
    let probe = run(Command::new(&python).args(["-c", "import chess.pgn"]));
    if !probe.is_some_and(|output| output.status.success()) {
        assert!(!is_required(), "python-chess is not there");
        println!("skipped: python-chess is not there");
        return;
    }
    let output = run(Command::new(&python).args(["-c", PYTHON]).arg(&file));
    let output = output.expect("it ran a moment ago");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let text = String::from_utf8(output.stdout).expect("python writes UTF-8");
    let mut lines = text.lines();
    for (number, game) in games.iter().enumerate() {
        assert_eq!(lines.next(), Some(&*line(game)), "game {number}");
        let clocks: Vec<Option<f64>> = lines
            .next()
            .expect("a line of clocks")
            .split_whitespace()
            .map(|clock| clock.parse().ok())
            .collect();
        let ours = (0..game.moves.len()).map(|ply| game.notes.get(ply).clock);
        let ours: Vec<Option<f64>> = ours.map(|clock| clock.map(|c| c.as_secs_f64())).collect();
        assert_eq!(clocks, ours, "game {number}");
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn pgn_extract_reads_what_we_write() {
    let usual = Path::new("/usr/games/pgn-extract");
    let program = if usual.exists() {
        usual
    } else {
        Path::new("pgn-extract")
    };
    let games = masters();
    let file = write("foreign-extract.pgn", &games);
    let options = ["-s", "-C", "-N", "-V", "-Wuci", "--notags"];
    let Some(output) = run(Command::new(program).args(options).arg(&file)) else {
        assert!(!is_required(), "pgn-extract is not there");
        println!("skipped: pgn-extract is not there");
        return;
    };
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && error.trim().is_empty(),
        "{error}"
    );
    let text = String::from_utf8(output.stdout).expect("pgn-extract writes UTF-8");
    // It writes the piece of a promotion in upper case.
    let text = text.to_lowercase();
    let found: Vec<&str> = text.split_whitespace().collect();
    let mut expected = Vec::new();
    for game in &games {
        let line = line(game);
        let (outcome, moves) = line.split_once(' ').expect("a game has moves");
        expected.extend(moves.split(' ').map(str::to_owned));
        expected.push(outcome.to_owned());
    }
    assert_eq!(found, expected);
}
