//! Playing a case about the Laws through the API, and comparing every answer.

use referee_api::v1;
use referee_api::v1::action::Kind;
use tokio::time::Instant;
use tonic::Status;

use crate::error_details::{names_field, reason_of, words_of};
use crate::event::{Actor, Event, Step, make_move};
use crate::expectation::End;
use crate::fields::{duration, milliseconds, seat};
use crate::law_case::LawCase;
use crate::limits;
use crate::target::{Clients, position};
use crate::verdict::Failure;
use crate::words;

/// The label of each game that is made, with the run and the case.
const LABEL: &str = "conformance";

/// How many events of a game are read at once.
const EVENTS_PAGE: i32 = 500;

/// A game that is being played.
struct Table<'a> {
    clients: &'a mut Clients,
    /// The begin of the request ids, which no other game has.
    tag: &'a str,
    game: v1::Game,
    requests: u32,
    /// The time that has passed and was not told yet, in milliseconds.
    waited_ms: u64,
}

/// Plays a case; returns what is not as it expects. `tag` begins the request ids, and no other
/// case of any run may have the same.
pub(crate) async fn play(clients: &mut Clients, tag: &str, case: &LawCase) -> Vec<Failure> {
    match try_play(clients, tag, case).await {
        Ok(wrong) => wrong,
        Err(failure) => vec![failure],
    }
}

async fn try_play(
    clients: &mut Clients,
    tag: &str,
    case: &LawCase,
) -> Result<Vec<Failure>, Failure> {
    let created = create(clients, tag, case.game.clone()).await;
    let game = match created {
        Ok(_) if case.expected.rejected => {
            let failure = Failure::new("create the game", "INVALID_POSITION", "ok");
            return Err(failure);
        }
        Ok(game) => game,
        Err(status) if case.expected.rejected && reason_of(&status) == "INVALID_POSITION" => {
            return Ok(case.expected.check_rejected());
        }
        Err(status) => return Err(Failure::new("create the game", "ok", words_of(&status))),
    };
    let mut table = Table {
        clients,
        tag,
        game,
        requests: 0,
        waited_ms: 0,
    };
    for (index, event) in case.events.iter().enumerate() {
        table.play_event(index, event, case).await?;
    }
    let end = table.end(case).await?;
    Ok(case.expected.check(&end))
}

/// Creates a game under a name that the referee chooses.
pub(crate) async fn create(
    clients: &mut Clients,
    tag: &str,
    mut game: v1::Game,
) -> Result<v1::Game, Status> {
    // So that games that are left on the referee of somebody else can be found there.
    game.labels.insert(LABEL.to_owned(), tag.to_owned());
    let request = v1::CreateGameRequest {
        game: Some(game),
        game_id: String::new(),
        request_id: format!("{tag}-create"),
    };
    let response = clients.games.create_game(request).await?.into_inner();
    let missing = || Status::internal("the answer holds no game");
    response.game.ok_or_else(missing)
}

