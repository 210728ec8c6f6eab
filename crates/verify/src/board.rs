//! The board: every move of a record played again with the oracle, the slow generator that shares
//! no code with the one that judged, and the facts after every entry recomputed from it.

use referee_api::v1;
use referee_chess::mailbox::{Mailbox, PlainMove};
use referee_chess::{
    CastlingMode, Color, Fen, File, Piece, Rank, Role, Setup, Square, UciMove, chess960,
};

/// The number of the ordinary starting position among those of Chess960.
const STANDARD_NUMBER: u32 = 518;

/// What makes positions the same (9.2.3): all but the counters.
#[derive(Clone, PartialEq, Eq)]
struct Key(Setup);

/// The position after each ply, the base first.
pub(crate) struct Board {
    plies: Vec<Ply>,
    /// Whether only captures begin the fifty moves anew, by the rules of the game.
    counts_captures: bool,
}

/// A position and what counts of it.
struct Ply {
    position: Mailbox,
    setup: Setup,
    key: Key,
    /// Whether an illegal move led to it.
    is_illegal: bool,
    /// The ply that the last capture led to.
    last_capture_ply: u32,
}

impl Ply {
    fn of(position: Mailbox, is_illegal: bool, last_capture_ply: u32) -> Ply {
        let setup = position.to_setup();
        let key = Key(Setup {
            halfmove_clock: 0,
            fullmove_number: 1,
            ..setup.clone()
        });
        Ply {
            position,
            setup,
            key,
            is_illegal,
            last_capture_ply,
        }
    }
}

impl Board {
    /// Sets up the position that a game begins in, and plays the moves that were on the board.
    pub(crate) fn begin(genesis: &v1::Game) -> Result<Board, String> {
        let position = genesis.initial_position.clone().unwrap_or_default();
        let variant = position.variant();
        let by_number = matches!(position.base, Some(v1::position::Base::Chess960Number(_)));
        let mode = if by_number || variant == v1::Variant::Chess960 {
            CastlingMode::Chess960
        } else {
            CastlingMode::Standard
        };
        let setup = match position.base {
            None => chess960::startpos(STANDARD_NUMBER, mode).map(|base| base.to_setup()),
            Some(v1::position::Base::Chess960Number(number)) => {
                chess960::startpos(number, mode).map(|base| base.to_setup())
            }
            Some(v1::position::Base::Fen(fen)) => Some(
                Setup::from_fen(&fen, mode)
                    .map_err(|error| format!("its position cannot be read: {error}"))?,
            ),
        };
        let setup = setup.ok_or("its Chess960 number is none")?;
        let base = Ply::of(Mailbox::from(&setup), false, 0);
        let mut board = Board {
            plies: vec![base],
            counts_captures: counts_captures(genesis),
        };
        for text in &position.moves {
            board
                .play(text)
                .map_err(|error| format!("move {text}: {error}"))?;
        }
        Ok(board)
    }

    /// Returns whether the game was over where it begins.
    pub(crate) fn is_over_at_start(&self) -> bool {
        self.position().legal_moves().is_empty()
    }

    fn last(&self) -> &Ply {
        // The base is always there.
        &self.plies[self.plies.len() - 1]
    }

    /// Returns the position on the board.
    pub(crate) fn position(&self) -> &Mailbox {
        &self.last().position
    }

    /// Returns the position on the board as a setup.
    pub(crate) fn setup(&self) -> &Setup {
        &self.last().setup
    }

    /// Returns the number of moves from the base.
    pub(crate) fn ply(&self) -> u32 {
        self.plies.len() as u32 - 1
    }

    /// Returns whether the same position stood at two plies.
    pub(crate) fn is_same(&self, one: u32, other: u32) -> bool {
        let key = |ply: u32| self.plies.get(ply as usize).map(|ply| &ply.key);
        key(one).is_some() && key(one) == key(other)
    }

    /// Returns whether some legal move leads to the position that stood at a ply.
    pub(crate) fn can_move_to(&self, ply: u32) -> bool {
        let position = self.position();
        self.plies.get(ply as usize).is_some_and(|wanted| {
            let mut moves = position.legal_moves().into_iter();
            moves.any(|mv| Ply::of(position.after_unchecked(mv), false, 0).key == wanted.key)
        })
    }

    /// Returns how often the position on the board has stood since the last capture or pawn move,
    /// before which all positions are others.
    pub(crate) fn repetitions(&self) -> u32 {
        let window = self.setup().halfmove_clock as usize + 1;
        let last = &self.last().key;
        let plies = self.plies.iter().rev().take(window);
        plies.filter(|ply| ply.key == *last).count() as u32
    }

    /// Returns the ply that the last capture or pawn move led to; 0 where none has been made.
    pub(crate) fn last_reset_ply(&self) -> u32 {
        let resets = |ply: &Ply| ply.setup.halfmove_clock == 0;
        let later = self.plies.iter().skip(1).rev().position(resets);
        later.map_or(0, |later| self.ply() - later as u32)
    }

