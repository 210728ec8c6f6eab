//! `RulesService`: questions with an answer and no memory.

use referee_api::v1;
use referee_chess::{Bitboard, Epd, Fen, Position, ShredderFen, Square};
use referee_laws::Profile;
use referee_record::Fields;
use referee_record::convert::action::check_move_text;
use referee_record::convert::citation::write_citation;
use referee_record::convert::position::{
    from_game_error, read_game, read_start, read_variant, write_illegal_move, write_move,
};
use referee_record::convert::profile::{describe_profiles, read_profile};
use referee_record::convert::ruling::write_adjudication;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use super::can_mate::{MateQuestions, positions_asked};
use super::verify_games::Verifier;
use crate::error::ServiceError;
use crate::limits;
use crate::pool::{Solvers, WorkPool};
use crate::transport::{Caller, Outgoing, Streams};

/// Answers `RulesService`.
#[derive(Clone)]
pub(crate) struct RulesService {
    mates: MateQuestions,
    verifier: Verifier,
    /// Where long histories are read.
    pool: WorkPool,
}

impl RulesService {
    pub(crate) fn new(
        streams: Streams,
        pool: WorkPool,
        solvers: &Solvers,
        stop: CancellationToken,
    ) -> RulesService {
        RulesService {
            mates: MateQuestions::new(solvers),
            verifier: Verifier::new(streams, stop),
            pool,
        }
    }

    /// Answers a question about a position: away from the threads that answer where its history
    /// is long.
    async fn answer<Q: prost::Message + 'static, A: Send + 'static>(
        &self,
        question: Q,
        position: fn(&Q) -> Option<&v1::Position>,
        answer: fn(&Q) -> Result<A, ServiceError>,
    ) -> Result<Response<A>, Status> {
        let moves = position(&question).map_or(0, |position| position.moves.len());
        let is_long = moves > limits::HISTORY_MOVES_INLINE_MAX;
        let size = (is_long, question.encoded_len());
        let answered = self.pool.run_request(size, move || answer(&question));
        Ok(Response::new(answered.await??))
    }
}

#[tonic::async_trait]
impl v1::rules_service_server::RulesService for RulesService {
    async fn validate_move(
        &self,
        request: Request<v1::ValidateMoveRequest>,
    ) -> Result<Response<v1::ValidateMoveResponse>, Status> {
        self.answer(request.into_inner(), |q| q.position.as_ref(), validate)
            .await
    }

    async fn generate_legal_moves(
        &self,
        request: Request<v1::GenerateLegalMovesRequest>,
    ) -> Result<Response<v1::GenerateLegalMovesResponse>, Status> {
        self.answer(request.into_inner(), |q| q.position.as_ref(), generate)
            .await
    }

    async fn adjudicate_position(
        &self,
        request: Request<v1::AdjudicatePositionRequest>,
    ) -> Result<Response<v1::AdjudicatePositionResponse>, Status> {
        self.answer(request.into_inner(), |q| q.position.as_ref(), adjudicate)
            .await
    }

    async fn can_mate(
        &self,
        request: Request<v1::CanMateRequest>,
    ) -> Result<Response<v1::CanMateResponse>, Status> {
        let caller = Caller::of(&request)?;
        let request = request.into_inner();
        caller.take_solver_nodes(positions_asked(&request))?;
        Ok(Response::new(self.mates.answer(request).await?))
    }

    type VerifyGamesStream = Outgoing<v1::VerifyGamesResponse>;

    async fn verify_games(
        &self,
        request: Request<Streaming<v1::VerifyGamesRequest>>,
    ) -> Result<Response<Self::VerifyGamesStream>, Status> {
        let caller = Caller::of(&request)?;
        let verdicts = self.verifier.answer(&caller, request.into_inner())?;
        Ok(Response::new(verdicts))
    }

    async fn convert_notation(
        &self,
        request: Request<v1::ConvertNotationRequest>,
    ) -> Result<Response<v1::ConvertNotationResponse>, Status> {
        self.answer(request.into_inner(), |q| q.position.as_ref(), convert)
            .await
    }

    async fn list_rule_profiles(
        &self,
        _: Request<v1::ListRuleProfilesRequest>,
    ) -> Result<Response<v1::ListRuleProfilesResponse>, Status> {
        Ok(Response::new(v1::ListRuleProfilesResponse {
            profiles: describe_profiles(),
        }))
    }
}

fn adjudicate(
    request: &v1::AdjudicatePositionRequest,
) -> Result<v1::AdjudicatePositionResponse, ServiceError> {
    let mut fields = Fields::default();
    let position = request.position.as_ref();
    let variant = read_variant("position", position, &mut fields);
    let profile = request.rule_profile.as_ref();
    let profile = read_profile("rule_profile", profile, variant, &mut fields);
    fields.finish()?;
    let game = read_game("position", position, profile)?;
    Ok(v1::AdjudicatePositionResponse {
        adjudication: Some(write_adjudication(
            &game.adjudication(),
            game.profile().parameters.points,
        )),
        fen: game.position().to_string(),
    })
}

