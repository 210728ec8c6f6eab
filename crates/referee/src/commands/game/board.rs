//! The board, drawn.

use std::io::{self, IsTerminal as _};

use clap::Args;
use referee_chess::{
    Board, CastlingMode, Color, File, Piece, Rank, Role, Setup, Square, Tolerance,
};

/// How the board is drawn.
#[derive(Clone, Debug, Args)]
pub(super) struct BoardArguments {
    /// The side that the board is seen from.
    #[arg(long, value_name = "SIDE", default_value = "white", value_parser = ["white", "black"])]
    side: String,
    /// Draws the pieces as letters, those of White in upper case. Default: as figures on a terminal
    /// of UTF-8, as letters elsewhere.
    #[arg(long, conflicts_with = "unicode")]
    ascii: bool,
    /// Draws the pieces as figures.
    #[arg(long)]
    unicode: bool,
}

impl BoardArguments {
    /// Returns the side that the board is seen from.
    pub(super) fn side(&self) -> Color {
        match self.side.as_str() {
            "black" => Color::Black,
            _ => Color::White,
        }
    }

    /// Draws a position; one that cannot be read is written as it is.
    pub(super) fn draw(&self, fen: &str) -> Vec<String> {
        let has_figures = self.unicode || !self.ascii && shows_figures();
        let setup = Setup::from_fen_with(fen, CastlingMode::Chess960, Tolerance::LENIENT);
        match setup {
            Ok(setup) => draw(&setup.board, self.side(), has_figures),
            Err(_) => vec![format!("   {fen}")],
        }
    }
}

/// Whether the output is a terminal that writes UTF-8, by the variables that say so.
fn shows_figures() -> bool {
    let mut locales = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let locale = locales.next().unwrap_or_default().to_ascii_lowercase();
    io::stdout().is_terminal() && (locale.contains("utf-8") || locale.contains("utf8"))
}

fn draw(board: &Board, side: Color, has_figures: bool) -> Vec<String> {
    let order = |index: u8| match side {
        Color::White => index,
        Color::Black => 7 - index,
    };
    let files = || (0..8).map(order).filter_map(File::new);
    let mut lines = Vec::with_capacity(9);
    for rank in (0..8).rev().map(order).filter_map(Rank::new) {
        let mut line = format!("{} ", rank.to_char());
        for file in files() {
            line.push(' ');
            line.push(match board.piece_at(Square::at(file, rank)) {
                None => '.',
                Some(piece) if has_figures => figure(piece),
                Some(piece) => piece.to_char(),
            });
        }
        lines.push(line);
    }
    let names = files().map(|file| format!(" {}", file.to_char()));
    lines.push(format!("  {}", names.collect::<String>()));
    lines
}

/// Returns the figure of a piece, U+2654 to U+265F.
fn figure(piece: Piece) -> char {
    let figures = match piece.color {
        Color::White => ['♙', '♘', '♗', '♖', '♕', '♔'],
        Color::Black => ['♟', '♞', '♝', '♜', '♛', '♚'],
    };
    debug_assert_eq!(Role::ALL.len(), figures.len());
    figures[piece.role.index()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEN: &str = "4k3/8/8/8/8/8/1p6/R3K2q w Q - 0 1";

    fn drawn(side: Color, has_figures: bool) -> String {
        let setup = Setup::from_fen(FEN, CastlingMode::Standard).expect("a position");
        draw(&setup.board, side, has_figures).join("\n")
    }

    #[test]
    fn both_sides_see_the_board_from_theirs() {
        let white = "8  . . . . k . . .\n7  . . . . . . . .\n6  . . . . . . . .\n\
                     5  . . . . . . . .\n4  . . . . . . . .\n3  . . . . . . . .\n\
                     2  . p . . . . . .\n1  R . . . K . . q\n   a b c d e f g h";
        assert_eq!(drawn(Color::White, false), white);
        let black = drawn(Color::Black, true);
        assert!(
            black.starts_with("1  ♛ . . ♔ . . . ♖\n2  . . . . . . ♟ .\n"),
            "{black}"
        );
        assert!(
            black.ends_with("\n8  . . . ♚ . . . .\n   h g f e d c b a"),
            "{black}"
        );
    }
}