    /// Returns whether only captures begin the fifty moves anew.
    pub(crate) fn counts_captures(&self) -> bool {
        self.counts_captures
    }

    /// Returns whether an illegal move stands on the board.
    pub(crate) fn is_irregular(&self) -> bool {
        self.plies.iter().any(|ply| ply.is_illegal)
    }

    /// Does what an entry does to the board, and compares what it says stands there afterwards.
    ///
    /// Where the error comes, the board cannot be followed any further.
    pub(crate) fn follow(
        &mut self,
        event: &v1::GameEvent,
        faults: &mut Vec<String>,
    ) -> Result<(), String> {
        if let Some(ply) = event.reinstated_ply {
            if ply > self.ply() {
                return Err(format!("puts back ply {ply}, which was not reached"));
            }
            self.plies.truncate(ply as usize + 1);
        }
        if let Some(played) = &event.r#move {
            if event.move_illegal {
                self.stand(&played.uci, uses_two_hands(event))?;
            } else {
                self.play(&played.uci)?;
                self.check_move(played, faults);
            }
        }
        let setup = self.setup();
        let mut compare = |what: &str, told: String, found: String| {
            if told != found {
                faults.push(format!("{what} is {told:?}, but the board says {found:?}"));
            }
        };
        compare("fen", event.fen.clone(), Fen(setup).to_string());
        compare("ply", event.ply.to_string(), self.ply().to_string());
        let (told, found) = (event.halfmove_clock, setup.halfmove_clock);
        compare("halfmove_clock", told.to_string(), found.to_string());
        let (told, found) = (event.repetitions, self.repetitions());
        compare("repetitions", told.to_string(), found.to_string());
        let conduct = event.conduct.clone().unwrap_or_default();
        let illegal: Vec<u32> = (0..)
            .zip(&self.plies)
            .filter_map(|(ply, played)| played.is_illegal.then_some(ply))
            .collect();
        let told = format!("{:?}", conduct.illegal_plies);
        compare("illegal_plies", told, format!("{illegal:?}"));
        Ok(())
    }

    /// Plays a move that has to be legal.
    fn play(&mut self, text: &str) -> Result<(), String> {
        let mv = self.read(text)?;
        let position = self.position();
        if !position.is_legal(mv) {
            return Err(format!("{text:?} is not legal on {}", Fen(self.setup())));
        }
        let after = position.after_unchecked(mv);
        self.push(after, false);
        Ok(())
    }

    fn push(&mut self, after: Mailbox, is_illegal: bool) {
        let count = |position: &Mailbox| {
            let men = Square::all().filter(|&square| position.piece_at(square).is_some());
            men.count()
        };
        let is_capture = count(&after) < count(self.position());
        let ply = self.ply() + 1;
        let last_capture_ply = if is_capture {
            ply
        } else {
            self.last().last_capture_ply
        };
        self.plies
            .push(Ply::of(after, is_illegal, last_capture_ply));
    }

    /// Reads a move in UCI; castling of standard chess is written as the move of the king.
    pub(crate) fn read(&self, text: &str) -> Result<PlainMove, String> {
        read_uci(self.position(), self.setup(), text)
    }

    /// Puts a move on the board that nobody noticed: it has to be illegal, or made with two hands.
    fn stand(&mut self, text: &str, by_two_hands: bool) -> Result<(), String> {
        let mv = self.read(text)?;
        if self.position().is_legal(mv) {
            if !by_two_hands {
                return Err(format!("{text:?} is marked as illegal, but it is legal"));
            }
            let after = self.position().after_unchecked(mv);
            self.push(after, true);
            return Ok(());
        }
        let after = after_illegal(self.setup(), text)
            .ok_or_else(|| format!("{text:?} cannot have been put on the board"))?;
        self.push(Mailbox::from(&after), true);
        Ok(())
    }

    /// Compares what is said of a move that was just played.
    fn check_move(&self, played: &v1::Move, faults: &mut Vec<String>) {
        let after = self.position();
        let (is_check, is_mate) = (after.is_check(), after.is_checkmate());
        let sign = match (is_check, is_mate) {
            (_, true) => Some('#'),
            (true, false) => Some('+'),
            (false, false) => None,
        };
        let told = played.san.chars().last().filter(|c| matches!(c, '+' | '#'));
        if told != sign {
            faults.push(format!("san {:?} has the wrong sign for check", played.san));
        }
        let before = &self.plies[self.plies.len() - 2];
        let is_capture = self.last().last_capture_ply == self.ply();
        let is_zeroing = self.setup().halfmove_clock == 0;
        let mut expected = vec![
            (v1::MoveTrait::Check, is_check),
            (v1::MoveTrait::Checkmate, is_mate),
            (v1::MoveTrait::Capture, is_capture),
            (v1::MoveTrait::Zeroing, is_zeroing),
        ];
        if let Ok(mv) = read_uci(&before.position, &before.setup, &played.uci) {
            let moved = before.position.piece_at(mv.from);
            let is_pawn = moved.is_some_and(|piece| piece.role == Role::Pawn);
            let was_empty = before.position.piece_at(mv.to).is_none();
            expected.push((v1::MoveTrait::Promotion, mv.promotion.is_some()));
            let is_en_passant = is_pawn && is_capture && was_empty;
            expected.push((v1::MoveTrait::EnPassant, is_en_passant));
            let is_castling = !was_empty && !is_capture;
            expected.push((v1::MoveTrait::Castle, is_castling));
        }
        for (name, holds) in expected {
            if played.traits().any(|told| told == name) != holds {
                let word = if holds { "lacks" } else { "has" };
                faults.push(format!("the move {word} {}", name.as_str_name()));
            }
        }
    }
}

