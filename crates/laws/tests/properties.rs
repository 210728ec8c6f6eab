//! What holds for every game, whatever the players try.

use proptest::prelude::*;
use referee_laws::{
    Action, Color, DrawClaim, DrawRule, Effects, Game, Intent, Profile, Reason, Seat, Start,
    Verdict,
};

/// Something that somebody tries; a move is named by a number among the legal ones.
#[derive(Clone, Debug)]
enum Attempt {
    LegalMove {
        number: usize,
        offer_draw: bool,
        as_claim: Option<DrawClaim>,
    },
    Text(String),
    Other(Intent),
}

fn attempts() -> impl Strategy<Value = (Seat, Attempt)> {
    let seat = prop_oneof![
        8 => Just(Seat::Player(Color::White)),
        8 => Just(Seat::Player(Color::Black)),
        1 => Just(Seat::Arbiter),
    ];
    let claim = prop_oneof![Just(DrawClaim::Threefold), Just(DrawClaim::Fifty)];
    let attempt = prop_oneof![
        30 => (
            any::<usize>(),
            prop::bool::weighted(0.1),
            prop::option::weighted(0.1, claim.clone()),
        )
            .prop_map(|(number, offer_draw, as_claim)| Attempt::LegalMove {
                number,
                offer_draw,
                as_claim
            }),
        2 => "[a-h][1-8][a-h][1-8]q?".prop_map(Attempt::Text),
        1 => "\\PC{0,12}".prop_map(Attempt::Text),
        2 => Just(Attempt::Other(Intent::OfferDraw)),
        1 => Just(Attempt::Other(Intent::AcceptDraw)),
        2 => Just(Attempt::Other(Intent::DeclineDraw)),
        1 => claim.prop_map(|claim| Attempt::Other(Intent::ClaimDraw { claim, intended: None })),
        1 => prop::bool::weighted(0.05).prop_map(|resigns| {
            Attempt::Other(if resigns { Intent::Resign } else { Intent::OfferDraw })
        }),
    ];
    (seat, attempt)
}

fn profiles() -> impl Strategy<Value = Profile> {
    let rule = prop_oneof![Just(DrawRule::Claim), Just(DrawRule::Automatic)];
    (
        rule.clone(),
        rule,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        0u32..4,
    )
        .prop_map(
            |(threefold, fifty, fivefold, seventy_five, resign, moves)| {
                let mut profile = Profile::fide_standard();
                profile.parameters.threefold = threefold;
                profile.parameters.fifty = fifty;
                profile.parameters.fivefold = fivefold;
                profile.parameters.seventy_five = seventy_five;
                profile.parameters.resign_no_mate_draw = resign;
                profile.parameters.min_moves_for_agreement = moves;
                profile
            },
        )
}

/// Positions that are near an end of some kind.
const STARTS: [&str; 6] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "4k3/8/8/8/8/8/8/R3K2R w KQ - 98 80",
    "8/8/3k4/8/2q5/8/5N2/4K3 w - - 146 150",
    "7k/6Q1/8/8/8/8/8/K7 b - - 0 1",
    "8/2P5/8/8/8/k7/8/K7 w - - 0 1",
    "k7/8/5n1p/5Pp1/7K/r7/8/8 w - g6 0 1",
];

fn state(game: &Game) -> String {
    format!(
        "{} {:?} {:?} {:?} {:?}",
        game.position(),
        game.draw_offer(),
        game.bound(),
        game.outcome(),
        game.history().repetition_plies(),
    )
}

fn intent_of(game: &Game, attempt: Attempt) -> Intent {
    match attempt {
        Attempt::Text(text) => Intent::Move {
            text,
            offer_draw: false,
        },
        Attempt::Other(intent) => intent,
        Attempt::LegalMove {
            number,
            offer_draw,
            as_claim,
        } => {
            let moves = game.position().legal_moves();
            let text = match moves.len() {
                0 => String::new(),
                count => game.position().san(moves[number % count]).to_string(),
            };
            match as_claim {
                Some(claim) => Intent::ClaimDraw {
                    claim,
                    intended: Some(text),
                },
                None => Intent::Move { text, offer_draw },
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The fold of the recorded effects is the game; refusals change nothing; nothing is accepted
    /// after the end; every outcome names an article and is one sentence.
    #[test]
    fn games_are_the_fold_of_their_records(
        profile in profiles(),
        number in 0..STARTS.len(),
        tried in prop::collection::vec(attempts(), 1..160),
    ) {
        let base = referee_chess::Position::from_fen(
            STARTS[number],
            referee_chess::CastlingMode::Standard,
        )
        .expect("the test writes legal FENs");
        let start = Start { base, moves: Vec::new() };
        let mut game = Game::new(profile.clone(), &start).expect("there are no moves to refuse");
        let begun_as = game.outcome().cloned();
        let mut record: Vec<Effects> = Vec::new();
        for (seat, attempt) in tried {
            let action = Action { seat, intent: intent_of(&game, attempt) };
            let (was_over, before) = (game.outcome().is_some(), state(&game));
            let judgment = game.judge(&action);
            prop_assert_eq!(&before, &state(&game));
            let refused = judgment.ruling.verdict == Verdict::Refused;
            prop_assert_eq!(refused, judgment.entry.is_none());
            let accepted = judgment.ruling.verdict == Verdict::Accepted;
            prop_assert_eq!(accepted, judgment.ruling.reason.is_none());
            if was_over {
                prop_assert_eq!(judgment.ruling.reason, Some(Reason::GameOver));
            }
            if refused {
                prop_assert!(judgment.ruling.text.ends_with('.'), "{}", judgment.ruling.text);
            }
            if let Some(entry) = judgment.entry {
                game.apply(&entry.effects).expect("what was just judged can be done");
                record.push(entry.effects);
            }
        }
        if let Some(outcome) = game.outcome() {
            prop_assert!(!outcome.citations.is_empty());
            prop_assert!(outcome.citations.iter().all(|citation| !citation.text.is_empty()));
            prop_assert!(outcome.text.ends_with('.'));
        }
        let mut replayed = Game::restore(profile, &start, begun_as).expect("as before");
        for effects in &record {
            replayed.apply(effects).expect("a record applies to its own game");
        }
        prop_assert_eq!(state(&game), state(&replayed));
    }
}
