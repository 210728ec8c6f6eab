//! What follows from what the sides of a dispute say. Nothing here waits or calls.

use referee_api::v1;
use referee_api::v1::perft_dispute::Side;
use referee_chess::{CastlingMode, Position, PositionKey};
use referee_perft::read_key;

use super::comparing::Difference;
use crate::limits;

/// A dispute.
#[derive(Clone, Debug)]
pub(super) struct Quarrel(pub(super) v1::PerftDispute);

/// What a side has said when it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It was not asked.
    Unasked,
    /// It did not answer in time.
    Silent,
    /// These are its counts, in the order of the keys.
    Counts(Vec<u128>),
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The second generator counts the position that is in question.
    Judge,
    /// Two sides, by their places, are asked for the counts of the children.
    Divide([usize; 2]),
    /// A credential that is no side yet counts the position of the plan.
    Third,
    /// It is settled: liars are marked. Why, in words.
    Settle(String),
}

impl Quarrel {
    pub(super) fn begin(difference: &Difference, position: &Position) -> Quarrel {
        let sides = difference.sides.iter().map(|(credential, count)| Side {
            credential: credential.clone(),
            nodes: count.to_string(),
            claim: count.to_string(),
            ..Side::default()
        });
        Quarrel(v1::PerftDispute {
            position: difference.position.cast_signed(),
            line: vec![position.to_string()],
            rest: difference.rest,
            sides: sides.collect(),
            ..v1::PerftDispute::default()
        })
    }

    /// Whether one credential contradicts itself.
    pub(super) fn is_of_one(&self) -> bool {
        let mut sides = self.0.sides.iter().map(|side| &side.credential);
        let first = sides.next();
        sides.all(|credential| Some(credential) == first)
    }

    /// Says what comes next.
    pub(super) fn next(&mut self) -> Next {
        if self.0.sides.iter().any(|side| side.liar) {
            return Next::Settle(self.0.verdict.clone());
        }
        if let Some(text) = self.outvote() {
            return Next::Settle(text);
        }
        let speaking: Vec<usize> = (0..self.0.sides.len())
            .filter(|&at| !self.0.sides[at].silent)
            .collect();
        let differ = |&&other: &&usize| {
            let nodes = |at: usize| &self.0.sides[at].nodes;
            nodes(other) != nodes(speaking[0])
        };
        match speaking.iter().skip(1).find(differ) {
            // Who speaks and has nobody against it needs none, unless somebody was silent.
            None => Next::Third,
            Some(_) if self.0.rest <= limits::PERFT_ORACLE_REST => Next::Judge,
            Some(&other) => Next::Divide([speaking[0], other]),
        }
    }

    /// Marks the silent sides whose count two others contradict with one and the same.
    fn outvote(&mut self) -> Option<String> {
        let sides = &mut self.0.sides;
        let agreed = sides.iter().enumerate().find_map(|(at, side)| {
            let others = sides.iter().skip(at + 1);
            // One of them at least can be asked how it comes to that.
            let mut same =
                others.filter(|other| other.claim == side.claim && !(other.silent && side.silent));
            let other = same.next()?;
            let text = format!(
                "it did not say how it came to that, and {} and {} both counted {}",
                side.credential, other.credential, side.claim
            );
            Some((side.claim.clone(), text))
        });
        let (claim, text) = agreed?;
        let mut is_settled = false;
        for side in sides.iter_mut() {
            if side.silent && side.claim != claim {
                side.liar = true;
                is_settled = true;
            }
        }
        is_settled.then_some(text)
    }

    /// Marks who is wrong about the position that is in question, by what it has.
    pub(super) fn judge(&mut self, truth: u128) {
        let rest = self.0.rest;
        let fen = self.0.line.last().cloned().unwrap_or_default();
        let truth = truth.to_string();
        let mut said = Vec::new();
        for side in self.0.sides.iter_mut().filter(|side| !side.silent) {
            side.liar = side.nodes != truth;
            if side.liar {
                said.push(format!("{} says {}", side.credential, side.nodes));
            }
        }
        self.0.verdict = format!(
            "{fen} has {truth} paths of {rest} plies by the second generator, and {}",
            said.join(", ")
        );
    }

    /// Takes the counts of the children from two sides. One that does not add up has counted
    /// falsely; else it goes on with the first child on which they differ.
    pub(super) fn divide(
        &mut self,
        sides: [usize; 2],
        answers: [Answer; 2],
        children: &[PositionKey],
        mode: CastlingMode,
    ) {
        self.0.rounds += 1;
        let mut counts = Vec::new();
        for (at, answer) in sides.into_iter().zip(answers) {
            match answer {
                Answer::Counts(found) => counts.push(found),
                Answer::Silent | Answer::Unasked => self.0.sides[at].silent = true,
            }
        }
        let [first, second] = &counts[..] else {
            return self.go_back();
        };
        let sum = |counts: &[u128]| {
            let mut all = counts.iter();
            all.try_fold(0u128, |sum, &count| sum.checked_add(count))
        };
        let mut said = Vec::new();
        for (at, sum) in sides.into_iter().zip([sum(first), sum(second)]) {
            let side = &mut self.0.sides[at];
            let sum = sum.map_or_else(|| "2^128 or more".to_owned(), |sum| sum.to_string());
            if sum != side.nodes {
                side.liar = true;
                let (credential, nodes) = (&side.credential, &side.nodes);
                said.push(format!(
                    "{credential} says {nodes}, and {sum} by its children"
                ));
            }
        }
        if !said.is_empty() {
            let fen = self.0.line.last().cloned().unwrap_or_default();
            self.0.verdict = format!("of {fen} {}", said.join(", "));
            return;
        }
        let both = children.iter().zip(first.iter().zip(second));
        // As the sums differ, a child does.
        for (&key, (one, other)) in both {
            if one != other {
                let fen = read_key(key, mode).map_or_else(|_| String::new(), |it| it.to_string());
                self.0.line.push(fen);
                self.0.rest -= 1;
                self.0.sides[sides[0]].nodes = one.to_string();
                self.0.sides[sides[1]].nodes = other.to_string();
                return;
            }
        }
    }

    /// Takes in another credential, which has counted the position of the plan, or was asked in
    /// vain.
    pub(super) fn hear_third(&mut self, credential: String, answer: Answer) {
        self.0.rounds += 1;
        let Answer::Counts(counts) = answer else {
            return;
        };
        let count = counts.first().copied().unwrap_or_default();
        self.0.sides.push(Side {
            credential,
            nodes: count.to_string(),
            claim: count.to_string(),
            ..Side::default()
        });
        self.go_back();
    }

    /// Begins again with the position of the plan.
    fn go_back(&mut self) {
        self.0.rest += self.0.line.len().saturating_sub(1) as u32;
        self.0.line.truncate(1);
        for side in &mut self.0.sides {
            side.nodes = side.claim.clone();
        }
    }
}

#[cfg(test)]
mod tests;
