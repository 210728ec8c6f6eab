//! The articles that rulings cite, each with what it says in one sentence of our own.

use std::borrow::Cow;

/// The edition of the Laws that the articles are those of.
pub const EDITION: &str = "FIDE-E01-2023";

/// A place in a rule book.
///
/// One that this crate makes borrows its words; one that is read back from a record owns them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Citation {
    /// The dated edition, such as `FIDE-E01-2023`.
    pub edition: Cow<'static, str>,
    /// The article, such as `9.6.1`.
    pub article: Cow<'static, str>,
    /// What the article says, in one sentence of plain English.
    pub text: Cow<'static, str>,
}

/// Every article that a ruling can cite. An article stands here once.
const ARTICLES: &[(&str, &str)] = &[
    (
        "1.2",
        "White moves first, and then the players move alternately.",
    ),
    (
        "1.3",
        "A player has the move as soon as the move of the opponent has been made.",
    ),
    (
        "3.1",
        "A piece moves to a square that it can reach and that no piece of its own color stands on.",
    ),
    (
        "3.2",
        "The bishop moves along the diagonals on which it stands.",
    ),
    (
        "3.3",
        "The rook moves along the file or the rank on which it stands.",
    ),
    (
        "3.4",
        "The queen moves along the file, the rank or a diagonal on which it stands.",
    ),
    (
        "3.5",
        "A bishop, rook or queen cannot move over a piece that stands in between.",
    ),
    (
        "3.6",
        "The knight moves to one of the nearest squares not on its rank, file or diagonal.",
    ),
    (
        "3.7.1",
        "A pawn moves forward to the empty square in front of it on its file.",
    ),
    (
        "3.7.2",
        "A pawn on its first square can move two squares forward if both of them are empty.",
    ),
    (
        "3.7.3",
        "A pawn captures a piece of the opponent diagonally in front of it, on the next file.",
    ),
    (
        "3.7.3.1",
        "A pawn can capture a pawn that has just passed it with a double step, on the next move \
         only.",
    ),
    (
        "3.7.3.2",
        "The capture en passant is legal only on the move after the double step.",
    ),
    (
        "3.7.3.3",
        "A pawn that reaches the last rank must be exchanged for a queen, rook, bishop or knight.",
    ),
    (
        "3.8.1",
        "The king moves to a neighboring square that no piece of the opponent attacks.",
    ),
    (
        "3.8.2",
        "Castling moves the king and a rook of its color along the first rank.",
    ),
    (
        "3.8.2.1",
        "The right to castle is lost when the king or that rook has moved.",
    ),
    (
        "3.8.2.2",
        "Castling is barred while the king stands on, crosses or reaches an attacked square, or \
         while a piece stands in between.",
    ),
    ("3.9", "A king that is attacked is in check."),
    (
        "3.9.1",
        "A king is in check when a piece of the opponent attacks it, even a piece that is pinned.",
    ),
    (
        "3.9.2",
        "No move can expose the own king to check or leave it in check.",
    ),
    (
        "5.1.1",
        "A player who checkmates the opponent by a legal move has won at once.",
    ),
    (
        "5.1.2",
        "The opponent of a player who resigns has won, unless the opponent cannot mate by any \
         series of legal moves; then the game is drawn.",
    ),
    (
        "5.2.1",
        "The game is drawn at once when the player to move has no legal move and is not in check.",
    ),
    (
        "5.2.2",
        "The game is drawn at once in a position in which neither player can mate by any series \
         of legal moves.",
    ),
    (
        "5.2.3",
        "The game is drawn when both players agree to it, once each has made a move.",
    ),
    (
        "9.1.1",
        "The rules of an event can forbid draws by agreement before a certain move.",
    ),
    (
        "9.1.2.1",
        "A draw is to be offered after making a move and before pressing the clock; at any other \
         time the offer is valid all the same, and it stands until it is answered.",
    ),
    ("9.1.2.3", "A claim of a draw counts as an offer of a draw."),
    (
        "9.2",
        "A player who has the move can claim a draw when the same position occurs for at least \
         the third time.",
    ),
    (
        "9.2.1",
        "A draw can be claimed with an announced move that makes the position occur for at least \
         the third time.",
    ),
    (
        "9.2.2",
        "A draw can be claimed when the position on the board has just occurred for at least the \
         third time.",
    ),
    (
        "9.2.3",
        "Positions are the same when the same player has the move and the same moves are possible, \
         rights to castle and captures en passant included.",
    ),
    (
        "9.3",
        "A player who has the move can claim a draw after fifty moves of each player without a \
         capture or a pawn move.",
    ),
    (
        "9.3.1",
        "A draw can be claimed with an announced move that completes fifty moves of each player \
         without a capture or a pawn move.",
    ),
    (
        "9.3.2",
        "A draw can be claimed when the last fifty moves of each player have been completed \
         without a capture or a pawn move.",
    ),
    (
        "9.5.3",
        "After a claim that is not correct the game goes on, and an announced move must be \
         played.",
    ),
    (
        "9.6.1",
        "The game is drawn when the same position has occurred for the fifth time.",
    ),
    (
        "9.6.2",
        "The game is drawn after seventy-five moves of each player without a capture or a pawn \
         move, unless the last one mates.",
    ),
];

impl Citation {
    /// Returns the citation of an article of the Laws, such as the one that forbids a move.
    #[must_use]
    pub fn of(article: &'static str) -> Citation {
        cite(article)
    }
}

/// Returns the citation of an article.
///
/// An article that is not in the table is cited without words; tests hold that this does not
/// happen for any article that this crate or `referee-chess` names.
pub(crate) fn cite(article: &'static str) -> Citation {
    let text = ARTICLES
        .iter()
        .find(|(name, _)| *name == article)
        .map_or("", |(_, text)| text);
    Citation {
        edition: EDITION.into(),
        article: article.into(),
        text: text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_article_is_a_sentence_and_stands_once() {
        for (index, (article, text)) in ARTICLES.iter().enumerate() {
            assert!(text.ends_with('.'), "{article}");
            assert!(
                ARTICLES[index + 1..]
                    .iter()
                    .all(|(other, _)| other != article),
                "{article}"
            );
        }
    }

    #[test]
    fn every_article_that_forbids_a_move_has_its_words() {
        let source = include_str!("../../chess/src/explain.rs");
        let is_article = |part: &&str| {
            part.contains('.') && part.chars().all(|c| c == '.' || c.is_ascii_digit())
        };
        let articles: Vec<&str> = source.split('"').filter(is_article).collect();
        assert!(!articles.is_empty());
        for article in articles {
            assert!(
                ARTICLES.iter().any(|(name, _)| *name == article),
                "{article}"
            );
        }
    }

    /// Reads the sources of this room, so that an article cannot be cited and forgotten here.
    #[test]
    fn every_article_that_is_cited_has_its_words() {
        let sources = [
            include_str!("adjudicate.rs"),
            include_str!("judge.rs"),
            include_str!("outcome.rs"),
            include_str!("dead.rs"),
        ];
        for source in sources {
            for part in source.split("cite(\"").skip(1) {
                let article = part.split('"').next().unwrap_or_default();
                assert!(
                    ARTICLES.iter().any(|(name, _)| *name == article),
                    "{article}"
                );
            }
        }
    }
}
