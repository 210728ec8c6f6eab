//! Reading what stands in an envelope (guideline I): a sealed move loses only where its meaning
//! cannot be told, so it is read as an arbiter would read it (I.8.2, C.3, C.8, C.12).

use referee_chess::{Move, MoveError, Position, Role};

/// The pieces as chess figures, which belong to no language, of either color.
const FIGURES: [(char, Role); 12] = [
    ('♔', Role::King),
    ('♕', Role::Queen),
    ('♖', Role::Rook),
    ('♗', Role::Bishop),
    ('♘', Role::Knight),
    ('♙', Role::Pawn),
    ('♚', Role::King),
    ('♛', Role::Queen),
    ('♜', Role::Rook),
    ('♝', Role::Bishop),
    ('♞', Role::Knight),
    ('♟', Role::Pawn),
];

/// The letters of king, queen, rook, bishop and knight in languages of the record (C.3).
const LANGUAGES: [[char; 5]; 12] = [
    ['K', 'D', 'T', 'L', 'S'], // German, Danish, Norwegian, Swedish, Slovene
    ['K', 'D', 'T', 'L', 'P'], // Dutch
    ['R', 'D', 'T', 'F', 'C'], // French
    ['R', 'D', 'T', 'A', 'C'], // Spanish, Italian, Catalan
    ['R', 'D', 'T', 'B', 'C'], // Portuguese
    ['K', 'D', 'V', 'S', 'J'], // Czech, Slovak
    ['K', 'H', 'W', 'G', 'S'], // Polish
    ['K', 'V', 'B', 'F', 'H'], // Hungarian
    ['R', 'D', 'T', 'N', 'C'], // Romanian
    ['K', 'D', 'T', 'L', 'R'], // Finnish
    ['K', 'D', 'H', 'B', 'R'], // Icelandic
    ['Ş', 'V', 'K', 'F', 'A'], // Turkish
];

/// The pieces in the order of [`LANGUAGES`].
const ROLES: [Role; 5] = [
    Role::King,
    Role::Queen,
    Role::Rook,
    Role::Bishop,
    Role::Knight,
];

/// Reads a sealed move: its number, a sign of a draw offer and remarks on it are passed over,
/// figures and long forms are read, and a letter that makes no legal move in English is read in
/// other languages, where all readings together give one legal move.
///
/// # Errors
///
/// Where the text means no legal move, or more than one; as the English reading has it.
pub(super) fn read_sealed(position: &Position, text: &str) -> Result<Move, MoveError> {
    let bare = bare_move(text);
    let english = read(position, &bare);
    let Err(error) = english else {
        return english;
    };
    let mut found: Vec<Move> = Vec::new();
    for word in in_other_languages(&bare) {
        if let Ok(mv) = read(position, &word)
            && !found.contains(&mv)
        {
            found.push(mv);
        }
    }
    match found[..] {
        [mv] => Ok(mv),
        _ => Err(error),
    }
}

/// Reads a move in its short form, or in its long one, with the square of departure.
fn read(position: &Position, text: &str) -> Result<Move, MoveError> {
    position.read_move(text).or_else(|error| {
        let is_dash = |c: char| matches!(c, '-' | '–' | '—');
        // Castling has dashes of its own.
        if !text.contains(is_dash) || text.starts_with(['O', '0', 'o']) {
            return Err(error);
        }
        let long = text.replace(is_dash, "");
        position.read_move(&long)
    })
}

/// The move without what stands before and behind it: its number, a draw offer (C.12), and signs
/// of what the player thinks of it.
fn bare_move(text: &str) -> String {
    let text = text.trim();
    let number_end = text
        .find(|c: char| !c.is_ascii_digit())
        .filter(|&end| end > 0 && text[end..].starts_with(['.', '…', ' ']));
    let text = number_end.map_or(text, |end| &text[end..]);
    let text = text.trim_start_matches(|c: char| matches!(c, '.' | '…') || c.is_whitespace());
    let offer = text.find("(=)").or_else(|| text.find(" ="));
    let text = offer.map_or(text, |at| &text[..at]);
    let text = text.trim_end_matches(|c: char| matches!(c, '!' | '?') || c.is_whitespace());
    let english = |c: char| {
        let figure = FIGURES.iter().find(|(figure, _)| *figure == c);
        match figure {
            Some((_, Role::Pawn)) => String::new(),
            Some((_, role)) => letter(*role).to_string(),
            None => c.to_string(),
        }
    };
    text.chars()
        .filter(|c| !c.is_whitespace())
        .map(english)
        .collect()
}

/// The letter of a piece in English.
fn letter(role: Role) -> char {
    match role {
        Role::King => 'K',
        Role::Queen => 'Q',
        Role::Rook => 'R',
        Role::Bishop => 'B',
        Role::Knight => 'N',
        Role::Pawn => 'P',
    }
}

/// The words that a move can mean in other languages, in English: its first letter, and the one of
/// a promotion, each of one language.
fn in_other_languages(text: &str) -> Vec<String> {
    let words = LANGUAGES.iter().map(|letters| {
        let last = text.trim_end_matches(['+', '#']).chars().count();
        let in_english = |(place, c): (usize, char)| {
            let is_piece = place == 0 || place + 1 == last;
            let number = letters.iter().position(|&own| is_piece && own == c);
            number.map_or(c, |number| letter(ROLES[number]))
        };
        text.chars().enumerate().map(in_english).collect()
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use referee_chess::CastlingMode;

    #[test]
    fn a_sealed_move_is_read_as_an_arbiter_reads_it() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        let castles = "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1";
        let knights = "4k3/8/8/8/2B5/8/8/4K1N1 w - - 0 1";
        let pawn = "7k/P7/8/8/8/8/8/4K3 w - - 0 1";
        for (fen, text, expected) in [
            (start, "Nf3", Some("g1f3")),
            (start, "Nf3 (=)", Some("g1f3")),
            (start, "Nf3 =", Some("g1f3")),
            (start, "1. Nf3", Some("g1f3")),
            (start, "41.Nf3!?", Some("g1f3")),
            (start, "1 e4", Some("e2e4")),
            (start, "e2-e4", Some("e2e4")),
            (start, "Ng1-f3", Some("g1f3")),
            (start, "♘f3", Some("g1f3")),
            (start, "♙e4", Some("e2e4")),
            (start, "Sf3", Some("g1f3")),
            (start, "Cf3", Some("g1f3")),
            (start, "Sg1-f3", Some("g1f3")),
            (start, "Tf3", None),
            (start, "Nf4", None),
            (start, "", None),
            (start, "(=)", None),
            (start, "12.", None),
            (castles, "23... O-O", Some("e8h8")),
            (castles, "0-0-0", Some("e8a8")),
            // A bishop in Czech and a knight in German.
            (knights, "Se2", None),
            (knights, "Sf3", Some("g1f3")),
            (pawn, "a8=Q (=)", Some("a7a8q")),
            (pawn, "a8D", Some("a7a8q")),
            (pawn, "a8=T+", Some("a7a8r")),
        ] {
            let position = Position::from_fen(fen, CastlingMode::Standard).expect("a legal FEN");
            let read = read_sealed(&position, text).ok();
            let wanted = expected.map(|uci| {
                let uci = uci.parse().expect("the test writes UCI");
                position.find_uci(uci).expect("the move is legal")
            });
            assert_eq!(read, wanted, "{text:?}");
        }
    }
}
