//! A report from the field: one question about a position, put to the API that answers it.

mod board;
mod perft;
mod question;
mod records;
mod rulings;

use referee_api::v1;

use crate::error_details::metadata_of;
use crate::fields::{CaseError, Fields};
use crate::target::Clients;
use crate::verdict::{Failure, Verdict};
use question::{Judged, Question, Unfit};

/// Why steps in words are not played.
const IN_WORDS: &str = "the steps are words for a person; the suites of the service play them";

/// What a report asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Moves,
    Play,
    Fen,
    FenOut,
    San,
    ToSan,
    Repetition,
    Status,
    Claim,
    Timeout,
    Perft,
    Record,
    Sequence,
}

/// A report, ready to be asked.
#[derive(Debug)]
pub(crate) struct Report {
    kind: Kind,
    question: Question,
    /// The issue for which the position is refused, where the report as it stands misreads the
    /// rules.
    misread: Option<String>,
}

impl Report {
    /// Reads a report.
    pub(crate) fn read(fields: &Fields) -> Result<Report, CaseError> {
        let kind = match fields.required_text("kind")? {
            "moves" => Kind::Moves,
            "play" => Kind::Play,
            "fen" => Kind::Fen,
            "fenout" => Kind::FenOut,
            "san" => Kind::San,
            "tosan" => Kind::ToSan,
            "rep" => Kind::Repetition,
            "status" | "statusafter" => Kind::Status,
            "claim" => Kind::Claim,
            "timeout" => Kind::Timeout,
            "perft" => Kind::Perft,
            "pgn" => Kind::Record,
            "sequence" => Kind::Sequence,
            other => return Err(fields.error("kind", format!("'{other}' is no kind of report"))),
        };
        let input = fields.required_object("input")?;
        fields.required_object("expect")?;
        let fen = match kind {
            Kind::Record | Kind::Sequence => "",
            _ => input.required_text("fen")?,
        };
        let misread = match fields.object("misread")? {
            Some(misread) => {
                misread.required_text("article")?;
                Some(misread.required_text("issue")?.to_owned())
            }
            None => None,
        };
        let variant = match input.flag("x960")? {
            Some(true) => v1::Variant::Chess960,
            _ => v1::Variant::Unspecified,
        };
        let record = match kind {
            Kind::Record => records::read_text(&input)?,
            _ => Vec::new(),
        };
        let report = Report {
            kind,
            question: Question {
                fen: fen.to_owned(),
                variant,
                moves: input.texts("moves")?,
                record,
                input: fields.value("input").cloned().unwrap_or_default(),
                expected: fields.value("expect").cloned().unwrap_or_default(),
            },
            misread,
        };
        report.check_expectations()?;
        Ok(report)
    }

    /// An expectation that nobody checks would pass whatever the referee answers.
    fn check_expectations(&self) -> Result<(), CaseError> {
        let known: &[&str] = match self.kind {
            Kind::Moves => &[
                "exact",
                "include",
                "exclude",
                "exclude_soft",
                "count",
                "no_dups",
            ],
            Kind::Play => &["accept", "at", "fen", "board", "xfen"],
            Kind::Fen => &["accept", "or_fen"],
            Kind::FenOut => &["fen", "fen_any"],
            Kind::San => &["uci", "reject"],
            Kind::ToSan => &["san"],
            Kind::Repetition | Kind::Status | Kind::Claim => rulings::KNOWN,
            Kind::Timeout => &["result"],
            Kind::Perft => &["nodes"],
            Kind::Record => records::KNOWN,
            Kind::Sequence => return Ok(()),
        };
        let expected = self.question.expected();
        let mut names = expected.names();
        let stray = names
            .find(|name| !known.contains(name) && !["fen_may_reject", "lenient"].contains(name));
        match stray {
            Some(name) => Err(expected.error(name, "is not known, so it cannot be checked")),
            None => Ok(()),
        }
    }

    /// Asks the referee, and compares what it says.
    pub(crate) async fn judge(&self, clients: &mut Clients, tag: &str) -> Verdict {
        let question = &self.question;
        let judged = match self.kind {
            Kind::Sequence => return Verdict::Skipped(IN_WORDS),
            _ if self.misread.is_some() => self.judge_misread(clients).await,
            Kind::Moves => board::judge_moves(question, clients).await,
            Kind::Play => board::judge_play(question, clients).await,
            Kind::Fen => board::judge_fen(question, clients).await,
            Kind::FenOut => board::judge_fen_out(question, clients).await,
            Kind::San => board::judge_san(question, clients).await,
            Kind::ToSan => board::judge_to_san(question, clients).await,
            Kind::Perft => perft::judge_perft(question, clients).await,
            Kind::Repetition | Kind::Status | Kind::Claim => {
                rulings::judge_position(question, clients).await
            }
            Kind::Timeout => rulings::judge_timeout(question, clients, tag).await,
            Kind::Record => records::judge_record(question, clients).await,
        };
        match judged {
            Ok(wrong) => Verdict::of(wrong),
            Err(Unfit::Failure(failure)) => Verdict::Failed(vec![failure]),
            Err(Unfit::Case(error)) => {
                let failure = Failure::new("read the case", "a report", error.to_string());
                Verdict::Failed(vec![failure])
            }
        }
    }

    /// A report that misreads the rules is held to the reason for which it is refused.
    async fn judge_misread(&self, clients: &mut Clients) -> Judged {
        let issue = self.misread.clone().unwrap_or_default();
        let request = v1::AdjudicatePositionRequest {
            position: Some(self.question.position_after(0)),
            rule_profile: None,
        };
        let answer = clients.rules.adjudicate_position(request).await;
        let found = match &answer {
            Ok(_) => "accepted".to_owned(),
            Err(status) => metadata_of(status, "issues"),
        };
        if found.split(',').any(|found| found == issue) {
            return Ok(Vec::new());
        }
        Ok(vec![Failure::new("misread", issue, found)])
    }
}
