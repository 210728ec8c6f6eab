//! What is wrong with a game: its text, its moves, that it went on after its end, its result.

use referee_chess::Color;
use referee_laws::{Finding as Found, GameResult, NoMate, Outcome as End, Profile, Review};
use referee_pgn::{Fault, FaultKind, GameReader, Item, Outcome, Place, Reading, Severity, Tags};

/// Faults between games of one batch that are kept.
const STRAY_MAX: usize = 100;

/// A line of the answer.
pub(super) enum Line {
    /// A game.
    Game(Box<Judged>),
    /// A fault of the text between games.
    Stray(Fault),
    /// More such faults.
    MoreStray(u64),
}

/// A game that was judged.
pub(super) struct Judged {
    pub(super) place: Place,
    pub(super) white: String,
    pub(super) black: String,
    pub(super) outcome: Outcome,
    pub(super) plies: usize,
    /// Moves from the first that could not be played on.
    pub(super) unplayed: u64,
    pub(super) findings: Vec<Finding>,
    pub(super) warnings: Vec<Fault>,
}

/// Something that is wrong with a game.
pub(super) enum Finding {
    /// A move is not legal.
    Illegal {
        /// The number of moves before it.
        ply: usize,
        fault: Fault,
        /// The article that forbids it.
        article: Option<&'static str>,
    },
    /// The text cannot be read as a game, or not to its end.
    Unreadable(Fault),
    /// The game was over before it went on.
    WentOn {
        /// The number of moves after which it was over.
        ply: u32,
        end: Box<End>,
    },
    /// The recorded result is not that of the board.
    Contradiction { end: Box<End> },
    /// The recorded winner could not have mated, so that neither flag nor resignation won.
    WinnerCannotMate { winner: Color, proof: NoMate },
}

impl Finding {
    /// The name of the kind, for programs.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Illegal { .. } => "illegal-move",
            Self::Unreadable(fault) => fault.kind.name(),
            Self::WentOn { .. } => "over-before",
            Self::Contradiction { .. } => "result-contradicts-board",
            Self::WinnerCannotMate { .. } => "winner-cannot-mate",
        }
    }

    /// The article of the FIDE Laws that it rests on.
    pub(super) fn article(&self) -> Option<&str> {
        match self {
            Self::Illegal { article, .. } => *article,
            Self::Unreadable(_) => None,
            Self::WentOn { end, .. } | Self::Contradiction { end } => {
                end.citations.first().map(|citation| &*citation.article)
            }
            Self::WinnerCannotMate { .. } => Some("6.9"),
        }
    }
}

/// Judges games under a profile.
pub(super) struct Judge {
    pub(super) profile: Profile,
}

impl Judge {
    /// Reads whole games, and judges them.
    pub(super) fn read_whole(&self, place: Place, text: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut reader = GameReader::starting_at(place);
        let mut stray = 0;
        let mut take = |item: Item<'_>| self.take(item, &mut lines, &mut stray);
        reader.read_all(text, &mut take);
        end_stray(stray, &mut lines);
        lines
    }

    /// Reads a piece of a game that is long.
    pub(super) fn read(&self, reader: &mut GameReader, piece: &[u8], lines: &mut Vec<Line>) {
        let mut stray = 0;
        reader.push(piece, &mut |item: Item<'_>| {
            self.take(item, lines, &mut stray)
        });
        end_stray(stray, lines);
    }

    /// Ends a game that is long.
    pub(super) fn finish(&self, reader: &mut GameReader, lines: &mut Vec<Line>) {
        let mut stray = 0;
        reader.finish(&mut |item: Item<'_>| self.take(item, lines, &mut stray));
        end_stray(stray, lines);
    }

    fn take(&self, item: Item<'_>, lines: &mut Vec<Line>, stray: &mut usize) {
        match item {
            Item::Game(reading) => lines.push(Line::Game(Box::new(self.judge(reading)))),
            Item::Stray(fault) => {
                *stray += 1;
                if *stray <= STRAY_MAX {
                    lines.push(Line::Stray(fault.clone()));
                }
            }
        }
    }

    fn judge(&self, reading: &Reading) -> Judged {
        let game = &reading.game;
        let player = |tag: &str| game.tags.get(tag).unwrap_or("?").to_owned();
        let mut findings = Vec::new();
        let mut warnings = Vec::new();
        for fault in &reading.faults {
            match (&fault.kind, fault.severity()) {
                (FaultKind::IllegalMove { illegal, .. }, _) => findings.push(Finding::Illegal {
                    ply: game.moves.len(),
                    fault: fault.clone(),
                    article: Some(illegal.article()),
                }),
                (FaultKind::NullMove { .. }, _) => findings.push(Finding::Illegal {
                    ply: game.moves.len(),
                    fault: fault.clone(),
                    article: Some("1.3"),
                }),
                (_, Severity::Error) => findings.push(Finding::Unreadable(fault.clone())),
                (_, Severity::Warning) => warnings.push(fault.clone()),
            }
        }
        if reading.is_start_known {
            self.judge_end(reading, &mut findings);
        }
        Judged {
            place: reading.place,
            white: player(Tags::WHITE),
            black: player(Tags::BLACK),
            outcome: game.outcome,
            plies: game.moves.len(),
            unplayed: reading.unplayed,
            findings,
            warnings,
        }
    }

    /// Looks when the game was over, and what its result must be then.
    fn judge_end(&self, reading: &Reading, findings: &mut Vec<Finding>) {
        let game = &reading.game;
        let (goes_on, recorded) = (
            reading.unplayed > 0,
            GameResult::named(game.outcome.as_str()),
        );
        // A history has room for as many moves as the reader takes.
        let review = Review::of(&game.start, &game.moves, goes_on, recorded, &self.profile);
        let found = review.map(|review| review.findings).unwrap_or_default();
        findings.extend(found.into_iter().filter_map(|finding| match finding {
            Found::PlayedOn { ply, outcome } => Some(Finding::WentOn {
                ply,
                end: Box::new(outcome),
            }),
            Found::ResultConflict { outcome, .. } => Some(Finding::Contradiction {
                end: Box::new(outcome),
            }),
            Found::WinnerCannotMate { no_mate } => Some(Finding::WinnerCannotMate {
                winner: no_mate.side,
                proof: no_mate,
            }),
            // A record that tells no result contradicts nothing.
            Found::ResultMissing { .. } => None,
        }));
    }
}

fn end_stray(stray: usize, lines: &mut Vec<Line>) {
    if stray > STRAY_MAX {
        lines.push(Line::MoreStray((stray - STRAY_MAX) as u64));
    }
}
