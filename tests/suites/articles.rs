//! `docs/LAWS.md` against what it speaks of: the citations of `laws`, the functions of the sources,
//! and the cases, which are played to see what their answers cite.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use referee_tests::process::binary;
use referee_tests::root;
use serde_json::Value;

/// The files of cases that the page may name.
const FILES: [&str; 7] = [
    "cases/laws.jsonl",
    "cases/own_laws.jsonl",
    "cases/own.jsonl",
    "cases/arbiters.jsonl",
    "cases/turn2.jsonl",
    "cases/reports.jsonl",
    "chess/reports.jsonl",
];

/// A row of the page.
struct Row {
    article: String,
    words: String,
    by: String,
    cases: Vec<String>,
}

fn page() -> Vec<Row> {
    let text = fs::read_to_string(root().join("docs/LAWS.md")).expect("the page is there");
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.split('|').map(str::trim).collect();
        let [article, words, by, cases, ""] = cells[..] else {
            panic!("a row of four cells is expected, not {line:?}");
        };
        (article != "article").then(|| Row {
            article: article.to_owned(),
            words: words.to_owned(),
            by: by.to_owned(),
            cases: cases
                .split(", ")
                .filter(|id| !id.is_empty())
                .map(str::to_owned)
                .collect(),
        })
    });
    rows.collect()
}

/// What `laws` cites: each article with its words, from the source of the table.
fn table() -> BTreeMap<String, String> {
    let path = root().join("crates/laws/src/articles.rs");
    let file = syn::parse_file(&fs::read_to_string(path).expect("a source")).expect("it parses");
    let list = file.items.iter().find_map(|item| match item {
        syn::Item::Const(item) if item.ident == "ARTICLES" => Some(&*item.expr),
        _ => None,
    });
    let Some(syn::Expr::Reference(list)) = list else {
        panic!("articles.rs has no list ARTICLES");
    };
    let syn::Expr::Array(list) = &*list.expr else {
        panic!("ARTICLES is no list");
    };
    let text = |expr: &syn::Expr| match expr {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) => text.value(),
        _ => panic!("an article is two texts"),
    };
    let pair = |expr: &syn::Expr| match expr {
        syn::Expr::Tuple(pair) => (text(&pair.elems[0]), text(&pair.elems[1])),
        _ => panic!("an article is two texts"),
    };
    list.elems.iter().map(pair).collect()
}

/// A case: the articles that it is about, and those that its answers cite.
struct Case {
    about: BTreeSet<String>,
    cited: BTreeSet<String>,
}

/// Returns the numbers of articles in a text, such as `9.6.1` in `FIDE 9.6.1`.
fn articles_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c == '.' || c.is_ascii_alphanumeric()));
    words
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| word.contains('.'))
        .map(str::to_owned)
        .collect()
}

fn cases() -> BTreeMap<String, Case> {
    let files = FILES.map(|name| root().join("tests/data").join(name));
    let output = Command::new(binary())
        .args(["conform", "--json"])
        .args(&files)
        .output()
        .expect("the binary runs");
    let mut cases = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let played: Value = serde_json::from_str(line).expect("a line is JSON");
        let Some(id) = played["id"].as_str() else {
            continue;
        };
        let cited = played["cited"].as_array().expect("what is cited");
        let cited = cited.iter().filter_map(Value::as_str).map(str::to_owned);
        let case = Case {
            about: BTreeSet::new(),
            cited: cited.collect(),
        };
        assert!(
            cases.insert(id.to_owned(), case).is_none(),
            "{id} is there twice"
        );
    }
    for file in &files {
        let text = fs::read_to_string(file).expect("a file of cases");
        for line in text.lines().filter(|line| !line.is_empty()) {
            let case: Value = serde_json::from_str(line).expect("a line is JSON");
            let id = case["id"].as_str().expect("a case has a name");
            let known = cases.get_mut(id).expect("every case is played");
            known.about = articles_in(case["law"].as_str().unwrap_or_default());
        }
    }
    cases
}

/// Whether a function of a path such as `laws::judge::flags::decide_flag` is in the sources.
fn is_function(path: &str) -> bool {
    let parts: Vec<&str> = path.split("::").collect();
    let [room, modules @ .., name] = &parts[..] else {
        return false;
    };
    let base = root()
        .join("crates")
        .join(room)
        .join("src")
        .join(modules.join("/"));
    let declares = |file: &Path| {
        fs::read_to_string(file).is_ok_and(|text| {
            let declared = format!("fn {name}");
            let follows = |at: usize| text[at + declared.len()..].starts_with(['(', '<']);
            text.match_indices(&declared).any(|(at, _)| follows(at))
        })
    };
    declares(&base.with_extension("rs")) || declares(&base.join("mod.rs"))
}

#[test]
fn the_page_says_of_each_article_what_is_so() {
    let (table, cases) = (table(), cases());
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for row in page() {
        let article = &row.article;
        let mut says = |what: String| wrong.push(format!("{article}: {what}"));
        if !seen.insert(article.clone()) {
            says("stands there twice".to_owned());
        }
        if row.by == "people" {
            let is_decided = table.contains_key(article) || !row.cases.is_empty();
            if is_decided || !row.words.ends_with('.') {
                says("is left to people, but is cited, has cases or gives no reason".to_owned());
            }
            continue;
        }
        let function = row.by.trim_matches('`');
        if !is_function(function) {
            says(format!("there is no function {function}"));
        }
        if row.cases.is_empty() {
            says("no case holds it".to_owned());
        }
        let cited = table.get(article);
        if cited.is_some_and(|words| *words != row.words) {
            says(format!("has other words than the citation: {cited:?}"));
        }
        for id in &row.cases {
            match cases.get(id) {
                None => says(format!("there is no case {id}")),
                Some(case) if cited.is_some() && !case.cited.contains(article) => {
                    says(format!("no answer to {id} cites it, but {:?}", case.cited));
                }
                Some(case) if cited.is_none() && !case.about.contains(article) => {
                    says(format!("{id} is not about it, but about {:?}", case.about));
                }
                Some(_) => {}
            }
        }
    }
    let missing: Vec<&String> = table.keys().filter(|one| !seen.contains(*one)).collect();
    assert!(missing.is_empty(), "the page leaves out {missing:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_function_is_found_where_it_is() {
    assert!(is_function("laws::articles::cite"));
    assert!(!is_function("laws::articles::cit"));
    assert!(!is_function("laws::article::cite"));
    assert!(is_function("laws::judge::judge"));
    let found = articles_in("FIDE 9.1.2.1, 7.5.1; III.4 of 2023.");
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, ["7.5.1", "9.1.2.1", "III.4"]);
}
