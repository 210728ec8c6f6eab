//! What a verdict finds, and in which words.

use referee_laws::{GameResult, Profile};
use referee_review::{Finding, Verdict, read_one};

fn judge(text: &str, profile: &Profile) -> Verdict {
    let reading = read_one(text.as_bytes()).expect("the text is one game");
    Verdict::of(&reading, profile)
}

fn kinds(verdict: &Verdict) -> Vec<&str> {
    verdict.findings.iter().map(Finding::kind).collect()
}

const FIVEFOLD: &str = "1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 5. Nf3 Nf6 6. Ng1 Ng8 7. Nf3 \
                        Nf6 8. Ng1 Ng8 9. e4 1-0";

#[test]
fn every_kind_is_found() {
    for (text, expected) in [
        ("1. e4 e5 2. Nf3 Nc6 1/2-1/2", &[][..]),
        ("1. f3 e5 2. g4 Qh4# 0-1", &[]),
        ("1. f3 e5 2. g4 Qh4# 1-0", &["result-contradicts-board"]),
        ("1. f3 e5 2. g4 Qh4# *", &["result-missing"]),
        ("1. f3 e5 2. g4 Qh4#", &["result-missing"]),
        (
            "1. f3 e5 2. g4 Qh4# 3. a3 0-1",
            &["illegal-move", "over-before"],
        ),
        ("1. e4 e5 2. Ke3 Nc6 1-0", &["illegal-move"]),
        ("1. e4 -- 2. d4 *", &["illegal-move"]),
        ("1. e4 e5 2. novelty 1-0", &["unreadable-move"]),
        (FIVEFOLD, &["over-before", "result-contradicts-board"]),
        (
            "[FEN \"8/8/4k3/8/8/4K3/p7/8 w - - 0 1\"]\n\n1. Kd4 1-0",
            &["winner-cannot-mate"],
        ),
        // What is not known of the beginning or the end is found, moves or none.
        (
            "[Variant \"Atomic\"]\n[Result \"1-0\"]\n\n1-0",
            &["unsupported-variant"],
        ),
        ("[FEN \"nonsense\"]\n\n1. e4 *", &["invalid-fen"]),
        ("1. e4 {open", &["unclosed-comment"]),
        ("[Result \"1-0\"]\n\n1. e4 e5 1/2-1/2", &["result-mismatch"]),
        (
            "[Result \"1-0\"]\n\n1. f3 e5 2. g4 Qh4# 0-1",
            &["result-mismatch", "result-contradicts-board"],
        ),
        // An asterisk only says that the result was not known there.
        ("[Result \"*\"]\n\n1. e4 e5 1/2-1/2", &[]),
        ("[Result \"1-0\"]\n\n1. e4 e5 *", &[]),
        // A fault before an illegal move does not hide it.
        (
            &format!("1. e4 {} e5 2. Ke3 *", "x".repeat(300)),
            &["token-too-long", "illegal-move"],
        ),
    ] {
        let verdict = judge(text, &Profile::fide_standard());
        assert_eq!(kinds(&verdict), expected, "{text}");
        assert_eq!(verdict.is_clean(), expected.is_empty(), "{text}");
        for finding in &verdict.findings {
            assert!(finding.to_string().ends_with('.'), "{text}: {finding}");
        }
    }
}

#[test]
fn findings_carry_their_data() {
    let verdict = judge(FIVEFOLD, &Profile::fide_standard());
    assert_eq!(verdict.ply, 16);
    let [
        Finding::PlayedOn { ply, beyond, .. },
        Finding::ResultConflict { recorded, outcome },
    ] = &verdict.findings[..]
    else {
        panic!("{verdict:?}");
    };
    assert_eq!((*ply, *beyond), (16, 1));
    assert_eq!(Some(*recorded), verdict.recorded);
    assert_eq!(outcome.result, GameResult::Draw);
    assert_eq!(verdict.findings[0].article(), Some("9.6.1"));
    let verdict = judge(
        "1. f3 e5 2. g4 Qh4# 3. a3 a6 0-1",
        &Profile::fide_standard(),
    );
    let [
        Finding::IllegalMove { ply: 4, fault },
        Finding::PlayedOn { beyond: 2, .. },
    ] = &verdict.findings[..]
    else {
        panic!("{verdict:?}");
    };
    assert_eq!((fault.place.line, fault.place.column), (1, 24));
}

#[test]
fn words_fit_a_sentence_and_a_line() {
    let told = |text| {
        let verdict = judge(text, &Profile::fide_standard());
        let [finding] = &verdict.findings[..] else {
            panic!("{verdict:?}");
        };
        (finding.to_string(), finding.brief().to_string())
    };
    let (sentence, line) = told("1. f3 e5 2. g4 Qh4# 1-0");
    assert_eq!(
        sentence,
        "The record tells 1-0, and the board another result, 0-1. Black wins by checkmate."
    );
    assert_eq!(
        line,
        "the record says 1-0, the board 0-1: Black wins by checkmate. (5.1.1)"
    );
    let (sentence, line) = told("1. f3 e5 2. g4 Qh4# *");
    assert_eq!(
        sentence,
        "The record tells no result, but the board tells 0-1. Black wins by checkmate."
    );
    assert_eq!(
        line,
        "the record says no result, the board 0-1: Black wins by checkmate. (5.1.1)"
    );
    let (_, line) = told("1. e4 e5 2. Ke3 *");
    assert!(
        line.starts_with("illegal at ply 3: line 1, column 13: Ke3 is illegal"),
        "{line}"
    );
}

#[test]
fn the_profile_decides() {
    let online = Profile::named("fide_online").expect("it is there");
    assert_eq!(judge(FIVEFOLD, &online).ply, 8, "5.4.1");
    let chess960 = "[Variant \"Chess960\"]\n[FEN \"4k3/8/8/8/8/8/8/RK5R w HA - 0 1\"]\n\n1. O-O *";
    assert!(judge(chess960, &Profile::fide_standard()).is_clean());
}

/// Where only captures reset the fifty moves, those that the first position counts are counted,
/// as in a game that is played from it.
#[test]
fn half_moves_of_the_first_position_count() {
    let captures = Profile::named("house_captures").expect("it is there");
    let text = "[FEN \"4k3/8/8/8/8/8/4P3/R3K3 w - - 98 80\"]\n\n80. e4 Kd7 81. Ra2 1-0";
    let verdict = judge(text, &captures);
    assert_eq!(
        kinds(&verdict),
        ["over-before", "result-contradicts-board"],
        "{verdict:?}"
    );
    assert_eq!(verdict.ply, 2);
    assert!(judge(text, &Profile::fide_standard()).is_clean());
}
