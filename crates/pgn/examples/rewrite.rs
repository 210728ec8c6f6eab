//! Reads records of games from standard input and writes them to standard output in the export
//! format; faults go to standard error. `cargo run --release -p referee-pgn --example rewrite`

use std::io::{self, BufWriter, Read, Write};

use referee_pgn::{GameReader, Item};

fn main() -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut output = BufWriter::new(io::stdout().lock());
    let mut reader = GameReader::new();
    let mut buffer = vec![0; 64 << 10];
    let mut written = Ok(());
    let mut take = |item: Item<'_>| match item {
        Item::Game(reading) => {
            for fault in &reading.faults {
                eprintln!("{fault}");
            }
            if written.is_ok() {
                written = writeln!(output, "{}", reading.game.export());
            }
        }
        Item::Stray(fault) => eprintln!("{fault}"),
    };
    loop {
        match input.read(&mut buffer)? {
            0 => break,
            length => reader.push(&buffer[..length], &mut take),
        }
    }
    reader.finish(&mut take);
    written?;
    output.flush()
}
