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
        "1.4.1",
        "Leaving or exposing the own king to attack, and capturing a king, are not allowed.",
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
        "3.8.2.1",
        "The right to castle is lost when the king or that rook has moved.",
    ),
    (
        "3.8.2.2",
        "Castling is barred while the king stands on, crosses or reaches an attacked square, or \
         while a piece stands in between.",
    ),
    (
        "3.9.2",
        "No move can expose the own king to check or leave it in check.",
    ),
    (
        "4.2.1",
        "Only the player who has the move may adjust pieces, and says so before.",
    ),
    (
        "4.2.2",
        "Any other contact with a piece, except a clearly accidental one, shows the intention to \
         move or capture it.",
    ),
    (
        "4.3",
        "Touched pieces must be moved or captured where that is possible.",
    ),
    (
        "4.3.1",
        "Of own pieces touched, the first that can be moved must be moved.",
    ),
    (
        "4.3.2",
        "Of the opponent's pieces touched, the first that can be captured must be captured.",
    ),
    (
        "4.3.3",
        "With pieces of both colors touched, the first own one captures the first of the \
         opponent's; where that is illegal, the first piece touched that can be moved or captured \
         decides.",
    ),
    (
        "4.4.1",
        "A player who touches king and rook must castle there if that is legal.",
    ),
    (
        "4.4.2",
        "A player who touches a rook and then the king cannot castle on that side with this move.",
    ),
    (
        "4.4.3",
        "Where the castling that was begun is illegal, another move with the king must be made, \
         if there is one.",
    ),
    (
        "4.4.4",
        "The choice of the piece of promotion is final when it has touched the square.",
    ),
    (
        "4.7",
        "A piece that was released on a legal square stays there.",
    ),
    (
        "4.7.2",
        "A king released two squares away castles there; where that is illegal, it makes another \
         move.",
    ),
    (
        "4.8",
        "A breach of the rules of touch-move can be claimed until the claimant touches a piece.",
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
        "6.2.1",
        "A move is completed when the clock has been pressed, or when it has ended the game.",
    ),
    (
        "6.4",
        "When a flag falls, the number of moves that had to be made is looked at.",
    ),
    (
        "6.6",
        "The clock of White is started at the time that was set for the start.",
    ),
    (
        "6.7",
        "A player who arrives after the default time loses, unless the arbiter decides otherwise.",
    ),
    (
        "6.8",
        "A flag has fallen when the arbiter observes it or a player claims it validly.",
    ),
    (
        "6.9",
        "A player who does not complete the moves in time loses; the game is drawn where the \
         opponent cannot mate by any series of legal moves.",
    ),
    (
        "6.10.1",
        "What the clock shows is conclusive as long as it has no evident defect.",
    ),
    (
        "6.10.2",
        "Wrong settings of the clock are corrected by the arbiter.",
    ),
    (
        "6.11",
        "The clocks are stopped when a game is interrupted, and the arbiter decides when it goes \
         on.",
    ),
    (
        "6.11.4",
        "A player who stops the clocks without a valid reason can be punished.",
    ),
    (
        "7.1",
        "After an irregularity the position before it is reinstated, as far as it can be found.",
    ),
    (
        "7.2.1",
        "A game that began from a wrong position is cancelled, and a new one is played.",
    ),
    (
        "7.3",
        "A game that began with colors reversed is played anew, unless both players have made ten \
         moves.",
    ),
    (
        "7.4",
        "A player who displaces pieces restores them in the own time.",
    ),
    (
        "7.5.1",
        "When an illegal move is found, the position before it is reinstated, and the touched \
         piece must be moved.",
    ),
    (
        "7.5.2",
        "A pawn left on the last rank when the clock is pressed becomes a queen, and it counts as \
         an illegal move.",
    ),
    (
        "7.5.3",
        "Pressing the clock without making a move counts as an illegal move.",
    ),
    (
        "7.5.4",
        "Making one move with two hands counts as an illegal move.",
    ),
    (
        "7.5.5",
        "For the first illegal move the opponent gets more time; the second one loses the game, \
         which is drawn where the opponent cannot mate by any series of legal moves.",
    ),
    (
        "8.7",
        "The result that both players have signed stands, unless the arbiter decides otherwise.",
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
    (
        "9.1.2.3",
        "A claim of a draw by repetition or by fifty moves is an offer of a draw as well.",
    ),
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
        "Positions are the same when the same player has the move and the same moves are \
         possible, rights to castle and captures en passant included.",
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
        "9.4",
        "A player who touches a piece loses the right to claim on that move.",
    ),
    ("9.5.1", "A claim cannot be withdrawn."),
    (
        "9.5.3",
        "After a claim that is not correct the game goes on, and an announced move must be played.",
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
    (
        "10.2",
        "The points of both players together are never more than those of a win.",
    ),
    (
        "11.3.2.2",
        "A player on whom an electronic device is found loses the game.",
    ),
    ("11.5", "A player must not distract or annoy the opponent."),
    (
        "11.7",
        "A player who persistently refuses to comply with the Laws loses the game, and the \
         arbiter decides on the points of the opponent.",
    ),
    (
        "11.8",
        "Where both players are at fault, both lose the game.",
    ),
    ("12.1", "The arbiter sees to it that the Laws are observed."),
    (
        "12.5",
        "The arbiter may give a player who was disturbed more time.",
    ),
    (
        "12.9",
        "The arbiter may warn, change the time of either player, change points, and declare a \
         game lost.",
    ),
    (
        "A.5.1",
        "After ten moves of each player, the set-up of the pieces and the clock is no longer \
         corrected.",
    ),
    (
        "A.5.2",
        "An illegal move can be corrected until the opponent has made the next move.",
    ),
    (
        "A.5.4",
        "Where both kings are in check or a pawn stands on its last rank, the arbiter waits for \
         the next move; if the position is still illegal, the game is drawn.",
    ),
    (
        "I.1",
        "A game that is adjourned goes on with a move that was sealed.",
    ),
    (
        "I.7",
        "When the game is resumed, the envelope is opened and the sealed move is made.",
    ),
    (
        "I.8",
        "A sealed move that is illegal or cannot be read loses the game.",
    ),
    (
        "III.2.2",
        "The guideline applies only to games without time for each move, and never to blitz.",
    ),
    (
        "III.3.1",
        "Where both flags are down and nobody knows which fell first, the game is drawn in the \
         last period and goes on in any other.",
    ),
    (
        "III.4",
        "A player with less than two minutes may ask for five seconds more for each move.",
    ),
    (
        "III.5",
        "A player with less than two minutes may claim that the opponent cannot win by normal \
         means or makes no effort to.",
    ),
    ("profile", "The rules of this game say so."),
];

