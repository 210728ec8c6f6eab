//! Request ids belong to who sends them: those of actions to a game and a seat, those of what
//! creates to the platform.

use referee_api::v1::ruling::Verdict;
use referee_api::v1::{Game, ImportPgnRequest, Seat, SubmitActionRequest};
use referee_tests::process::Referee;
use referee_tests::wire::{self, details, make_move, resign};

fn named(game: &str, seat: Seat, id: &str, text: &str) -> SubmitActionRequest {
    let mut request = wire::submit(game, seat, make_move(text));
    let action = request.action.as_mut().expect("it has one");
    action.request_id = id.to_owned();
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_cannot_take_the_ids_of_the_other() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    for id in ["ids", "other"] {
        let create = wire::create(id, Game::default());
        games.create_game(create).await.expect("created");
    }
    let mut verdict = async |request: SubmitActionRequest| {
        let answer = games.submit_action(request).await;
        answer.map(|answer| answer.into_inner().ruling.unwrap_or_default().verdict())
    };
    // It is not Black's turn; the answer is kept under the id all the same.
    let early = named("ids", Seat::Black, "m1", "e5");
    assert_eq!(
        verdict(early.clone()).await.expect("judged"),
        Verdict::Refused
    );
    let first = named("ids", Seat::White, "m1", "e4");
    assert_eq!(verdict(first).await.expect("judged"), Verdict::Accepted);
    // The same seat gets its first answer, though by now the move would be legal.
    assert_eq!(verdict(early).await.expect("judged"), Verdict::Refused);
    let elsewhere = named("other", Seat::White, "m1", "d4");
    assert_eq!(verdict(elsewhere).await.expect("judged"), Verdict::Accepted);
    let changed = verdict(named("ids", Seat::Black, "m1", "c5")).await;
    let changed = changed.expect_err("other content");
    assert_eq!(details(&changed).reason, "REQUEST_ID_REUSED");
    assert_eq!(details(&changed).metadata["request_id"], "m1");
}

#[tokio::test(flavor = "multi_thread")]
async fn creations_and_imports_share_the_ids_of_their_platform() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let mut create = wire::create("created", Game::default());
    create.request_id = "once".into();
    games.create_game(create.clone()).await.expect("created");
    games.create_game(create).await.expect("the same again");
    let import = ImportPgnRequest {
        pgn: "1. e4 *".into(),
        game_id: "imported".into(),
        request_id: "once".into(),
        ..ImportPgnRequest::default()
    };
    let status = games.import_pgn(import).await.expect_err("other content");
    assert_eq!(details(&status).reason, "REQUEST_ID_REUSED");
    // An action has a scope of its own.
    let mut action = wire::submit("created", Seat::White, resign());
    action.action.as_mut().expect("it has one").request_id = "once".into();
    games.submit_action(action).await.expect("judged");
}
