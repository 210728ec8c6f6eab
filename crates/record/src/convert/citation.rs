//! Articles of the rules, as the contract cites them.

use referee_api::v1;
use referee_laws::Citation;

/// Writes the article of a rule.
#[must_use]
pub fn write_citation(citation: &Citation) -> v1::Citation {
    v1::Citation {
        edition: citation.edition.to_string(),
        article: citation.article.to_string(),
        text: citation.text.to_string(),
    }
}
