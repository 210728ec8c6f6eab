//! Texts that are made to hurt: memory stays bounded, time linear, and each ends in a clear fault.

#![expect(
    clippy::disallowed_types,
    reason = "how the time of reading grows is measured"
)]

mod support;

use std::fs;
use std::time::Instant;

use referee_pgn::{GameReader, Item};
use support::read_in_pieces;

/// Bytes of the longest texts of these tests, and of the others.
const LONGEST: usize = 200 << 20;
const LONG: usize = 8 << 20;

/// Bytes of memory that reading such a text may take beyond what was taken before.
const MEMORY_MAX: u64 = 24 << 20;

/// The greatest memory that this process has held so far, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

/// What is left of a reading: plies by game, and the names of the first faults.
#[derive(Debug, Default, PartialEq, Eq)]
struct Summary {
    plies: Vec<usize>,
    faults: Vec<&'static str>,
    more_faults: u64,
}

/// Reads a head, a piece as often as it takes to fill the length, and a tail.
fn read_long(length: usize, head: &str, piece: &str, tail: &str) -> Summary {
    let mut summary = Summary::default();
    let mut take = |item: Item<'_>| match item {
        Item::Game(reading) => {
            summary.plies.push(reading.game.moves.len());
            summary
                .faults
                .extend(reading.faults.iter().map(|fault| fault.kind.name()));
            summary.more_faults += reading.faults_dropped;
        }
        Item::Stray(fault) if summary.faults.len() < 100 => summary.faults.push(fault.kind.name()),
        Item::Stray(_) => summary.more_faults += 1,
    };
    let mut reader = GameReader::new();
    let block = piece.repeat((64 << 10) / piece.len());
    reader.push(head.as_bytes(), &mut take);
    for _ in 0..length / block.len() {
        reader.push(block.as_bytes(), &mut take);
    }
    reader.push(tail.as_bytes(), &mut take);
    reader.finish(&mut take);
    summary
}

fn check(name: &str, head: &str, piece: &str, tail: &str, expected: impl Fn(&Summary) -> bool) {
    let before = peak_memory();
    let began = Instant::now();
    let length = match piece {
        "word " | "(1. d4 " => LONGEST,
        _ => LONG,
    };
    let summary = read_long(length, head, piece, tail);
    let seconds = began.elapsed().as_secs_f64();
    let grown = peak_memory()
        .zip(before)
        .map(|(after, before)| after - before);
    println!("{name}: {seconds:.2} s, {grown:?} bytes more");
    let mut shown = summary.faults.clone();
    shown.truncate(8);
    assert!(expected(&summary), "{name}: {:?}, {shown:?}", summary.plies);
    assert!(
        grown.is_none_or(|grown| grown < MEMORY_MAX),
        "{name}: {grown:?} bytes"
    );
}

#[test]
fn long_texts_are_read_in_bounded_memory() {
    let one = |plies: usize, fault: &'static str| {
        move |summary: &Summary| summary.plies == [plies] && summary.faults.contains(&fault)
    };
    check(
        "a comment",
        "1. e4 {",
        "word ",
        "} e5 *",
        one(2, "comment-too-long"),
    );
    check(
        "a comment of one word",
        "1. e4 {",
        "x",
        "} e5 *",
        one(2, "comment-too-long"),
    );
    check(
        "a comment of lines",
        "1. e4 {",
        "x\n\n",
        "} e5 *",
        one(2, "comment-too-long"),
    );
    check(
        "a comment of headers",
        "1. e4 {",
        "\n\n[Event \"x\"]\n} {",
        "} e5 *",
        |summary| summary.plies == [2] && summary.faults == ["comments-too-long"],
    );
    check(
        "an open comment",
        "1. e4 {",
        "word ",
        "",
        one(1, "unclosed-comment"),
    );
    check(
        "a comment to the end of the line",
        "1. e4 ;",
        "x",
        "\n*",
        one(1, "comment-too-long"),
    );
    check(
        "variations, open",
        "1. e4 ",
        "(",
        "",
        one(1, "unclosed-variation"),
    );
    check(
        "variations",
        "1. e4 ",
        "(1. d4 ",
        ") e5 *",
        one(1, "variation-too-deep"),
    );
    check("an escaped line", "1. e4\n%", "x", "\ne5 *", |summary| {
        summary.plies == [2] && summary.faults.is_empty()
    });
    check("a word", "1. e4 ", "x", " e5 *", one(2, "token-too-long"));
    check(
        "a number",
        "1. e4 ",
        "1",
        ". e5 *",
        one(2, "token-too-long"),
    );
    check(
        "dots",
        "1. e4 1",
        ".",
        " e5 *",
        one(2, "missing-result").negated(),
    );
    check("marks", "1. e4 ", "?!", " e5 *", one(2, "too-many-nags"));
    check("glyphs", "1. e4 ", "$1", " e5 *", one(2, "too-many-nags"));
    check(
        "a tag",
        "[White \"A\"]\n[Black \"",
        "x",
        "\"]\n\n1. e4 *",
        one(1, "tag-too-long"),
    );
    check("a name", "[", "x", " \"B\"]\n\n1. e4 *", |summary| {
        summary.faults.contains(&"tag-too-long") && summary.plies == [1]
    });
    check("brackets", "1. e4 ", "[", "\ne5 *", |summary| {
        summary.plies == [2]
    });
    check("names", "1. e4 *\n", "[A ", "\n", |summary| {
        summary.plies == [1]
    });
    check("open values", "1. e4 *\n", "[A \"x", "\n", |summary| {
        summary.plies[0] == 1
    });
    check("tags and words", "", "[A \"x\" x ", "\n", |summary| {
        summary.faults.contains(&"tag-too-long")
    });
    check(
        "tags on one line",
        "",
        "[A \"x\"]",
        "\n*",
        one(0, "duplicate-tag"),
    );
    check(
        "tags",
        "",
        "[A \"x\"]\n",
        "\n1. e4 *",
        one(1, "duplicate-tag"),
    );
    check(
        "moves",
        "",
        "Nf3 Nf6 Ng1 Ng8 ",
        "*",
        one(20_000, "too-many-moves"),
    );
    check("blanks", "1. e4 ", " \n\t\r", " e5 *", |summary| {
        summary.plies == [2]
    });
    check("zeros", "1. e4 ", "\0", " e5 *", one(2, "unexpected-token"));
    check("bytes", "1. e4 ", "\u{fffd}", " e5 *", |summary| {
        summary.plies.len() == 1
    });
    check("results", "", "*", "", |summary| summary.plies.is_empty());
    check(
        "tags that are there again",
        "",
        "[White \"A\"]\n",
        "\n1. e4 *",
        one(1, "duplicate-tag"),
    );
    check("signs", "1. e4 ", "± ", "e5 *", one(2, "too-many-nags"));
    check("glued signs", "1. e4 ", "Nf3x★N ", "*", |summary| {
        summary.plies == [1] && summary.faults.contains(&"unreadable-move")
    });
    check(
        "closed variations",
        "1. e4 ",
        ")",
        " e5 *",
        one(2, "unopened-bracket"),
    );
}

