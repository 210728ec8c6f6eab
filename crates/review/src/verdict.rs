//! The verdict on a recorded game.

use std::borrow::Cow;

use referee_chess::{CastlingMode, Move, Position};
use referee_laws::{
    GameResult, History, Outcome, Profile, Variant, cannot_have_won, end_by_itself,
};
use referee_pgn::{Fault, FaultKind, Outcome as Written, Reading, Severity};

use crate::Finding;

/// What is to be said of a recorded game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The ply of the position in which the game was over, or the last one that was read.
    pub ply: u32,
    /// How the game was over by itself, at the first position that ends it; `None` where none
    /// does, and where the position in which it began is not known.
    pub outcome: Option<Outcome>,
    /// The result that the record tells; `None` for `*`.
    pub recorded: Option<GameResult>,
    /// What speaks against the record: first the text and its moves in their order, then where
    /// the game was over, then the result. At most [`FAULTS_MAX`](referee_pgn::FAULTS_MAX) and 2.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// Judges a game as it was read. The variant of the profile is that of the game.
    ///
    /// The first position that ends the game decides: what is played after it is not looked at.
    /// Faults of the text that leave no doubt about the game and its result are no findings.
    ///
    /// ```
    /// use referee_laws::Profile;
    /// use referee_review::{Verdict, read_one};
    ///
    /// let reading = read_one(b"1. f3 e5 2. g4 Qh4# 0-1")?;
    /// let verdict = Verdict::of(&reading, &Profile::fide_standard());
    /// assert!(verdict.is_clean());
    /// assert!(verdict.outcome.is_some_and(|outcome| outcome.text == "Black wins by checkmate."));
    /// # Ok::<(), referee_review::ReadOneError>(())
    /// ```
    #[must_use]
    pub fn of(reading: &Reading, profile: &Profile) -> Verdict {
        let game = &reading.game;
        // The reader takes no more than `referee_pgn::PLIES_MAX` moves.
        let plies = u32::try_from(game.moves.len()).unwrap_or(u32::MAX);
        let faults = reading.faults.iter();
        let mut verdict = Verdict {
            ply: plies,
            outcome: None,
            recorded: GameResult::named(game.outcome.as_str()),
            findings: faults.filter_map(|fault| of_fault(fault, plies)).collect(),
        };
        if reading.is_start_known {
            let profile = in_variant(profile, game.start.castling_mode());
            let history = verdict.find_end(&game.start, &game.moves, &profile);
            verdict.judge_end(reading);
            verdict.judge_winner(reading, &history, &profile);
        }
        verdict
    }

    /// Returns whether nothing speaks against the record.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// Returns the faults of the text that are no findings: they leave no doubt about the game.
    ///
    /// ```
    /// use referee_review::{Verdict, read_one};
    ///
    /// let reading = read_one(b"1. e4 $999 e5 2. Ke3 *")?;
    /// let names: Vec<_> = Verdict::warnings(&reading).map(|fault| fault.kind.name()).collect();
    /// assert_eq!(names, ["invalid-nag"]);
    /// # Ok::<(), referee_review::ReadOneError>(())
    /// ```
    pub fn warnings(reading: &Reading) -> impl Iterator<Item = &Fault> {
        let faults = reading.faults.iter();
        faults.filter(|fault| of_fault(fault, 0).is_none())
    }

    /// Plays the moves to the first position that ends the game.
    fn find_end(&mut self, start: &Position, moves: &[Move], profile: &Profile) -> History {
        let mut history = History::new(start.clone());
        self.outcome = end_by_itself(&history, profile);
        for &mv in moves {
            // A history has room for as many moves as the reader takes.
            if self.outcome.is_some() || history.play(mv).is_err() {
                break;
            }
            self.outcome = end_by_itself(&history, profile);
        }
        self.ply = history.ply();
        history
    }

    /// Compares the end with what the record has after it.
    fn judge_end(&mut self, reading: &Reading) {
        let Some(outcome) = &self.outcome else {
            return;
        };
        let all = reading.game.moves.len() as u64 + reading.unplayed;
        let beyond = all - u64::from(self.ply);
        if beyond > 0 {
            self.findings.push(Finding::PlayedOn {
                ply: self.ply,
                beyond,
                outcome: outcome.clone(),
            });
        }
        match self.recorded {
            None => self.findings.push(Finding::ResultMissing {
                outcome: outcome.clone(),
            }),
            Some(recorded) if outcome.result != recorded => {
                self.findings.push(Finding::ResultConflict {
                    recorded,
                    outcome: outcome.clone(),
                });
            }
            Some(_) => {}
        }
    }

    /// Looks whether the recorded winner can have won where the board did not end the game.
    fn judge_winner(&mut self, reading: &Reading, history: &History, profile: &Profile) {
        let Some(GameResult::Win(winner)) = self.recorded else {
            return;
        };
        if self.outcome.is_some() || reading.unplayed > 0 {
            return;
        }
        if let Some(no_mate) = cannot_have_won(history, winner, profile) {
            self.findings.push(Finding::WinnerCannotMate { no_mate });
        }
    }
}

/// What a fault of the text says against the game.
fn of_fault(fault: &Fault, ply: u32) -> Option<Finding> {
    match (&fault.kind, fault.severity()) {
        (FaultKind::IllegalMove { .. } | FaultKind::NullMove { .. }, _) => {
            Some(Finding::IllegalMove {
                ply,
                fault: fault.clone(),
            })
        }
        // An asterisk only says that the result was not known there.
        (&FaultKind::OutcomeMismatch { tag, marker }, _)
            if tag != Written::Unknown && marker != Written::Unknown =>
        {
            let place = fault.place;
            Some(Finding::ResultsDiffer { tag, marker, place })
        }
        (_, Severity::Error) => Some(Finding::Unreadable {
            fault: fault.clone(),
        }),
        (_, Severity::Warning) => None,
    }
}

/// The profile for a game with such castling.
fn in_variant(profile: &Profile, mode: CastlingMode) -> Cow<'_, Profile> {
    let variant = match mode {
        CastlingMode::Standard => Variant::Standard,
        CastlingMode::Chess960 => Variant::Chess960,
    };
    if profile.variant == variant {
        return Cow::Borrowed(profile);
    }
    Cow::Owned(Profile {
        variant,
        ..profile.clone()
    })
}
