//! The pages of `docs` that say what the contract does in practice, against what it does. Their
//! tables are written by `REFEREE_WRITE=1 cargo test -p referee-tests --test suites pages`.

mod actions;
mod clocks;
mod errors;
mod limits;

use std::{env, fs};

use referee_tests::root;

/// Reads a page.
fn read(page: &str) -> String {
    let path = root().join("docs").join(page);
    fs::read_to_string(path).unwrap_or_else(|error| panic!("docs/{page}: {error}"))
}

/// Holds that a page has these lines between its two marks, or puts them there.
fn hold(page: &str, mark: &str, lines: &[String]) {
    let text = read(page);
    let (begin, end) = (
        format!("<!-- {mark}: written -->\n"),
        format!("<!-- {mark}: end -->"),
    );
    let (before, rest) = text.split_once(&begin).expect("the mark is there");
    let (is, after) = rest.split_once(&end).expect("the mark is there");
    let should = format!("\n{}\n\n", lines.join("\n"));
    if is == should {
        return;
    }
    if env::var_os("REFEREE_WRITE").is_some() {
        let written = format!("{before}{begin}{should}{end}{after}");
        fs::write(root().join("docs").join(page), written).expect("the page can be written");
        return;
    }
    let missing = should.lines().find(|line| !is.contains(line));
    let stale = is.lines().find(|line| !should.contains(line));
    panic!(
        "docs/{page} is not what is done; REFEREE_WRITE=1 writes it.\nmissing: {missing:?}\nstale: \
         {stale:?}"
    );
}