trait Negated {
    fn negated(self) -> impl Fn(&Summary) -> bool;
}

impl<F: Fn(&Summary) -> bool> Negated for F {
    fn negated(self) -> impl Fn(&Summary) -> bool {
        move |summary| !self(summary)
    }
}

#[test]
fn many_tags_of_different_names_are_cut_off() {
    let tags: String = (0..5_000)
        .map(|number| format!("[T{number} \"x\"]\n"))
        .collect();
    let text = format!("{tags}\n1. e4 *\n");
    let (readings, stray) = read_in_pieces(text.as_bytes(), 1_000);
    assert_eq!(readings.len(), 1);
    assert_eq!(readings[0].game.tags.len(), referee_pgn::TAGS_MAX);
    assert_eq!(readings[0].faults.len(), 1);
    assert!(stray.is_empty());
}

#[test]
fn single_bytes_take_linear_time() {
    let value = "x".repeat(4_000);
    let text = format!("[White \"{value}\"]\n\n1. e4 {{{value}}} e5 *\n\n").repeat(50);
    let began = Instant::now();
    let (readings, _) = read_in_pieces(text.as_bytes(), 1);
    assert_eq!(readings.len(), 50);
    // Looking at each tag anew with every byte would take some 400 million steps.
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
}

#[test]
fn a_word_that_is_too_long_takes_no_other_with_it() {
    for blanks in [" ", "   ", "\n", "\u{a0} "] {
        let text = format!("1. e4 {}{blanks}e5 2. Nf3 *", "x".repeat(300));
        for piece in [1, 100, text.len()] {
            let (readings, _) = read_in_pieces(text.as_bytes(), piece);
            let names: Vec<_> = readings[0].faults.iter().map(|it| it.kind.name()).collect();
            assert_eq!(names, ["token-too-long"], "{blanks:?}, pieces of {piece}");
            assert_eq!(
                readings[0].game.moves.len(),
                3,
                "{blanks:?}, pieces of {piece}"
            );
        }
    }
}

/// Parts of tokens, some as often as it takes to come near the limit on the length of one.
#[test]
fn what_is_read_does_not_depend_on_the_pieces() {
    const PARTS: [&[u8]; 29] = [
        b"a",
        b"1",
        b"e4",
        b"0-0",
        b"->",
        b"/\\",
        b"N",
        b"\n[White \"a\"]\n",
        "±".as_bytes(),
        b"Nf3",
        b"1-0",
        b"=",
        b".",
        b"(",
        b")",
        b" ",
        b"\n",
        b"!",
        b"{",
        b"}",
        b"$1",
        b"\xff",
        b"\xc2",
        b"\xe2\x80",
        b"\xa6",
        "…".as_bytes(),
        "½".as_bytes(),
        "\u{a0}".as_bytes(),
        "\u{feff}".as_bytes(),
    ];
    // Numbers that look random and are the same in every run (xorshift64).
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as usize % bound
    };
    for _ in 0..10_000 {
        let mut text = b"1. e4 ".to_vec();
        for _ in 0..=below(6) {
            let part = PARTS[below(PARTS.len())];
            let times = match below(3) {
                0 => 240 / part.len() + below(24),
                _ => 1 + below(3),
            };
            text.extend(part.repeat(times));
        }
        let whole = format!("{:?}", read_in_pieces(&text, text.len()));
        for piece in [1, 2, 3, 7, 64, 255, 256, 257] {
            let pieces = format!("{:?}", read_in_pieces(&text, piece));
            let text = String::from_utf8_lossy(&text);
            assert_eq!(pieces, whole, "pieces of {piece}: {text:?}");
        }
    }
}
