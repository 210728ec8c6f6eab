//! `RulesService`: questions with an answer and no memory.

use referee_api::v1;
use referee_chess::{Bitboard, Epd, Fen, Position, ShredderFen, Square};
use referee_laws::{Game, Profile};
use tokio::sync::watch;
use tonic::{Request, Response, Status, Streaming};

use crate::actions::check_move_text;
use crate::clocks::{limited, read_timing, write_settings};
use crate::fields::Fields;
use crate::limits;
use crate::mating::Mating;
use crate::profile_fields::{describe_profiles, read_profile, write_profile};
use crate::read::{from_game_error, read_game, read_start, read_variant};
use crate::record::taken_over;
use crate::status::ApiError;
use crate::stream::Outgoing;
use crate::verdicts::Verdicts;
use crate::view;

/// Answers `RulesService`.
#[derive(Clone)]
pub(crate) struct Rules {
    mating: Mating,
    verdicts: Verdicts,
}

impl Rules {
    pub(crate) fn new(is_stopping: watch::Receiver<bool>) -> Rules {
        Rules {
            mating: Mating::default(),
            verdicts: Verdicts::new(is_stopping),
        }
    }
}

#[tonic::async_trait]
impl v1::rules_service_server::RulesService for Rules {
    async fn validate_move(
        &self,
        request: Request<v1::ValidateMoveRequest>,
    ) -> Result<Response<v1::ValidateMoveResponse>, Status> {
        Ok(Response::new(validate(request.get_ref())?))
    }

    async fn generate_legal_moves(
        &self,
        request: Request<v1::GenerateLegalMovesRequest>,
    ) -> Result<Response<v1::GenerateLegalMovesResponse>, Status> {
        Ok(Response::new(generate(request.get_ref())?))
    }

    async fn adjudicate_position(
        &self,
        request: Request<v1::AdjudicatePositionRequest>,
    ) -> Result<Response<v1::AdjudicatePositionResponse>, Status> {
        let request = request.get_ref();
        let mut fields = Fields::default();
        let position = request.position.as_ref();
        let profile = read_profile(
            "rule_profile",
            request.rule_profile.as_ref(),
            position,
            &mut fields,
        );
        fields.finish()?;
        let game = read_game("position", position, profile)?;
        Ok(Response::new(v1::AdjudicatePositionResponse {
            adjudication: Some(view::adjudication(
                &game.adjudication(),
                game.profile().parameters.points,
            )),
            fen: game.position().to_string(),
        }))
    }

    async fn can_mate(
        &self,
        request: Request<v1::CanMateRequest>,
    ) -> Result<Response<v1::CanMateResponse>, Status> {
        Ok(Response::new(self.mating.answer(request.get_ref()).await?))
    }

    type VerifyGamesStream = Outgoing<v1::VerifyGamesResponse>;

    async fn verify_games(
        &self,
        request: Request<Streaming<v1::VerifyGamesRequest>>,
    ) -> Result<Response<Self::VerifyGamesStream>, Status> {
        Ok(Response::new(self.verdicts.answer(request.into_inner())?))
    }