impl Table<'_> {
    async fn play_event(
        &mut self,
        index: usize,
        event: &Event,
        case: &LawCase,
    ) -> Result<(), Failure> {
        let named = |step: usize| {
            let place = match event.steps.len() {
                1 => String::new(),
                _ => format!(", move {}", step + 1),
            };
            format!("event {} ({}{place})", index + 1, event.name)
        };
        if event.expected == "GAME_OVER" {
            let settled = self.settle().await;
            settled.map_err(|status| Failure::new(named(0), "a game", words_of(&status)))?;
        }
        for (step, todo) in event.steps.iter().enumerate() {
            let time = self.time(event.time.filter(|_| step == 0), todo);
            let (actor, kind) = match todo {
                Step::Wait => continue,
                Step::Act(actor, kind) => (*actor, kind.clone()),
                Step::Complete(side) => self.complete(*side).await.map_err(|status| {
                    Failure::new(named(step), "a move to complete", words_of(&status))
                })?,
            };
            if let (Some(expected), Kind::MakeClaim(claim)) =
                (case.expected.repetitions_after_intended, &kind)
                && !claim.intended_move.is_empty()
            {
                self.check_announced(&claim.intended_move, expected, &named(step))
                    .await?;
            }
            let seat = match actor {
                Actor::Seat(seat) => seat,
                Actor::OnMove => seat(side_to_move(&self.game.fen)),
            };
            let (answer, text) = self.submit(seat, kind, time).await;
            if answer != event.expected {
                let answered = match text.as_str() {
                    "" => answer,
                    text => format!("{answer} ({text})"),
                };
                return Err(Failure::new(named(step), &event.expected, answered));
            }
        }
        Ok(())
    }

    /// Returns the time to tell with a step: its own, and what has passed before it.
    fn time(&mut self, time: Option<v1::PlatformTime>, step: &Step) -> Option<v1::PlatformTime> {
        use v1::platform_time::Kind as Told;
        let elapsed_ms = match time.and_then(|time| time.kind) {
            Some(Told::At(_)) => {
                self.waited_ms = 0;
                return time;
            }
            Some(Told::Elapsed(elapsed)) => u64::try_from(milliseconds(&elapsed)).ok(),
            None => None,
        };
        self.waited_ms = self
            .waited_ms
            .saturating_add(elapsed_ms.unwrap_or_default());
        if *step == Step::Wait || self.waited_ms == 0 {
            return time.filter(|_| *step != Step::Wait);
        }
        let elapsed = duration(std::mem::take(&mut self.waited_ms));
        let kind = Some(Told::Elapsed(elapsed));
        Some(v1::PlatformTime { kind })
    }

    /// Waits where the referee has still to find out that the game is over: neither side can
    /// mate, or the result was given before that was known.
    async fn settle(&mut self) -> Result<v1::Game, Status> {
        let begin = Instant::now();
        let mut game = self.read_game().await?;
        let outcome = |game: &v1::Game| game.outcome.clone().unwrap_or_default();
        let mut is_dead = None;
        while begin.elapsed() < limits::SETTLE_TIMEOUT {
            let is_ongoing = outcome(&game).result() == v1::GameResult::Ongoing;
            if is_ongoing && is_dead.is_none() {
                let answers = self.ask_can_mate(&game).await;
                is_dead = Some(answers.is_ok_and(|both| both == [v1::CanMate::No; 2]));
            }
            let is_open = outcome(&game).provisional || is_ongoing && is_dead == Some(true);
            if !is_open {
                break;
            }
            tokio::time::sleep(limits::SETTLE_INTERVAL).await;
            game = self.read_game().await?;
        }
        Ok(game)
    }

    /// Puts an action to the referee; returns the answer and its text.
    async fn submit(
        &mut self,
        seat: v1::Seat,
        kind: Kind,
        platform_time: Option<v1::PlatformTime>,
    ) -> (String, String) {
        self.requests += 1;
        let claims_unknown = matches!(
            &kind,
            Kind::MakeClaim(claim) if claim.claim == words::CLAIM_UNKNOWN
        );
        let request = v1::SubmitActionRequest {
            name: self.game.name.clone(),
            action: Some(v1::Action {
                seat: seat.into(),
                request_id: format!("{}-{}", self.tag, self.requests),
                kind: Some(kind),
                platform_time,
                ..v1::Action::default()
            }),
        };
        let response = match self.clients.games.submit_action(request).await {
            Ok(response) => response.into_inner(),
            // A claim that the contract does not have cannot even be asked about.
            Err(status) if claims_unknown && names_field(&status, "action.make_claim.claim") => {
                return ("UNKNOWN_CLAIM".to_owned(), status.message().to_owned());
            }
            Err(status) => return (words_of(&status), String::new()),
        };
        if let Some(event) = response.event {
            self.clients
                .note(event.outcome.iter().flat_map(|it| &it.citations));
            self.game.fen = event.fen;
        }
        match response.ruling {
            Some(ruling) => {
                self.clients.note(&ruling.citations);
                let illegal = ruling.illegal_move.iter();
                self.clients.note(illegal.flat_map(|it| &it.citation));
                (words::answer_of(&ruling), ruling.text)
            }
            None => ("no ruling".to_owned(), String::new()),
        }
    }

    async fn read_game(&mut self) -> Result<v1::Game, Status> {
        let name = self.game.name.clone();
        let response = self.clients.games.get_game(v1::GetGameRequest { name });
        let missing = || Status::internal("the answer holds no game");
        let game = response.await?.into_inner().game.ok_or_else(missing)?;
        self.clients
            .note(game.outcome.iter().flat_map(|it| &it.citations));
        Ok(game)
    }

    /// Returns the action that completes some move of a side.
    async fn complete(&mut self, side: v1::Color) -> Result<(Actor, Kind), Status> {
        let conduct = self.read_game().await?.conduct.unwrap_or_default();
        let stands = match side {
            v1::Color::Black => conduct.black,
            _ => conduct.white,
        };
        if stands.is_some_and(|stands| stands.move_uncompleted) {
            let press = Kind::PressClock(v1::PressClock::default());
            return Ok((Actor::Seat(seat(side)), press));
        }
        if side_to_move(&self.game.fen) != side {
            let before = self.quiet_move().await?;
            let other = seat(side_to_move(&self.game.fen));
            self.submit(other, make_move(before), None).await;
        }
        let text = self.quiet_move().await?;
        Ok((Actor::Seat(seat(side)), make_move(text)))
    }

    /// Returns a legal move that takes nothing, checks nobody and moves no pawn, if there is one.
    async fn quiet_move(&mut self) -> Result<String, Status> {
        let request = v1::GenerateLegalMovesRequest {
            position: Some(self.position_of(&self.game)),
            ..v1::GenerateLegalMovesRequest::default()
        };
        let response = self.clients.rules.generate_legal_moves(request).await?;
        let mut moves = response.into_inner().moves;
        moves.sort_by_key(|one| one.traits.len());
        let first = moves.into_iter().next();
        let none = || Status::failed_precondition("there is no legal move");
        Ok(first.ok_or_else(none)?.uci)
    }

    /// Checks how often a position will have occurred after the announced move.
    async fn check_announced(
        &mut self,
        announced: &str,
        expected: u64,
        step: &str,
    ) -> Result<(), Failure> {
        let failed = |status: Status| Failure::new(step, "a game", words_of(&status));
        let game = self.read_game().await.map_err(failed)?;
        let mut position = game.initial_position.unwrap_or_default();
        position.moves.extend(game.moves);
        position.moves.push(announced.to_owned());
        let request = v1::AdjudicatePositionRequest {
            position: Some(position),
            rule_profile: None,
        };
        let response = self.clients.rules.adjudicate_position(request).await;
        let adjudication = response.map_err(failed)?.into_inner().adjudication;
        let found = u64::from(adjudication.unwrap_or_default().repetitions);
        if found == expected {
            return Ok(());
        }
        let step = format!("{step}: facts: repetitions_after_intended");
        Err(Failure::new(step, expected.to_string(), found.to_string()))
    }

    /// Reads what became of the game.
    async fn end(&mut self, case: &LawCase) -> Result<End, Failure> {
        let failed = |status: Status| Failure::new("read the game", "ok", words_of(&status));
        let game = if case.expected.is_over() {
            self.settle().await.map_err(failed)?
        } else {
            self.read_game().await.map_err(failed)?
        };
        let ledger = if case.expected.asks_ledger() {
            self.read_ledger().await.map_err(failed)?
        } else {
            Vec::new()
        };
        let mut can_mate = None;
        if case.expected.asks_can_mate() {
            let is_illegal = game
                .conduct
                .as_ref()
                .is_some_and(|it| !it.illegal_plies.is_empty());
            match self.ask_can_mate(&game).await {
                Ok(answers) => can_mate = Some(answers),
                // An illegal move that stands may leave a position that makes no sense.
                Err(status) if is_illegal && reason_of(&status) == "INVALID_POSITION" => {}
                Err(status) => return Err(failed(status)),
            }
        }
        Ok(End {
            game,
            waited_ms: i64::try_from(self.waited_ms).unwrap_or(i64::MAX),
            ledger,
            can_mate,
        })
    }

    async fn read_ledger(&mut self) -> Result<Vec<v1::LedgerLine>, Status> {
        let mut ledger = Vec::new();
        let mut page_token = String::new();
        loop {
            let request = v1::ListGameEventsRequest {
                parent: self.game.name.clone(),
                page_size: EVENTS_PAGE,
                page_token,
            };
            let page = self.clients.games.list_game_events(request).await?;
            let page = page.into_inner();
            ledger.extend(page.events.into_iter().flat_map(|event| event.ledger));
            if page.next_page_token.is_empty() {
                return Ok(ledger);
            }
            page_token = page.next_page_token;
        }
    }

    /// Returns the position of a game, to ask about it.
    fn position_of(&self, game: &v1::Game) -> v1::Position {
        let began = self.game.initial_position.as_ref();
        v1::Position {
            variant: began.map_or(0, |began| began.variant),
            ..position(&game.fen, Vec::new())
        }
    }

    /// Asks who can still mate, by the Laws, whatever the profile of the case makes of it.
    async fn ask_can_mate(&mut self, game: &v1::Game) -> Result<[v1::CanMate; 2], Status> {
        let position = self.position_of(game);
        can_mate(self.clients, position).await
    }
}

/// Asks whether White and Black can still mate.
pub(crate) async fn can_mate(
    clients: &mut Clients,
    position: v1::Position,
) -> Result<[v1::CanMate; 2], Status> {
    let request = v1::CanMateRequest {
        position: Some(position),
        ..v1::CanMateRequest::default()
    };
    let answers = clients.rules.can_mate(request).await?.into_inner();
    let read = |answer: Option<v1::CanMateAnswer>| answer.unwrap_or_default().can_mate();
    Ok([read(answers.white), read(answers.black)])
}

/// Returns the side that has the move in a position.
pub(crate) fn side_to_move(fen: &str) -> v1::Color {
    match fen.split(' ').nth(1) {
        Some("b") => v1::Color::Black,
        _ => v1::Color::White,
    }
}
