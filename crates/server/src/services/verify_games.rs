//! `VerifyGames`: the verdict on each game of a text that comes in pieces.

use std::sync::Arc;
use std::time::Duration;

use referee_api::v1;
use referee_laws::{GameResult, Keeper, Outcome, Points, Profile, Variant};
use referee_pgn::{
    Fault, Game, GameReader, Item, Outcome as Written, Place, Reading, Severity, Tags,
};
use referee_record::Fields;
use referee_record::convert::InContract;
use referee_record::convert::evidence::write_no_mate;
use referee_record::convert::profile::read_profile;
use referee_record::convert::ruling::write_outcome;
use referee_review::{Finding, Verdict};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tonic::Streaming;

use crate::clock::Clock;
use crate::error::ServiceError;
use crate::limits;
use crate::transport::{Caller, Outgoing, Sender, Streams, read_fault};

/// Verifies texts, some at once.
#[derive(Clone)]
pub(super) struct Verifier {
    open: Arc<Semaphore>,
    streams: Streams,
    stop: CancellationToken,
}

impl Verifier {
    pub(super) fn new(streams: Streams, stop: CancellationToken) -> Verifier {
        Verifier {
            open: Arc::new(Semaphore::new(limits::VERIFY_STREAMS_MAX)),
            streams,
            stop,
        }
    }

    /// Answers a stream of pieces with a stream of verdicts.
    pub(super) fn answer(
        &self,
        caller: &Caller,
        pieces: Streaming<v1::VerifyGamesRequest>,
    ) -> Result<Outgoing<v1::VerifyGamesResponse>, ServiceError> {
        let (open, stop) = (Arc::clone(&self.open), self.stop.clone());
        let pieces = Pieces {
            pieces,
            clock: Arc::clone(self.streams.clock()),
        };
        self.streams
            .open_pending(caller, |sender| verify(pieces, sender, open, stop))
    }
}

/// The pieces of a text as they arrive.
struct Pieces {
    pieces: Streaming<v1::VerifyGamesRequest>,
    clock: Arc<dyn Clock>,
}

impl Pieces {
    /// Waits for the next piece; none at the end of the text.
    async fn next(
        &mut self,
        patience: Duration,
    ) -> Result<Option<v1::VerifyGamesRequest>, ServiceError> {
        tokio::select! {
            piece = self.pieces.message() => piece.map_err(|status| read_fault(&status)),
            () = self.clock.sleep(patience) => Err(ServiceError::DeadlineExceeded),
        }
    }
}

/// Reads the pieces, and lets another thread read the games in them.
async fn verify(
    mut pieces: Pieces,
    sender: Sender<v1::VerifyGamesResponse>,
    open: Arc<Semaphore>,
    stop: CancellationToken,
) {
    let sender = Arc::new(sender);
    let first = tokio::select! {
        first = pieces.next(limits::FIRST_MESSAGE_TIMEOUT) => first,
        () = stop.cancelled() => return sender.fail(ServiceError::ShuttingDown).await,
        () = sender.closed() => return,
    };
    let read = match first {
        Ok(None) => return,
        Ok(Some(first)) => read_first(first),
        Err(error) => Err(error),
    };
    // Whoever says nothing takes no place from those who do.
    let begun = read.and_then(|read| {
        let permit = open.try_acquire_owned();
        let permit = permit.map_err(|_| ServiceError::overloaded())?;
        sender.begin().map(|()| (read, permit))
    });
    let ((profile, begin), permit) = match begun {
        Ok(begun) => begun,
        Err(error) => return sender.fail(error).await,
    };
    let (queue, texts) = mpsc::channel(limits::VERIFY_QUEUE_MAX);
    let to_client = Arc::clone(&sender);
    let runtime = Handle::current();
    let reading = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        read_games(&profile, texts, &|verdict| {
            runtime.block_on(to_client.send(verdict)).is_ok()
        });
    });
    let fed = feed(pieces, begin, queue, &sender, &stop).await;
    let _ = reading.await;
    if let Err(error) = fed {
        sender.fail(error).await;
    }
}

/// Hands the pieces on until the text ends or nobody listens.
async fn feed(
    mut pieces: Pieces,
    begin: Option<bytes::Bytes>,
    queue: mpsc::Sender<bytes::Bytes>,
    sender: &Sender<v1::VerifyGamesResponse>,
    stop: &CancellationToken,
) -> Result<(), ServiceError> {
    if let Some(text) = begin
        && queue.send(text).await.is_err()
    {
        return Ok(());
    }
    loop {
        let piece = tokio::select! {
            piece = pieces.next(limits::PIECE_TIMEOUT) => piece?,
            () = stop.cancelled() => return Err(ServiceError::ShuttingDown),
            () = sender.closed() => return Ok(()),
        };
        // A client that breaks off has had the verdicts on what it sent.
        let Some(piece) = piece else {
            return Ok(());
        };
        let text = match piece.kind {
            Some(v1::verify_games_request::Kind::Pgn(text)) => check_piece(text)?,
            Some(v1::verify_games_request::Kind::Options(_)) => {
                return Err(ServiceError::StreamProtocol {
                    field: "options",
                    description: "may only be the first message",
                });
            }
            None => continue,
        };
        if queue.send(text).await.is_err() {
            return Ok(());
        }
    }
}

fn check_piece(text: bytes::Bytes) -> Result<bytes::Bytes, ServiceError> {
    let mut fields = Fields::default();
    fields.count("pgn", "bytes", text.len(), limits::PGN_PIECE_BYTES_MAX);
    fields.finish()?;
    Ok(text)
}