    async fn convert_notation(
        &self,
        request: Request<v1::ConvertNotationRequest>,
    ) -> Result<Response<v1::ConvertNotationResponse>, Status> {
        Ok(Response::new(convert(request.get_ref())?))
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

fn validate(request: &v1::ValidateMoveRequest) -> Result<v1::ValidateMoveResponse, ApiError> {
    use v1::validate_move_response::Answer;
    let mut fields = Fields::default();
    check_move_text("move", &request.r#move, &mut fields);
    let position = request.position.as_ref();
    let profile = read_profile(
        "rule_profile",
        request.rule_profile.as_ref(),
        position,
        &mut fields,
    );
    fields.finish()?;
    let game = read_game("position", position, profile)?;
    if let Some(outcome) = game.end_on_board() {
        let answer = Answer::Illegal(v1::IllegalMove {
            reason: v1::IllegalReason::GameOver.into(),
            citation: outcome.citations.first().map(view::citation),
            text: format!("The game is over in this position. {}", outcome.text),
            ..v1::IllegalMove::default()
        });
        return Ok(v1::ValidateMoveResponse {
            answer: Some(answer),
        });
    }
    let answer = match game.position().read_move(&request.r#move) {
        Err(error) => Answer::Illegal(view::illegal_move(&error)),
        Ok(mv) => {
            let played = view::legal_move(game.position(), mv);
            let after = game.after(mv).map_err(|error| {
                ApiError::field("position.moves", format!("{error}, so no other move fits"))
            })?;
            Answer::Legal(v1::LegalMove {
                r#move: Some(played),
                fen: after.position().to_string(),
                adjudication: Some(view::adjudication(
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
) -> Result<v1::GenerateLegalMovesResponse, ApiError> {
    let mut fields = Fields::default();
    let variant = read_variant(
        "variant",
        request.variant,
        request.position.as_ref(),
        &mut fields,
    );
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
        .map(|mv| view::legal_move(position, mv))
        .collect();
    moves.sort_by(|a, b| a.uci.cmp(&b.uci));
    Ok(v1::GenerateLegalMovesResponse {
        moves,
        fen: position.to_string(),
    })
}

fn convert(request: &v1::ConvertNotationRequest) -> Result<v1::ConvertNotationResponse, ApiError> {
    let mut fields = Fields::default();
    let variant = read_variant(
        "variant",
        request.variant,
        request.position.as_ref(),
        &mut fields,
    );
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
            crate::read::from_game_error("position", &start, &error)
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

/// Checks and reads the game of a creation.
pub(crate) fn read_creation(request: &v1::CreateGameRequest) -> Result<(v1::Game, Game), ApiError> {
    let mut fields = Fields::default();
    fields.request_id("request_id", &request.request_id);
    check_game_id(&request.game_id, &mut fields);
    let empty = v1::Game::default();
    let asked = fields
        .required("game", request.game.as_ref())
        .unwrap_or(&empty);
    fields.length(
        "game.white_player",
        &asked.white_player,
        limits::PLAYER_BYTES_MAX,
    );
    fields.length(
        "game.black_player",
        &asked.black_player,
        limits::PLAYER_BYTES_MAX,
    );
    check_labels("game.labels", &asked.labels, &mut fields);
    let position = asked.initial_position.as_ref();
    let profile = read_profile(
        "game.rule_profile",
        asked.rule_profile.as_ref(),
        position,
        &mut fields,
    );
    let settings = asked.clock_settings.as_ref();
    let setup = asked.setup.as_ref();
    let timing = read_timing("game", settings, setup, &profile, &mut fields);
    check_setup("game.setup", setup, &mut fields);
    fields.finish()?;
    let overrides = asked
        .rule_profile
        .as_ref()
        .and_then(|profile| profile.overrides);
    let resolved = write_profile(&profile, overrides);
    let field = "game.initial_position";
    let start = read_start(field, position, profile.variant.castling_mode())?;
    let start = taken_over(start, timing, setup);
    let game =
        Game::new(profile, &start).map_err(|error| from_game_error(field, &start, &error))?;
    let moves = game.history().moves();
    let genesis = v1::Game {
        white_player: asked.white_player.clone(),
        black_player: asked.black_player.clone(),
        rule_profile: Some(resolved),
        initial_position: Some(v1::Position {
            base: Some(v1::position::Base::Fen(base_fen(game.history().base()))),
            moves: moves.map(|uci| uci.to_string()).collect(),
        }),
        labels: asked.labels.clone(),
        clock_settings: Some(write_settings(&start.timing)),
        setup: asked.setup,
        ..v1::Game::default()
    };
    Ok((genesis, game))
}

/// Checks what a game is taken over with, besides its clocks.
fn check_setup(field: &str, setup: Option<&v1::Setup>, fields: &mut Fields) {
    let Some(setup) = setup else { return };
    for (name, count, max) in [
        (
            "white_illegal_moves",
            setup.white_illegal_moves,
            limits::SETUP_ILLEGAL_MOVES_MAX,
        ),
        (
            "black_illegal_moves",
            setup.black_illegal_moves,
            limits::SETUP_ILLEGAL_MOVES_MAX,
        ),
        (
            "plies_without_capture",
            setup.plies_without_capture.unwrap_or_default(),
            limits::HISTORY_MOVES_MAX as u32,
        ),
    ] {
        limited(&format!("{field}.{name}"), count, max, fields);
    }
}

/// Writes the position that a game begins in, with the double step just before it, without which a
/// capture en passant that is not legal could not be explained after the game is read back.
fn base_fen(base: &Position) -> String {
    let mut setup = base.to_setup();
    setup.en_passant = base.passed();
    Fen(&setup).to_string()
}

fn check_game_id(id: &str, fields: &mut Fields) {
    fields.length("game_id", id, limits::GAME_ID_BYTES_MAX);
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = id.bytes().all(|byte| is_letter(byte) || byte == b'-')
        && !id.starts_with('-')
        && !id.ends_with('-');
    if !fits {
        fields.refuse(
            "game_id",
            "must be of lower-case letters, digits and hyphens, and begin and end with a letter \
             or digit",
        );
    }
}

/// Checks the labels of a game or of a filter.
pub(crate) fn check_labels(
    field: &str,
    labels: &std::collections::BTreeMap<String, String>,
    fields: &mut Fields,
) {
    fields.count(field, "labels", labels.len(), limits::LABELS_MAX);
    for (key, value) in labels.iter().take(limits::LABELS_MAX) {
        fields.length(field, key, limits::LABEL_KEY_BYTES_MAX);
        fields.length(field, value, limits::LABEL_VALUE_BYTES_MAX);
        let rest = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-'
        };
        if !key.starts_with(|c: char| c.is_ascii_lowercase()) || !key.bytes().all(rest) {
            fields.refuse(
                field,
                "a key must be of lower-case letters, digits, `_` and `-`, and begin with a letter",
            );
        }
    }
}
