//! A report from the field: one question about a position, put to the API that answers it.

mod board;
mod records;
mod rulings;

use referee_api::v1;
use referee_server::ErrorDetails;
use serde_json::Value;
use tonic::{Code, Status};

use super::fields::{CaseError, Fields};
use super::target::{Clients, position, reason_of, words_of};
use super::verdict::{Failure, Verdict};

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
pub(super) struct Report {
    kind: Kind,
    fen: String,
    variant: v1::Variant,
    moves: Vec<String>,
    /// The text of a record; empty in any other report.
    record: Vec<u8>,
    input: Value,
    expected: Value,
    /// The issue for which the position is refused, where the report as it stands misreads the
    /// rules.
    misread: Option<String>,
}

impl Report {
    /// Reads a report.
    pub(super) fn read(fields: &Fields) -> Result<Report, CaseError> {
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
            fen: fen.to_owned(),
            variant,
            moves: input.texts("moves")?,
            record,
            input: fields.value("input").cloned().unwrap_or_default(),
            expected: fields.value("expect").cloned().unwrap_or_default(),
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
        let expected = self.expected();
        let mut names = expected.names();
        let stray = names
            .find(|name| !known.contains(name) && !["fen_may_reject", "lenient"].contains(name));
        match stray {
            Some(name) => Err(expected.error(name, "is not known, so it cannot be checked")),
            None => Ok(()),
        }
    }

    fn input(&self) -> Fields<'_> {
        Fields::new("input", &self.input).expect("it was an object when it was read")
    }

    fn expected(&self) -> Fields<'_> {
        Fields::new("expect", &self.expected).expect("it was an object when it was read")
    }

    fn expects(&self, name: &str) -> bool {
        self.expected.get(name) == Some(&Value::Bool(true))
    }

    /// Returns the position before the moves of the report, or after the first of them.
    fn position_after(&self, plies: usize) -> v1::Position {
        position(
            &self.fen,
            self.moves[..plies.min(self.moves.len())].to_vec(),
        )
    }

    fn profile(&self) -> v1::RuleProfile {
        v1::RuleProfile {
            variant: self.variant.into(),
            ..v1::RuleProfile::default()
        }
    }

    /// Asks the referee, and compares what it says.
    pub(super) async fn judge(&self, clients: &mut Clients, tag: &str) -> Verdict {
        let judged = match self.kind {
            Kind::Sequence => return Verdict::Skipped(IN_WORDS),
            _ if self.misread.is_some() => self.judge_misread(clients).await,
            Kind::Moves => board::judge_moves(self, clients).await,
            Kind::Play => board::judge_play(self, clients).await,
            Kind::Fen => board::judge_fen(self, clients).await,
            Kind::FenOut => board::judge_fen_out(self, clients).await,
            Kind::San => board::judge_san(self, clients).await,
            Kind::ToSan => board::judge_to_san(self, clients).await,
            Kind::Perft => board::judge_perft(self).await,
            Kind::Repetition | Kind::Status | Kind::Claim => {
                rulings::judge_position(self, clients).await
            }
            Kind::Timeout => rulings::judge_timeout(self, clients, tag).await,
            Kind::Record => records::judge_record(self, clients).await,
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
            position: Some(self.position_after(0)),
            rule_profile: Some(self.profile()),
        };
        let answer = clients.rules.adjudicate_position(request).await;
        let found = match &answer {
            Ok(_) => "accepted".to_owned(),
            Err(status) => {
                let mut details = ErrorDetails::read(status);
                details.metadata.remove("issues").unwrap_or_default()
            }
        };
        if found.split(',').any(|found| found == issue) {
            return Ok(Vec::new());
        }
        Ok(vec![Failure::new("misread", issue, found)])
    }
}

/// What is not as a report expects.
type Judged = Result<Vec<Failure>, Unfit>;

/// Why a report could not be compared.
enum Unfit {
    /// The referee did not answer the question.
    Failure(Failure),
    /// The report makes no sense.
    Case(CaseError),
}

impl From<Failure> for Unfit {
    fn from(failure: Failure) -> Unfit {
        Unfit::Failure(failure)
    }
}

impl From<CaseError> for Unfit {
    fn from(error: CaseError) -> Unfit {
        Unfit::Case(error)
    }
}

/// An error where an answer was expected.
fn no_answer(step: &str, status: &Status) -> Unfit {
    Unfit::Failure(Failure::new(step, "an answer", words_of(status)))
}

/// Whether an error refuses a position or a history, and nothing worse has happened.
fn is_refusal(status: &Status) -> bool {
    let reasons = [
        "INVALID_POSITION",
        "ILLEGAL_HISTORY",
        "INVALID_FIELD",
        "LIMIT_EXCEEDED",
    ];
    status.code() == Code::InvalidArgument && reasons.contains(&reason_of(status).as_str())
}