/// Whether the action of an event is a move that was made with two hands (7.5.4).
fn uses_two_hands(event: &v1::GameEvent) -> bool {
    let action = event.action.as_ref();
    match action.and_then(|action| action.kind.as_ref()) {
        Some(v1::action::Kind::MakeMove(made)) => made.two_hands,
        _ => false,
    }
}

fn counts_captures(genesis: &v1::Game) -> bool {
    let profile = genesis.rule_profile.as_ref();
    let parameters = profile.and_then(|profile| profile.parameters.as_ref());
    parameters.is_some_and(|all| all.fifty_reset() == v1::FiftyReset::Capture)
}

/// Reads a move in UCI as the oracle writes it.
pub(crate) fn read_uci(position: &Mailbox, setup: &Setup, text: &str) -> Result<PlainMove, String> {
    let uci: UciMove = text
        .parse()
        .map_err(|_| format!("{text:?} is no move in UCI"))?;
    let mut mv = PlainMove {
        from: uci.from,
        to: uci.to,
        promotion: uci.promotion,
    };
    let is_king = position
        .piece_at(mv.from)
        .is_some_and(|piece| piece.role == Role::King && piece.color == position.turn());
    let is_two_squares = mv.from.rank() == mv.to.rank()
        && mv.from.file() == File::E
        && (mv.to.file() == File::C || mv.to.file() == File::G);
    if setup.castling_mode == CastlingMode::Standard && is_king && is_two_squares {
        let corner = if mv.to.file() == File::G {
            File::H
        } else {
            File::A
        };
        mv.to = Square::at(corner, mv.from.rank());
    }
    Ok(mv)
}

/// What stands after an illegal move that nobody noticed: the man on the square of origin goes to
/// the square of arrival, where it takes what stands there; a king that goes from the e-file to
/// the c-file or the g-file takes the rook of that corner over itself, if there is one and room
/// for it. A pawn that is not replaced stays on its last rank. `None` where there is no man of the
/// mover, where it takes an own man or a king, or where a pawn would stay on its first rank.
fn after_illegal(before: &Setup, text: &str) -> Option<Setup> {
    let uci: UciMove = text.parse().ok()?;
    let (us, mut after) = (before.turn, before.clone());
    let moved = after.board.take(uci.from).filter(|man| man.color == us)?;
    let taken = after.board.take(uci.to);
    if uci.from == uci.to || taken.is_some_and(|man| man.color == us || man.role == Role::King) {
        return None;
    }
    let is_pawn = moved.role == Role::Pawn;
    let last = match us {
        Color::White => Rank::EIGHTH,
        Color::Black => Rank::FIRST,
    };
    let is_left = is_pawn && uci.promotion.is_none() && uci.to.rank() == last;
    let role = if is_pawn && !is_left && [Rank::FIRST, Rank::EIGHTH].contains(&uci.to.rank()) {
        uci.promotion
            .filter(|role| ![Role::Pawn, Role::King].contains(role))?
    } else {
        moved.role
    };
    after.board.put(uci.to, Piece { color: us, role });
    let is_king = moved.role == Role::King;
    if is_king && uci.from.file() == File::E && uci.from.rank() == uci.to.rank() {
        let places = match uci.to.file() {
            File::G => Some((File::H, File::F)),
            File::C => Some((File::A, File::D)),
            _ => None,
        };
        if let Some((corner, beside)) = places {
            let corner = Square::at(corner, uci.from.rank());
            let beside = Square::at(beside, uci.from.rank());
            let rook = Piece {
                color: us,
                role: Role::Rook,
            };
            if after.board.piece_at(corner) == Some(rook) && after.board.piece_at(beside).is_none()
            {
                after.board.take(corner);
                after.board.put(beside, rook);
            }
        }
    }
    after.castling_rooks = before
        .castling_rooks
        .into_iter()
        .filter(|&rook| rook != uci.from && rook != uci.to)
        .filter(|&rook| !(is_king && before.board.piece_at(rook).is_some_and(|r| r.color == us)))
        .collect();
    after.en_passant = None;
    after.halfmove_clock = if is_pawn || taken.is_some() {
        0
    } else {
        before.halfmove_clock + 1
    };
    after.fullmove_number += u32::from(us == Color::Black);
    after.turn = !us;
    Some(after)
}
