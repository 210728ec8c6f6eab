//! What is judged is stored, and what is stored folds to the same game.

use prost::Message;
use referee_api::v1;
use referee_api::v1::action::Kind;
use referee_laws::{Keeper, Time};
use referee_record::convert::action::read_action;
use referee_record::convert::clocks::{ToldTime, time_of};
use referee_record::convert::stored::stored_event;
use referee_record::convert::time::write_us;
use referee_record::{
    Error, FoldedGame, PendingEvent, PendingWrite, build_event, complete_genesis, hash_action,
    hash_creation, read_creation, read_update, resource_name, split, write_summary,
};

/// When the games of these tests are created, in microseconds since 1970.
const CREATED_US: i64 = 1_700_000_000_123_456;

fn creation(profile: &str, control: &str) -> v1::CreateGameRequest {
    let control = v1::TimeControl {
        pgn: control.into(),
        ..v1::TimeControl::default()
    };
    let game = v1::Game {
        white_player: "White, A.".into(),
        rule_profile: Some(v1::RuleProfile {
            name: profile.into(),
            ..v1::RuleProfile::default()
        }),
        initial_position: Some(v1::Position {
            moves: vec!["Nf3".into(), "Nf6".into(), "Ng1".into(), "Ng8".into()],
            ..Default::default()
        }),
        labels: [("round".to_owned(), "1".to_owned())].into(),
        clock_settings: Some(v1::ClockSettings {
            time_control: Some(control),
            ..v1::ClockSettings::default()
        }),
        ..v1::Game::default()
    };
    v1::CreateGameRequest {
        game: Some(game),
        game_id: "board-1".into(),
        request_id: "create".into(),
    }
}

/// Returns the stored genesis of a game.
fn genesis(request: &v1::CreateGameRequest) -> Vec<u8> {
    let (genesis, game) = read_creation(request).expect("the game can be created");
    let name = resource_name(&request.game_id);
    complete_genesis(genesis, &game, name, Some(write_us(CREATED_US))).encode_to_vec()
}

fn begin(profile: &str, control: &str) -> FoldedGame {
    let genesis = genesis(&creation(profile, control));
    FoldedGame::begin(&genesis, CREATED_US).expect("what was written can be read")
}

fn action(seat: v1::Seat, kind: Kind) -> v1::Action {
    v1::Action {
        seat: seat.into(),
        request_id: "a".into(),
        kind: Some(kind),
        ..v1::Action::default()
    }
}

fn play(seat: v1::Seat, text: &str) -> v1::Action {
    let message = v1::MakeMove {
        r#move: text.into(),
        ..v1::MakeMove::default()
    };
    action(seat, Kind::MakeMove(message))
}

/// An action that plays no move.
fn offer() -> v1::Action {
    action(v1::Seat::White, Kind::OfferDraw(v1::OfferDraw::default()))
}

/// Judges an action that arrives so many milliseconds after the game was created.
fn judge(folded: &FoldedGame, message: &v1::Action, after_ms: i64) -> PendingEvent {
    let arrival_us = CREATED_US + after_ms * 1_000;
    let submitted = read_action(message).expect("the action can be read");
    let now = time_of(&folded.game, submitted.told_time, arrival_us);
    let now = now.expect("there is a time").expect("it goes forward");
    let judgment = folded.game.judge(&submitted.action, now);
    let salt = || [7; 16];
    build_event(folded, message, judgment, arrival_us, "anonymous", salt).expect("the entry fits")
}

fn bytes_of(pending: &PendingEvent) -> &[u8] {
    match &pending.write {
        PendingWrite::Entry { bytes, .. } => bytes,
        PendingWrite::Refusal { .. } => panic!("there is no entry: {:?}", pending.response),
    }
}

#[test]
fn what_was_judged_folds_to_the_same_game() {
    check_fold("fide_standard", "40/5400+30:1800+30", false);
    check_fold("lichess", "300+2", true);
}

