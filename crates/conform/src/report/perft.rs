//! Reports about the number of moves: a tree is counted with the moves that the referee gives for
//! its positions, since the API counts none.

use std::collections::HashMap;

use referee_api::v1;
use tokio::task::JoinSet;
use tonic::Status;

use super::question::{Judged, Question, Unfit, no_answer};
use crate::limits::{PERFT_DEPTH_MAX, PERFT_QUESTIONS_AT_ONCE, PERFT_QUESTIONS_MAX};
use crate::target::Clients;
use crate::verdict::Failure;

/// The half-moves without a capture or a pawn move that end a game (9.6.2).
const SEVENTY_FIVE_MOVES: u32 = 150;

pub(super) async fn judge_perft(question: &Question, clients: &mut Clients) -> Judged {
    let input = question.input();
    let depth = input.number("depth")?.unwrap_or_default();
    if depth > PERFT_DEPTH_MAX {
        let reason = format!("must be at most {PERFT_DEPTH_MAX}");
        return Err(input.error("depth", reason).into());
    }
    let counted = count(question, clients, depth).await?;
    let expected = u128::from(question.expected().number("nodes")?.unwrap_or_default());
    if counted == expected {
        return Ok(Vec::new());
    }
    let (expected, found) = (expected.to_string(), counted.to_string());
    Ok(vec![Failure::new("perft", expected, found)])
}

/// A position of the tree.
struct Node {
    /// How many lines lead to it.
    lines: u128,
    /// The legal moves in it.
    moves: Vec<String>,
}

/// The positions at one depth, each once, by their FEN.
type Level = HashMap<String, Node>;

/// Counts the lines of a length. All moves of the positions before the last ply are played; those
/// of the last ply are only counted.
async fn count(question: &Question, clients: &Clients, depth: u64) -> Result<u128, Unfit> {
    if depth == 0 {
        return Ok(1);
    }
    let root = question.position(&question.fen, Vec::new());
    let mut level = Level::new();
    let mut count = ask(clients, vec![(1, root)], &mut level).await?;
    for _ in 1..depth {
        let mut children = Vec::new();
        for (fen, node) in &level {
            let base = going_on(fen);
            let made = node.moves.iter().map(|one| {
                let child = question.position(&base, vec![one.clone()]);
                (node.lines, child)
            });
            children.extend(made);
            count += node.moves.len();
            if count > PERFT_QUESTIONS_MAX {
                let most = format!("at most {PERFT_QUESTIONS_MAX} questions");
                return Err(Failure::new("perft", most, "more").into());
            }
        }
        level = Level::new();
        ask(clients, children, &mut level).await?;
    }
    let lines = |node: &Node| node.lines * node.moves.len() as u128;
    Ok(level.values().map(lines).sum())
}

/// Returns a position from which a game can go on. The count of half-moves without a capture ends
/// games, but no lines of a tree.
fn going_on(fen: &str) -> String {
    let mut fields: Vec<&str> = fen.split(' ').collect();
    if let Some(clock) = fields.get_mut(4)
        && clock
            .parse()
            .is_ok_and(|count: u32| count >= SEVENTY_FIVE_MOVES)
    {
        *clock = "0";
    }
    fields.join(" ")
}

/// Asks for the moves of positions, each with the lines that lead to it; returns how many there
/// were.
async fn ask(
    clients: &Clients,
    positions: Vec<(u128, v1::Position)>,
    level: &mut Level,
) -> Result<usize, Unfit> {
    let count = positions.len();
    let mut positions = positions.into_iter();
    let mut asked = JoinSet::new();
    loop {
        while asked.len() < PERFT_QUESTIONS_AT_ONCE
            && let Some((lines, position)) = positions.next()
        {
            asked.spawn(moves(clients.clone(), lines, position));
        }
        let Some(answer) = asked.join_next().await else {
            return Ok(count);
        };
        let answer = answer.map_err(|error| Failure::new("perft", "moves", error.to_string()))?;
        let (fen, node) = answer.map_err(|status| no_answer("perft", &status))?;
        level
            .entry(fen)
            .and_modify(|known| known.lines += node.lines)
            .or_insert(node);
    }
}

/// Asks for the moves of one position; returns its FEN with them.
async fn moves(
    mut clients: Clients,
    lines: u128,
    position: v1::Position,
) -> Result<(String, Node), Status> {
    let request = v1::GenerateLegalMovesRequest {
        position: Some(position),
        from_square: String::new(),
    };
    let answer = clients.rules.generate_legal_moves(request).await?;
    let answer = answer.into_inner();
    let moves = answer.moves.into_iter().map(|one| one.uci).collect();
    Ok((answer.fen, Node { lines, moves }))
}
