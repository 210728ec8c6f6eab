//! Rulings: every action of a record is judged again, and what this referee would have laid down
//! is compared with what the record says, field by field.

use std::fmt::Debug;

use prost::Message;
use referee_api::v1;

use crate::limits::VALUE_SHOWN_CHARS_MAX;
use crate::record::{REVISION, Replay, VERSION};
use crate::report::{Report, Subject};
use crate::time::line_ms_of;

/// Whether this very program judged, or nobody says who did: then it must judge the same again.
/// What another version or revision judged may differ, which is reported and is no problem.
fn is_ours(judge: Option<&v1::Judge>) -> bool {
    judge.is_none_or(|judge| {
        judge.referee_version.is_empty()
            || judge.referee_version == VERSION && judge.revision == REVISION
    })
}

/// Says that something differs, and between which judges.
fn differs(text: &str, judge: Option<&v1::Judge>) -> String {
    let judge = judge.cloned().unwrap_or_default();
    let judge = format!("{} ({})", judge.referee_version, judge.revision);
    format!("{text}; judged by {judge}, this is {VERSION} ({REVISION})")
}

/// Creates the game again under the rules that it was created under, and resolves those again. What
/// another revision would resolve otherwise is reported and is no problem: profiles change, and a
/// game keeps its rules.
pub(crate) fn check_genesis(
    replay: &Replay,
    genesis: &v1::Game,
    bytes: &[u8],
    report: &mut Report,
) {
    let mut texts = Vec::new();
    match replay.recreate() {
        Err(error) => texts.push(format!("it would not be created: {error}")),
        Ok(created) => {
            let (old, new) = (&genesis.initial_position, &created.initial_position);
            compare(&mut texts, "initial_position", old, new);
            let (old, new) = (&genesis.clock_settings, &created.clock_settings);
            compare(&mut texts, "clock_settings", old, new);
            compare(&mut texts, "outcome", &genesis.outcome, &created.outcome);
            let (old, new) = (&genesis.rule_profile, &created.rule_profile);
            compare(&mut texts, "rule_profile", old, new);
            // Text about persons is looked at elsewhere.
            let rest = |game: &v1::Game| v1::Game {
                initial_position: None,
                clock_settings: None,
                outcome: None,
                rule_profile: None,
                private_hash: Default::default(),
                white_player: String::new(),
                black_player: String::new(),
                labels: Default::default(),
                tags: Vec::new(),
                ..game.clone()
            };
            compare(&mut texts, "game", &rest(genesis), &rest(&created));
        }
    }
    let rules = genesis.rule_profile.clone().unwrap_or_default();
    let judge = genesis.judged_by.as_ref();
    match judge {
        None => texts.push("it does not say what judged it".into()),
        Some(judge) => compare(&mut texts, "edition", &judge.edition, &rules.edition),
    }
    for text in differences_of_rules(replay, &rules) {
        if is_ours(judge) {
            texts.push(text);
        } else {
            report.difference(0, differs(&text, judge));
        }
    }
    if genesis.encode_to_vec() != bytes {
        texts.push("its bytes hold more than a game of this version, or in another order".into());
    }
    for text in texts {
        report.fault(Some(0), Subject::Ruling, text);
    }
}

/// What would be resolved otherwise today from the name of the profile and the overrides.
fn differences_of_rules(replay: &Replay, rules: &v1::RuleProfile) -> Vec<String> {
    let mut texts = Vec::new();
    match replay.resolve_again() {
        Err(error) => texts.push(format!("its rules would not be resolved: {error}")),
        Ok(resolved) => compare(&mut texts, "rule_profile", rules, &resolved),
    }
    texts
}

/// Judges an entry again. A ruling of this very revision must be the same; one of another may
/// differ, which is reported and is no problem.
pub(crate) fn check(replay: &mut Replay, event: &v1::GameEvent, bytes: &[u8], report: &mut Report) {
    let sequence = Some(event.sequence);
    let judge = event.judged_by.as_ref();
    if judge.is_none_or(|judge| judge.referee_version.is_empty()) {
        report.fault(sequence, Subject::Ruling, "it does not say what judged it");
    }
    let mut differ = |text: String| {
        if is_ours(judge) {
            report.fault(sequence, Subject::Ruling, text);
        } else {
            report.difference(event.sequence, differs(&text, judge));
        }
    };
    let answer = match replay.judge(event) {
        Ok(answer) => answer,
        Err(error) => return differ(format!("it cannot be judged: {error}")),
    };
    let Some(judged) = answer.event else {
        let said = answer.ruling.map(|ruling| ruling.text).unwrap_or_default();
        return differ(format!(
            "it is recorded, but would have been refused: {}",
            shorten(&said)
        ));
    };
    for text in differences(event, &judged) {
        differ(text);
    }
    if event.encode_to_vec() != bytes {
        differ("its bytes hold more than an entry of this version, or in another order".into());
    }
    let told = event.action.as_ref().map(|action| replay.told_ms(action));
    match told {
        Some(Ok(Some(told_ms))) if Some(told_ms) != line_ms(event) => differ(format!(
            "it happened at {told_ms} ms by its own action, but stands at {:?} ms",
            line_ms(event)
        )),
        Some(Err(error)) => differ(format!("its time cannot be read: {error}")),
        _ => {}
    }
}