fn read_first(
    message: v1::VerifyGamesRequest,
) -> Result<(Profile, Option<bytes::Bytes>), ServiceError> {
    use v1::verify_games_request::Kind;
    let mut fields = Fields::default();
    let (options, text) = match message.kind {
        Some(Kind::Options(options)) => (options, None),
        Some(Kind::Pgn(text)) => (v1::VerifyOptions::default(), Some(check_piece(text)?)),
        None => (v1::VerifyOptions::default(), None),
    };
    let profile = options.rule_profile.as_ref();
    let profile = read_profile(
        "options.rule_profile",
        profile,
        Variant::Standard,
        &mut fields,
    );
    fields.finish()?;
    Ok((profile, text))
}

/// Reads games from pieces of text, and tells the verdict on each, until nobody listens.
fn read_games(
    profile: &Profile,
    mut texts: mpsc::Receiver<bytes::Bytes>,
    tell: &dyn Fn(v1::VerifyGamesResponse) -> bool,
) {
    let mut reader = GameReader::new();
    let mut number = 0;
    let mut is_heard = true;
    let mut take = |item: Item<'_>| {
        if !is_heard {
            return;
        }
        let verdict = match item {
            Item::Game(reading) => {
                number += 1;
                judge(number, reading, profile)
            }
            Item::Stray(fault) => v1::VerifyGamesResponse {
                line: fault.place.line,
                faults: vec![write_fault(fault)],
                ..v1::VerifyGamesResponse::default()
            },
        };
        is_heard = tell(verdict);
    };
    while let Some(text) = texts.blocking_recv() {
        reader.push(&text, &mut take);
    }
    reader.finish(&mut take);
}

fn judge(number: u64, reading: &Reading, profile: &Profile) -> v1::VerifyGamesResponse {
    let game = &reading.game;
    let verdict = Verdict::of(reading, profile);
    let points = profile.parameters.points;
    let findings = verdict.findings.iter();
    let tag = |name| game.tags.get(name).unwrap_or_default().to_owned();
    v1::VerifyGamesResponse {
        number,
        line: reading.place.line,
        white_player: tag(Tags::WHITE),
        black_player: tag(Tags::BLACK),
        plies: game.moves.len() as u32,
        fen: game.final_position().to_string(),
        recorded_result: verdict
            .recorded
            .map_or(v1::GameResult::Ongoing, InContract::to_v1)
            .into(),
        outcome: Some(write_outcome(
            verdict.outcome.as_ref(),
            points,
            Keeper::Platform,
        )),
        faults: reading.faults.iter().map(write_fault).collect(),
        sound: verdict.is_clean(),
        findings: findings
            .filter_map(|finding| write_finding(finding, points))
            .collect(),
        tags: game
            .tags
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        clocks: read_clocks(game),
    }
}

/// Returns what the clocks show after the moves, and before the first one.
fn read_clocks(game: &Game) -> Vec<v1::ShownClock> {
    let shown = |ply: usize, left: Duration| v1::ShownClock {
        ply: ply as u32,
        left: Some(prost_types::Duration {
            // A record can tell no more than `referee_pgn::CLOCK_HOURS_MAX`.
            seconds: left.as_secs() as i64,
            nanos: left.subsec_nanos() as i32,
        }),
    };
    let start = game.start_clock.map(|left| shown(0, left));
    let moves = game.notes.iter();
    let moves = moves.filter_map(|(index, note)| Some(shown(index + 1, note.clock?)));
    start.into_iter().chain(moves).collect()
}

/// Writes a fault of a text.
pub(super) fn write_fault(fault: &Fault) -> v1::TextFault {
    v1::TextFault {
        line: fault.place.line,
        column: fault.place.column,
        error: fault.severity() == Severity::Error,
        text: fault.kind.to_string(),
    }
}

/// Writes a finding; `None` for what cannot be read, which the faults of the text tell.
fn write_finding(finding: &Finding, points: Points) -> Option<v1::GameFinding> {
    use v1::game_finding::Kind;
    let outcome = |outcome: &Outcome| Some(write_outcome(Some(outcome), points, Keeper::Platform));
    let kind = match finding {
        Finding::IllegalMove { ply, fault } => {
            let Place { line, column, .. } = fault.place;
            let ply = *ply;
            Kind::IllegalMove(v1::IllegalMoveFound { ply, line, column })
        }
        Finding::Unreadable { .. } => return None,
        Finding::ResultsDiffer { tag, marker, place } => {
            let result = |written: Written| {
                let result = GameResult::named(written.as_str());
                result
                    .map_or(v1::GameResult::Ongoing, InContract::to_v1)
                    .into()
            };
            Kind::ResultsDiffer(v1::ResultsDiffer {
                tag: result(*tag),
                marker: result(*marker),
                line: place.line,
                column: place.column,
            })
        }
        Finding::PlayedOn {
            ply, outcome: end, ..
        } => Kind::PlayedOn(v1::PlayedOn {
            ply: *ply,
            outcome: outcome(end),
        }),
        Finding::ResultConflict {
            recorded,
            outcome: end,
        } => Kind::ResultConflict(v1::ResultConflict {
            recorded: recorded.to_v1().into(),
            outcome: outcome(end),
        }),
        Finding::WinnerCannotMate { no_mate } => Kind::WinnerCannotMate(write_no_mate(no_mate)),
        Finding::ResultMissing { outcome: end } => Kind::ResultMissing(v1::ResultMissing {
            outcome: outcome(end),
        }),
    };
    Some(v1::GameFinding {
        kind: Some(kind),
        text: finding.to_string(),
    })
}