fn validate(request: &v1::ValidateMoveRequest) -> Result<v1::ValidateMoveResponse, ServiceError> {
    use v1::validate_move_response::Answer;
    let mut fields = Fields::default();
    check_move_text("move", &request.r#move, &mut fields);
    let position = request.position.as_ref();
    let variant = read_variant("position", position, &mut fields);
    let profile = request.rule_profile.as_ref();
    let profile = read_profile("rule_profile", profile, variant, &mut fields);
    fields.finish()?;
    let game = read_game("position", position, profile)?;
    if let Some(outcome) = game.end_on_board() {
        let answer = Answer::Illegal(v1::IllegalMove {
            reason: v1::IllegalReason::GameOver.into(),
            citation: outcome.citations.first().map(write_citation),
            text: format!("The game is over in this position. {}", outcome.text),
            ..v1::IllegalMove::default()
        });
        return Ok(v1::ValidateMoveResponse {
            answer: Some(answer),
        });
    }
    let answer = match game.position().read_move(&request.r#move) {
        Err(error) => Answer::Illegal(write_illegal_move(&error)),
        Ok(mv) => {
            let played = write_move(game.position(), mv);
            let after = game.after(mv).map_err(|error| {
                ServiceError::field("position.moves", format!("{error}, so no other move fits"))
            })?;
            Answer::Legal(v1::LegalMove {
                r#move: Some(played),
                fen: after.position().to_string(),
                adjudication: Some(write_adjudication(
                    &after.adjudication(),
                    after.profile().parameters.points,
                )),
            })
        }
    };
    Ok(v1::ValidateMoveResponse {
        answer: Some(answer),
    })
}

fn generate(
    request: &v1::GenerateLegalMovesRequest,
) -> Result<v1::GenerateLegalMovesResponse, ServiceError> {
    let mut fields = Fields::default();
    let variant = read_variant("position", request.position.as_ref(), &mut fields);
    let from = match request.from_square.as_str() {
        "" => Bitboard::FULL,
        text if text.len() > limits::SQUARE_BYTES_MAX => {
            fields.length("from_square", text, limits::SQUARE_BYTES_MAX);
            Bitboard::EMPTY
        }
        text => text.parse::<Square>().map_or_else(
            |error| {
                fields.refuse("from_square", error.to_string());
                Bitboard::EMPTY
            },
            Bitboard::of,
        ),
    };
    fields.finish()?;
    let profile = Profile {
        variant,
        ..Profile::fide_standard()
    };
    let game = read_game("position", request.position.as_ref(), profile)?;
    let position = game.position();
    let found = position.legal_moves_from(from);
    let mut moves: Vec<v1::Move> = found
        .into_iter()
        .map(|mv| write_move(position, mv))
        .collect();
    moves.sort_by(|a, b| a.uci.cmp(&b.uci));
    Ok(v1::GenerateLegalMovesResponse {
        moves,
        fen: position.to_string(),
    })
}

fn convert(
    request: &v1::ConvertNotationRequest,
) -> Result<v1::ConvertNotationResponse, ServiceError> {
    let mut fields = Fields::default();
    let variant = read_variant("position", request.position.as_ref(), &mut fields);
    let target: v1::Notation = fields.choice("target", request.target);
    if request.target == 0 {
        fields.refuse(
            "target",
            "is required: NOTATION_UCI, NOTATION_SAN or NOTATION_LAN",
        );
    }
    let castling: v1::CastlingNotation = fields.choice("castling", request.castling);
    fields.finish()?;
    let start = read_start(
        "position",
        request.position.as_ref(),
        variant.castling_mode(),
    )?;
    let mut position = start.base.clone();
    let mut moves = Vec::with_capacity(start.moves.len());
    for (ply, text) in (0..).zip(&start.moves) {
        let mv = position.read_move(text).map_err(|error| {
            let error = referee_laws::GameError::IllegalMove { ply, error };
            from_game_error("position", &start, &error)
        })?;
        moves.push(match target {
            v1::Notation::San => position.san(mv).to_string(),
            v1::Notation::Lan => position.lan(mv).to_string(),
            v1::Notation::Uci | v1::Notation::Unspecified => position.uci(mv).to_string(),
        });
        position.play_unchecked(mv);
    }
    let (fen, epd) = write_position(&position, castling);
    Ok(v1::ConvertNotationResponse { moves, fen, epd })
}

fn write_position(position: &Position, castling: v1::CastlingNotation) -> (String, String) {
    let setup = position.to_setup();
    match castling {
        v1::CastlingNotation::Shredder => {
            let fen = ShredderFen(&setup).to_string();
            let epd = fen.split(' ').take(4).collect::<Vec<_>>().join(" ");
            (fen, epd)
        }
        v1::CastlingNotation::Unspecified | v1::CastlingNotation::Xfen => {
            (Fen(&setup).to_string(), Epd(&setup).to_string())
        }
    }
}