/// Plays a game to its end; where the clock decides, an entry after which one runs has a deadline.
fn check_fold(profile: &str, control: &str, clock_decides: bool) {
    use v1::Seat::{Black, White};
    let mut live = begin(profile, control);
    let mut has_run = false;
    let mut read = live.clone();
    let actions = [
        offer(),
        play(White, "f3"),
        play(Black, "e5"),
        play(White, "g4"),
        play(Black, "Qh4"),
    ];
    for (index, message) in (0..).zip(&actions) {
        let pending = judge(&live, message, 1_000 * index);
        read.apply(&stored_event(bytes_of(&pending)).expect("it is an event"))
            .expect("it fits");
        let PendingWrite::Entry {
            state,
            update_time_us,
            deadline_us: deadline,
            ..
        } = pending.write
        else {
            panic!("{message:?} is refused: {:?}", pending.response);
        };
        live = pending.after.expect("it leaves a trace");
        assert_eq!(live.view(), read.view(), "after {message:?}");
        assert_eq!(i32::from(state), live.view().state);
        assert_eq!(update_time_us, CREATED_US + 1_000_000 * index);
        assert_eq!(deadline, live.deadline_us());
        let runs = live.game.conduct().clocks.running.is_some();
        assert_eq!(deadline.is_some(), clock_decides && runs, "{message:?}");
        has_run |= runs;
    }
    assert!(has_run);
    let view = read.view();
    assert_eq!(view.moves, ["f2f3", "e7e5", "g2g4", "d8h4"]);
    assert_eq!(view.state(), v1::game::State::Finished);
    assert_eq!(
        view.outcome.expect("it has ended").termination(),
        v1::Termination::Checkmate
    );
}

#[test]
fn a_list_shows_what_the_game_shows() {
    let request = creation("fide_standard", "300");
    let genesis = genesis(&request);
    let mut folded = FoldedGame::begin(&genesis, CREATED_US).expect("a game");
    let mut last: Option<Vec<u8>> = None;
    for message in [offer(), play(v1::Seat::White, "e4")] {
        let view = folded.view();
        let time_us = folded.update_time_us;
        let summary = write_summary(&genesis, None, last.as_deref(), view.state, time_us);
        let shown = v1::Game {
            moves: Vec::new(),
            adjudication: None,
            initial_position: view.initial_position.map(|position| v1::Position {
                moves: Vec::new(),
                ..position
            }),
            // Before the first event a list has the genesis alone.
            conduct: view.conduct.filter(|_| last.is_some()),
            ..view
        };
        assert_eq!(summary, Ok(shown), "after {} events", folded.sequence);
        let pending = judge(&folded, &message, 0);
        last = Some(bytes_of(&pending).to_vec());
        folded = pending.after.expect("it leaves a trace");
    }
}

#[test]
fn a_refusal_leaves_no_trace() {
    let folded = begin("lichess", "300");
    let pending = judge(&folded, &play(v1::Seat::White, "e2e5"), 0);
    assert!(pending.after.is_none());
    assert_eq!(pending.response.event, None);
    assert_eq!(pending.response.sequence, folded.sequence);
    let PendingWrite::Refusal { answer } = pending.write else {
        panic!("an entry is to be stored of a move that is refused");
    };
    assert_eq!(
        v1::SubmitActionResponse::decode(answer.as_slice()),
        Ok(pending.response)
    );
}

#[test]
fn a_question_is_asked_where_it_could_change_something() {
    use v1::Seat::{Black, White};
    let asks = |folded: &mut FoldedGame, message: &v1::Action| {
        let pending = judge(folded, message, 0);
        let asks = matches!(pending.write, PendingWrite::Entry { asks: true, .. });
        *folded = pending.after.expect("it leaves a trace");
        asks
    };
    let mut folded = begin("fide_standard", "300");
    assert!(!asks(&mut folded, &offer()), "nothing was played");
    for (seat, text) in [(White, "f3"), (Black, "e5")] {
        assert!(asks(&mut folded, &play(seat, text)), "{text}");
    }
    let shows_mate = asks(&mut folded, &play(White, "g4"));
    assert!(!shows_mate, "Black can mate at once");
    assert!(!asks(&mut folded, &play(Black, "Qh4")), "it is mate");
    let mut folded = begin("chesscom", "300");
    assert!(
        !asks(&mut folded, &play(White, "f3")),
        "nobody wants to know"
    );
}

#[test]
fn an_event_that_does_not_fit_is_damaged() {
    let folded = begin("fide_standard", "300");
    let pending = judge(&folded, &play(v1::Seat::White, "e4"), 0);
    let event = pending.response.event.expect("the move stands");
    let wrong: [fn(&mut v1::GameEvent); 5] = [
        |event| event.sequence = 2,
        |event| event.sequence = 0,
        |event| event.fen = "8/8/8/8/8/8/8/8 w - - 0 1".into(),
        |event| event.conduct = None,
        |event| {
            let outcome = event.outcome.get_or_insert_default();
            outcome.set_result(v1::GameResult::Draw);
            outcome.set_termination(v1::Termination::Unspecified);
        },
    ];
    for (index, change) in wrong.iter().enumerate() {
        let mut event = event.clone();
        change(&mut event);
        let applied = folded.clone().apply(&event);
        assert!(
            matches!(applied, Err(Error::Damaged { .. })),
            "{index}: {applied:?}"
        );
    }
    assert_eq!(folded.clone().apply(&event), Ok(()));
    assert!(FoldedGame::begin(b"\xff", 0).is_err());
}

