//! Writes and checks stores of old games:
//!
//! ```console
//! $ cargo run -p referee-tests --example old_games -- write FOLDER
//! $ cargo run -p referee-tests --example old_games -- check FOLDER
//! ```
//!
//! `check-other-rules FOLDER` is for `tests/other-rules`. See `tests/data/old_games/README.md`.

use std::path::Path;
use std::process::ExitCode;

use referee_tests::old_games::{check, check_other_rules, write};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let faults = match arguments.as_slice() {
        ["write", folder] => {
            write(Path::new(folder)).await;
            check(Path::new(folder)).await
        }
        ["check", folder] => check(Path::new(folder)).await,
        ["check-other-rules", folder] => check_other_rules(Path::new(folder)).await,
        _ => {
            eprintln!("old_games: write, check or check-other-rules, and a folder");
            return ExitCode::from(64);
        }
    };
    for fault in &faults {
        println!("{fault}");
    }
    println!("{} faults", faults.len());
    ExitCode::from(u8::from(!faults.is_empty()))
}