impl Citation {
    /// Returns the citation of an article of the Laws, such as the one that forbids a move.
    #[must_use]
    pub fn of(article: &'static str) -> Citation {
        cite(article)
    }

    /// Returns whether the rule profile of the game says so, and no article.
    #[must_use]
    pub fn is_of_profile(&self) -> bool {
        self.article == PROFILE
    }
}

/// What is cited where no article of the Laws decides, but the profile of the game.
const PROFILE: &str = "profile";

/// Returns the citation of an article.
///
/// An article that is not in the table is cited without words; tests hold that this does not
/// happen for any article that this crate or `referee-chess` names.
pub(crate) fn cite(article: &'static str) -> Citation {
    let text = ARTICLES
        .iter()
        .find(|(name, _)| *name == article)
        .map_or("", |(_, text)| text);
    // What no article of the Laws says, the profile of the game does.
    let edition = if article == PROFILE {
        "RULE-PROFILE"
    } else {
        EDITION
    };
    Citation {
        edition: edition.into(),
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
        let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        let mut cited = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder of sources") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    // The values of parameters look like articles there.
                    if !path.ends_with("profile") {
                        folders.push(path);
                    }
                    continue;
                }
                let source = std::fs::read_to_string(&path).expect("a source");
                for part in source.split('"').filter(|part| is_article(part)) {
                    cited += 1;
                    assert!(
                        ARTICLES.iter().any(|(name, _)| *name == part),
                        "{part} in {}",
                        path.display()
                    );
                }
            }
        }
        assert!(cited > 100);
    }

    /// Whether a text is the number of an article, such as `9.6.1` or `III.4`.
    fn is_article(text: &str) -> bool {
        let Some((head, rest)) = text.split_once('.') else {
            return false;
        };
        let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        (is_number(head) || ["A", "I", "III"].contains(&head)) && rest.split('.').all(is_number)
    }
}