#[test]
fn the_hash_of_a_request_is_that_of_what_it_asks_for() {
    let message = play(v1::Seat::White, "e4");
    let again = v1::Action {
        request_id: "b".into(),
        expected_sequence: Some(7),
        ..message.clone()
    };
    assert_eq!(hash_action(&message), hash_action(&again));
    assert_ne!(
        hash_action(&message),
        hash_action(&play(v1::Seat::White, "e3"))
    );
    assert_ne!(
        hash_action(&message),
        hash_action(&play(v1::Seat::Black, "e4"))
    );

    let request = creation("fide_standard", "300");
    let mut again = request.clone();
    again.request_id = "again".into();
    let game = again.game.get_or_insert_default();
    game.name = "games/board-1".into();
    game.fen = "only for output".into();
    assert_eq!(hash_creation(&request), hash_creation(&again));
    let game = again.game.get_or_insert_default();
    game.confirm_after = Some(prost_types::Duration::default());
    assert_ne!(hash_creation(&request), hash_creation(&again));
}

/// A hash that is kept for as long as the game, without a salt, tells whether there is a text, and
/// not which.
#[test]
fn the_hash_of_a_request_tells_nothing_of_the_text_about_persons() {
    let paused = |reason: &str| {
        let kind = Kind::PauseGame(v1::PauseGame {
            reason: reason.into(),
        });
        hash_action(&action(v1::Seat::Arbiter, kind))
    };
    assert_eq!(paused("Ada is ill"), paused("Bob is ill"));
    assert_ne!(paused("Ada is ill"), paused(""));
    let decided = |arbiter: &str, reason: &str| {
        let kind = Kind::ArbiterDecision(v1::ArbiterDecision {
            arbiter: arbiter.into(),
            reason: reason.into(),
            kind: Some(v1::arbiter_decision::Kind::Confirm(v1::Confirm {})),
        });
        hash_action(&action(v1::Seat::Arbiter, kind))
    };
    assert_eq!(decided("Ada", "x"), decided("Bob", "y"));
    assert_ne!(decided("Ada", ""), decided("", "Ada"));
    let offered = |condition: &str| {
        let kind = Kind::OfferDraw(v1::OfferDraw {
            condition: condition.into(),
        });
        hash_action(&action(v1::Seat::White, kind))
    };
    assert_ne!(offered("if Ada agrees"), offered(""));
    let created = |white: &str, round: &str| {
        let mut request = creation("fide_standard", "300");
        let game = request.game.get_or_insert_default();
        game.white_player = white.into();
        game.labels = [("round".to_owned(), round.to_owned())].into();
        hash_creation(&request)
    };
    assert_eq!(created("Ada", "1"), created("Bob", "2"));
    assert_ne!(created("Ada", "1"), created("", "1"));
}

fn updating(change: impl FnOnce(&mut v1::Game), paths: &[&str]) -> v1::UpdateGameRequest {
    let mut game = v1::Game::default();
    change(&mut game);
    v1::UpdateGameRequest {
        name: "games/board-1".into(),
        game: Some(game),
        update_mask: Some(prost_types::FieldMask {
            paths: paths.iter().map(|&path| path.to_owned()).collect(),
        }),
        request_id: "update".into(),
    }
}

