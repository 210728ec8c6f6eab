//! Reads games and judges them.

use referee_laws::Profile;
use referee_pgn::{Fault, GameReader, Item, Outcome, Place, Reading, Tags};
use referee_review::{Finding, Verdict};

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
        Judged {
            place: reading.place,
            white: player(Tags::WHITE),
            black: player(Tags::BLACK),
            outcome: game.outcome,
            plies: game.moves.len(),
            unplayed: reading.unplayed,
            findings: Verdict::of(reading, &self.profile).findings,
            warnings: Verdict::warnings(reading).cloned().collect(),
        }
    }
}

fn end_stray(stray: usize, lines: &mut Vec<Line>) {
    if stray > STRAY_MAX {
        lines.push(Line::MoreStray((stray - STRAY_MAX) as u64));
    }
}
