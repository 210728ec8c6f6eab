//! Files that are no records, or not whole ones, and command lines that make no sense.

use referee_tests::authority::write_secret;

use super::{run, sample, verify_text};

#[test]
fn what_is_no_record_is_told_so() {
    let header = r#"{"header":{"format":1,"name":"games/a","platform":"default"}}"#;
    let long = format!(r#"{{"header":{{"name":"{}"}}}}"#, "a".repeat(3 << 20));
    let blanks = " ".repeat(3 << 20);
    let deep = "[".repeat(100_000);
    let cases: &[(&str, &str)] = &[
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("hello", "this is no record file"),
        ("[]", "this is no record file"),
        ("{}", "a part must have one of header, entry and seal"),
        (r#"{"header":{},"seal":{}}"#, "a part must have one of"),
        (r#"{"header":{"#, "ends in the middle of a part"),
        (r#"{"heather":{}}"#, "unknown field `heather`"),
        (r#"{"header":{"genesis":"*"}}"#, "bytes are no base64"),
        (r#"{"entry":{"sequence":"one"}}"#, "a whole number"),
        (
            r#"{"entry":{"sequence":"1"}}"#,
            "does not begin with a header",
        ),
        (r#"{"seal":{}}"#, "does not begin with a header"),
        (
            r#"{"header":{"name":"games/a"}}"#,
            "has format 0, and this program reads format 1",
        ),
        (header, "ends without a seal: it was cut after entry 0"),
        (&format!("{header}{header}"), "has a second header"),
        (&format!("{header} hello"), "this is no record file"),
        (&long, "a part is longer than 2097152 bytes"),
        (
            &format!("{header}{blanks}"),
            "a part is longer than 2097152 bytes",
        ),
        (&deep, "this is no record file"),
    ];
    for (text, expected) in cases {
        let said = verify_text(text.as_bytes(), &[]);
        let shown: String = text.chars().take(80).collect();
        // What does not even begin as a record is a file of another kind.
        let begins = text.starts_with(header) && *text != header || expected.contains("cut");
        let code = if begins { 1 } else { 2 };
        assert_eq!(said.code, Some(code), "{shown}:\n{}{}", said.out, said.err);
        assert!(
            said.out.contains(expected),
            "{shown}: no {expected:?} in\n{}",
            said.out
        );
        assert!(
            said.last_line().contains("problem"),
            "{shown}:\n{}",
            said.out
        );
    }
    verify_text(b"\xff\xfe{}", &[]).expect(2, "this is no record file");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_cut_anywhere_is_no_whole_record() {
    let sound = sample().await.text();
    // A part is whole where its braces are closed, with or without the end of its line.
    let braces = |length: usize, brace: u8| {
        let seen = sound[..length].iter();
        seen.filter(|byte| **byte == brace).count()
    };
    let is_whole = |length: usize| braces(length, b'{') == braces(length, b'}');
    for length in (0..sound.len() - 1).step_by(sound.len() / 40) {
        let said = verify_text(&sound[..length], &[]);
        let expected = match length {
            0 => "is empty",
            _ if is_whole(length) => "ends without a seal",
            _ => "ends in the middle of a part",
        };
        let begins = sound[..length].contains(&b'\n');
        said.expect(if begins { 1 } else { 2 }, expected);
        assert_eq!(begins, said.out.contains("not signed"), "{length}");
    }
    let mut twice = sound.clone();
    twice.extend(&sound);
    verify_text(&twice, &[]).expect(1, "goes on after the seal");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_json_of_the_contract_is_read_in_all_its_forms() {
    let sound = String::from_utf8(sample().await.text()).expect("JSON is UTF-8");
    // Names as in the proto, numbers as numbers, the other alphabet, no padding, all in one line.
    let other = sound
        .replace("chainHash", "chain_hash")
        .replace("entryCount\":\"9\"", "entry_count\":9")
        .replace(['=', '\n'], "")
        .replace('+', "-")
        .replace('/', "_")
        .replace("games_sample", "games/sample");
    assert_ne!(other, sound);
    verify_text(other.as_bytes(), &[]).expect(0, "-: 9 entries verified");
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_are_json_for_machines() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let mut record = sample().await;
    let good = folder.path().join("good.record");
    std::fs::write(&good, record.text()).expect("the folder can be written to");
    record.change(5, |event| event.repetitions = 9);
    let bad = folder.path().join("bad.record");
    std::fs::write(&bad, record.text()).expect("the folder can be written to");
    let name = |path: &std::path::Path| path.to_str().map(str::to_owned).unwrap_or_default();
    let said = run(&["verify", "--json", &name(&good), &name(&bad)], b"");
    said.expect(1, "repetitions");
    let reports: Vec<serde_json::Value> = said
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect();
    assert_eq!(reports.len(), 2);
    assert_eq!(reports[0]["file"], name(&good));
    assert_eq!(reports[0]["name"], "games/sample");
    assert_eq!(reports[0]["entries"], 9);
    assert_eq!(reports[0]["signature"], "valid_for_unknown_key");
    assert_eq!(reports[0]["problem_count"], 0);
    let problems = reports[1]["problems"].as_array().expect("a list");
    assert_eq!(reports[1]["problem_count"], problems.len());
    let board = problems.iter().find(|one| one["subject"] == "board");
    assert_eq!(board.expect("the board tells")["sequence"], 5);
    // Without the hashes computed anew, the chain tells too.
    assert!(problems.iter().any(|one| one["subject"] == "chain"));
}

#[test]
fn command_lines_that_make_no_sense_are_told_from_trouble() {
    run(&["verify"], b"").expect(64, "FILE");
    run(&["verify", "there-is-none"], b"").expect(2, "there-is-none cannot be opened");
    run(&["verify", "--public-key", "12", "-"], b"").expect(64, "--public-key");
    run(&["export", "games/a", "--server", "no address"], b"").expect(64, "--server");
    // Nobody listens on this port, which is kept for nothing.
    let unreachable = ["export", "games/a", "--server", "http://127.0.0.1:1"];
    run(&unreachable, b"").expect(2, "cannot reach http://127.0.0.1:1");
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let key = folder.path().join("key");
    write_secret(&key, "12345");
    let key = key.to_str().expect("the folder has a plain name");
    let said = run(
        &["serve", "--listen", "127.0.0.1:0", "--signing-key", key],
        b"",
    );
    said.expect(2, "--signing-key (REFEREE_SIGNING_KEY)");
    said.expect(2, "expected is an Ed25519 private key");
    run(&["serve", "--signing-key", "there-is-none"], b"").expect(2, "there-is-none");
}

/// What made a record is not asked when it is checked, so its bounds are written down twice.
#[test]
fn the_bounds_of_a_record_are_those_of_what_makes_it() {
    use referee_verify::limits;
    assert_eq!(
        limits::ENTRIES_MAX,
        referee_store::limits::ENTRIES_PER_GAME_MAX
    );
    assert_eq!(
        limits::MATING_LINE_MOVES_MAX,
        referee_laws::History::MOVES_MAX
    );
    assert_eq!(limits::TIME_MS_MAX, referee_laws::TIME_MS_MAX);
    assert_eq!(limits::CLOCK_MS_MAX, referee_laws::CLOCK_MS_MAX);
}