#[test]
fn an_update_folds_to_the_game_that_it_describes() {
    let mut request = creation("fide_standard", "300");
    let game = request.game.get_or_insert_default();
    (game.white_player, game.black_player) = ("Ada".into(), "Bob".into());
    let mut genesis = {
        let (genesis, game) = read_creation(&request).expect("the game can be created");
        complete_genesis(
            genesis,
            &game,
            "games/board-1".into(),
            Some(write_us(CREATED_US)),
        )
    };
    let (stored, text) = split(&mut genesis, || [1; 16]);
    let text = text.expect("it has players");
    let whole = [stored.clone(), text.text].concat();
    let live = FoldedGame::begin(&whole, CREATED_US).expect("a game");
    assert_eq!(live.view().white_player, "Ada");
    // What is not in the mask stays, and what is there and empty goes.
    let changed = updating(
        |game| (game.white_player, game.black_player) = ("Cem".into(), "Dora".into()),
        &["white_player"],
    );
    let update = read_update(&changed).expect("it can be read");
    let pending = update.record(&live, CREATED_US + 5, "anonymous", || [2; 16]);
    let PendingWrite::Entry { bytes, private, .. } = &pending.write else {
        panic!("an update is an entry")
    };
    let private = private.as_ref().expect("it has players");
    for name in [&b"Ada"[..], b"Bob", b"Cem"] {
        let has = |bytes: &[u8]| bytes.windows(3).any(|part| part == name);
        assert!(!has(&stored) && !has(bytes));
    }
    let after = pending.after.as_ref().expect("it goes on");
    let whole = stored_event(&[&bytes[..], &private.text].concat()).expect("an event");
    assert!(update.is_answered_by(&whole));
    let mut read = live.clone();
    read.apply(&whole).expect("it fits");
    assert_eq!(read.view(), after.view());
    let view = read.view();
    assert_eq!(
        (view.white_player, view.black_player),
        ("Cem".into(), "Bob".into())
    );
    assert_eq!(view.sequence, 1);
    // A list shows the same, from the text of the update alone.
    let time_us = read.update_time_us;
    let summary = write_summary(
        &stored,
        Some(&private.text),
        Some(bytes),
        view.state,
        time_us,
    );
    let summary = summary.expect("it can be read");
    assert_eq!(
        (&*summary.white_player, &*summary.black_player),
        ("Cem", "Bob")
    );
    // Where its text was erased, it folds all the same.
    let mut erased = FoldedGame::begin(&stored, CREATED_US).expect("a game");
    erased
        .apply(&stored_event(bytes).expect("an event"))
        .expect("it fits");
    assert_eq!(erased.view().white_player, "");
    // Another update is told apart by what is kept of the text, or by what it changes.
    let other = updating(|game| game.white_player = "Eva".into(), &["white_player"]);
    let other = read_update(&other).expect("it can be read");
    assert_eq!(other.content_hash(), update.content_hash());
    assert!(!other.is_answered_by(&whole));
    let emptied = read_update(&updating(|_| {}, &["white_player"])).expect("it can be read");
    assert_ne!(emptied.content_hash(), update.content_hash());
}

#[test]
fn an_update_without_a_mask_or_beyond_it_is_refused() {
    let refused = |paths: &[&str]| {
        let error = read_update(&updating(|_| {}, paths)).expect_err("it is refused");
        error.to_string()
    };
    assert!(refused(&[]).starts_with("update_mask: is required"));
    for path in ["moves", "*", "game.white_player", "labels.round", ""] {
        let text = refused(&["white_player", path]);
        assert!(text.contains("cannot be updated; the fields"), "{text}");
    }
    let many = vec!["labels"; 17];
    assert!(refused(&many).contains("above the limit of 16"));
    let long = updating(
        |game| game.white_player = "x".repeat(257),
        &["white_player"],
    );
    let error = read_update(&long).expect_err("it is too long").to_string();
    assert!(error.starts_with("game.white_player: 257 bytes"), "{error}");
    // What the mask does not name is not looked at.
    let other = updating(
        |game| game.black_player = "x".repeat(257),
        &["white_player"],
    );
    assert!(read_update(&other).is_ok());
}

#[test]
fn an_action_happens_when_the_keeper_of_the_time_says() {
    let kept = begin("lichess", "300");
    assert_eq!(kept.game.keeper(), Keeper::Referee);
    let ms = |ms| Time::from_ms(ms).expect("it is on the line");
    assert_eq!(time_of(&kept.game, None, 5_999), Ok(Some(ms(5))));
    assert_eq!(time_of(&kept.game, None, -1), Ok(Some(ms(0))));
    let told = Some(ToldTime::Elapsed(1));
    assert!(
        time_of(&kept.game, told, 0).is_err(),
        "the referee keeps it"
    );

    let mut request = creation("fide_standard", "300");
    let game = request.game.get_or_insert_default();
    let settings = game.clock_settings.get_or_insert_default();
    settings.set_keeper(v1::ClockKeeper::Platform);
    let mut told = FoldedGame::begin(&genesis(&request), CREATED_US).expect("a game");
    let mut played = play(v1::Seat::White, "e4");
    played.platform_time = Some(v1::PlatformTime {
        kind: Some(v1::platform_time::Kind::At(prost_types::Duration {
            seconds: 1,
            nanos: 0,
        })),
    });
    told = judge(&told, &played, 0).after.expect("the move stands");
    let at = |ms_at| time_of(&told.game, Some(ToldTime::At(ms(ms_at))), CREATED_US);
    assert_eq!(at(999), Ok(None), "it goes backwards");
    assert_eq!(at(1_000), Ok(Some(ms(1_000))));
    let elapsed = |ms| time_of(&told.game, Some(ToldTime::Elapsed(ms)), CREATED_US);
    assert_eq!(elapsed(5), Ok(Some(ms(1_005))));
    assert!(elapsed(u64::MAX).is_err(), "it leads beyond the line");
    assert_eq!(time_of(&told.game, None, 0), Ok(Some(ms(1_000))));
}