/// The time of an entry on the time line of its game.
fn line_ms(event: &v1::GameEvent) -> Option<u64> {
    line_ms_of(event.conduct.as_ref()?.time).ok().flatten()
}

/// What is recorded otherwise than it was judged.
fn differences(recorded: &v1::GameEvent, judged: &v1::GameEvent) -> Vec<String> {
    let mut texts = Vec::new();
    let (old, new) = (
        recorded.ruling.clone().unwrap_or_default(),
        judged.ruling.clone().unwrap_or_default(),
    );
    compare(&mut texts, "verdict", &old.verdict(), &new.verdict());
    compare(&mut texts, "reason", &old.reason(), &new.reason());
    let rest = |ruling: v1::Ruling| v1::Ruling {
        verdict: 0,
        reason: 0,
        ..ruling
    };
    compare(&mut texts, "ruling", &rest(old), &rest(new));
    let (old, new) = (
        recorded.outcome.clone().unwrap_or_default(),
        judged.outcome.clone().unwrap_or_default(),
    );
    compare(&mut texts, "result", &old.result(), &new.result());
    let (ended, ends) = (old.termination(), new.termination());
    compare(&mut texts, "termination", &ended, &ends);
    let rest = |outcome: v1::Outcome| v1::Outcome {
        result: 0,
        termination: 0,
        ..outcome
    };
    compare(&mut texts, "outcome", &rest(old), &rest(new));
    compare(&mut texts, "move", &recorded.r#move, &judged.r#move);
    compare(&mut texts, "fen", &recorded.fen, &judged.fen);
    compare(&mut texts, "ply", &recorded.ply, &judged.ply);
    let (old, new) = (recorded.repetitions, judged.repetitions);
    compare(&mut texts, "repetitions", &old, &new);
    let (old, new) = (recorded.halfmove_clock, judged.halfmove_clock);
    compare(&mut texts, "halfmove_clock", &old, &new);
    let (old, new) = (recorded.draw_offer(), judged.draw_offer());
    compare(&mut texts, "draw_offer", &old, &new);
    compare(&mut texts, "update", &recorded.update, &judged.update);
    let (old, new) = (&recorded.bound_move, &judged.bound_move);
    compare(&mut texts, "bound_move", old, new);
    compare(&mut texts, "ledger", &recorded.ledger, &judged.ledger);
    let (old, new) = (recorded.move_illegal, judged.move_illegal);
    compare(&mut texts, "move_illegal", &old, &new);
    let (old, new) = (recorded.reinstated_ply, judged.reinstated_ply);
    compare(&mut texts, "reinstated_ply", &old, &new);
    let (old, new) = (recorded.event_time, judged.event_time);
    compare(&mut texts, "event_time", &old, &new);
    compare_conduct(
        &mut texts,
        recorded.conduct.as_ref(),
        judged.conduct.as_ref(),
    );
    let edition = |event: &v1::GameEvent| event.judged_by.clone().map(|judge| judge.edition);
    let (old, new) = (edition(recorded), edition(judged));
    compare(&mut texts, "edition", &old, &new);
    texts
}

fn compare_conduct(
    texts: &mut Vec<String>,
    recorded: Option<&v1::Conduct>,
    judged: Option<&v1::Conduct>,
) {
    let (old, new) = (
        recorded.cloned().unwrap_or_default(),
        judged.cloned().unwrap_or_default(),
    );
    compare(texts, "clocks", &old.clocks, &new.clocks);
    let rest = |conduct: v1::Conduct| v1::Conduct {
        clocks: None,
        ..conduct
    };
    compare(texts, "conduct", &rest(old), &rest(new));
}

fn compare<T: PartialEq + Debug>(texts: &mut Vec<String>, what: &str, recorded: &T, judged: &T) {
    if recorded != judged {
        let (recorded, judged) = apart(&format!("{recorded:?}"), &format!("{judged:?}"));
        texts.push(format!("{what} is {recorded}, but was to be {judged}"));
    }
}

/// Two texts from shortly before where they differ, at most so long as is shown.
fn apart(one: &str, other: &str) -> (String, String) {
    let same = one
        .chars()
        .zip(other.chars())
        .take_while(|(one, other)| one == other)
        .count();
    let from = if one.chars().count().max(other.chars().count()) <= VALUE_SHOWN_CHARS_MAX {
        0
    } else {
        same.saturating_sub(VALUE_SHOWN_CHARS_MAX / 4)
    };
    let show = |text: &str| {
        let shown: String = text.chars().skip(from).collect();
        let dots = if from > 0 { "…" } else { "" };
        format!("{dots}{}", shorten(&shown))
    };
    (show(one), show(other))
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(VALUE_SHOWN_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
