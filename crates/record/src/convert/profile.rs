//! Rule profiles between the contract and the rules, parameter by parameter.

use referee_api::v1;
use referee_laws::{
    Allowed, PROFILE_NAMES, ParameterError, Parameters, Points, Profile, ProfileError, Variant,
};

use super::enums::{InContract, stored_enum};
use crate::error::Error;
use crate::fields::Fields;
use crate::limits;

/// Reads a choice into its parameter; whether there is one, since without it the parameter is as
/// in the profile.
fn read_choice<C>(parameter: &mut C, field: &str, number: i32, fields: &mut Fields) -> bool
where
    C: InContract,
    C::Message: TryFrom<i32> + Default + PartialEq,
{
    let choice = C::from_v1(fields.choice(field, number));
    if let Some(choice) = choice {
        *parameter = choice;
    }
    choice.is_some()
}

fn read_points(field: &str, message: Option<&v1::Points>, fields: &mut Fields) -> Option<String> {
    let message = message?;
    let max = Parameters::HALF_POINTS_MAX;
    let mut read = |name: &str, points: Option<u32>| {
        let path = format!("{field}.points.{name}");
        let points = fields.required(&path, points).unwrap_or_default();
        if points > max {
            let allowed = Allowed::NumberUpTo(max);
            fields.refuse(&path, format!("must be {allowed}"));
        }
        points.min(max)
    };
    let points = Points {
        win: read("win_half_points", message.win_half_points),
        draw: read("draw_half_points", message.draw_half_points),
        loss: read("loss_half_points", message.loss_half_points),
    };
    Some(points.to_string())
}

fn write_points(points: Points) -> v1::Points {
    v1::Points {
        win_half_points: Some(points.win),
        draw_half_points: Some(points.draw),
        loss_half_points: Some(points.loss),
    }
}

fn stored_points(message: &v1::Points) -> Result<Points, Error> {
    let read = |points: Option<u32>| points.ok_or_else(|| Error::damaged("the points"));
    Ok(Points {
        win: read(message.win_half_points)?,
        draw: read(message.draw_half_points)?,
        loss: read(message.loss_half_points)?,
    })
}

/// Declares how each parameter is read and written, so that the two cannot part.
///
/// A parameter that is added to the rules later has behind it the value that it has in games of
/// before, whose records do not name it: the one with which they are judged as they were. It is
/// written as `name: Flag before false`, with a value of the type that the parameter has in the
/// rules. The record of a game that names none of a parameter without such a value is damaged.
macro_rules! parameters {
    ($($parameter:ident: $kind:ident $(before $before:expr)?,)+) => {
        /// Reads the parameters that are there as words by their names.
        fn read_parameters(
            field: &str,
            message: &v1::RuleParameters,
            fields: &mut Fields,
        ) -> Vec<(&'static str, String)> {
            let read = [$((
                stringify!($parameter),
                parameters!(@read $kind, $parameter, field, message, fields),
            ),)+];
            let there = read.into_iter();
            there.filter_map(|(parameter, word)| Some((parameter, word?))).collect()
        }

        /// Reads every parameter as it was in force when a game was created.
        fn stored_parameters(message: &v1::RuleParameters) -> Result<Parameters, Error> {
            Ok(Parameters {
                $($parameter: parameters!(@stored $kind, $parameter, message)
                    $(.or(Some($before)))?
                    .ok_or_else(|| Error::damaged(concat!("the parameter ", stringify!($parameter))))?,
                )+
            })
        }

        /// Writes every parameter.
        fn write_parameters(parameters: &Parameters) -> v1::RuleParameters {
            v1::RuleParameters {
                $($parameter: parameters!(@write $kind, $parameter, parameters),)+
            }
        }
    };
    (@read Flag, $parameter:ident, $field:ident, $message:ident, $fields:ident) => {
        $message.$parameter.map(|flag| flag.to_string())
    };
    (@read Number, $parameter:ident, $field:ident, $message:ident, $fields:ident) => {
        $message.$parameter.map(|number| number.to_string())
    };
    (@read Points, $parameter:ident, $field:ident, $message:ident, $fields:ident) => {
        read_points($field, $message.$parameter.as_ref(), $fields)
    };
    (@read Choice, $parameter:ident, $field:ident, $message:ident, $fields:ident) => {{
        let name = stringify!($parameter);
        // The rules write the word of a choice.
        let mut parameters = Profile::fide_standard().parameters;
        let choice = &mut parameters.$parameter;
        let is_there =
            read_choice(choice, &format!("{}.{name}", $field), $message.$parameter, $fields);
        if is_there { parameters.get(name) } else { None }
    }};
    (@stored Flag, $parameter:ident, $message:ident) => {
        $message.$parameter
    };
    (@stored Number, $parameter:ident, $message:ident) => {
        $message.$parameter
    };
    (@stored Points, $parameter:ident, $message:ident) => {
        $message.$parameter.as_ref().map(stored_points).transpose()?
    };
    (@stored Choice, $parameter:ident, $message:ident) => {
        stored_enum(stringify!($parameter), $message.$parameter)?
    };
    (@write Flag, $parameter:ident, $parameters:ident) => {
        Some($parameters.$parameter)
    };
    (@write Number, $parameter:ident, $parameters:ident) => {
        Some($parameters.$parameter)
    };
    (@write Points, $parameter:ident, $parameters:ident) => {
        Some(write_points($parameters.$parameter))
    };
    (@write Choice, $parameter:ident, $parameters:ident) => {
        $parameters.$parameter.to_v1().into()
    };
}

parameters! {
    illegal_policy: Choice,
    illegal_limit: Number,
    illegal_counts: Choice,
    illegal_penalty_ms: Number,
    illegal_window_moves: Number,
    illegal_loss_needs_mate_possible: Flag,
    promotion_missing: Choice,
    press_without_move: Choice,
    two_hands_move_stands: Flag,
    touch_move: Flag,
    touch_enforcement: Choice,
    release_final: Flag,
    rook_first_castling: Choice,
    offer_window: Choice,
    offer_withdrawable: Flag,
    offer_declined_by: Choice,
    offer_repeat: Choice,
    offer_cooldown_plies: Number,
    offer_claims_insufficient: Flag,
    min_moves_for_agreement: Number,
    min_plies_for_agreement: Number,
    threefold: Choice,
    threefold_after_offer_plies: Number,
    fifty: Choice,
    fifty_reset: Choice,
    fivefold: Flag,
    seventy_five: Flag,
    perpetual_check_draw: Flag,
    claim_with_intended_move: Flag,
    wrong_claim_penalty_ms: Number,
    claim_is_offer: Flag,
    claim_lost_after_touch: Flag,
    dead_position: Choice,
    dead_position_claim: Flag,
    flag_exception: Choice,
    resign_no_mate_draw: Flag,
    mate_before_automatic_draws: Flag,
    undetermined_policy: Choice,
    flag_mode: Choice,
    flag_claim_after_new_time: Flag,
    both_flags: Choice,
    flag_vs_open_offer: Choice,
    default_time_ms: Number,
    increment_at_start: Flag,
    takeback: Choice,
    abort: Choice,
    abort_plies: Number,
    disconnect: Choice,
    disconnect_grace_ms: Number,
    no_start: Choice,
    mandatory_pairing: Flag,
    guideline_iii: Flag,
    guideline_iii_4: Flag,
    rapid_article: Choice,
    unsupervised: Flag,
    points: Points,
}

/// Reads the rules that a game of a variant was created under. The name and the edition are what
/// they were then, and so is every parameter, whatever the profiles and limits are today.
///
/// # Errors
///
/// Where this program could not have written them.
pub fn stored_profile(
    message: Option<&v1::RuleProfile>,
    variant: Variant,
) -> Result<Profile, Error> {
    let message = message.ok_or_else(|| Error::damaged("the rule profile"))?;
    let parameters = message.parameters.as_ref();
    let parameters = parameters.ok_or_else(|| Error::damaged("the parameters of the rules"))?;
    Ok(Profile {
        name: message.name.clone().into(),
        edition: message.edition.clone().into(),
        variant,
        parameters: stored_parameters(parameters)?,
    })
}

/// Reads the rules that a caller asks for, for a game of a variant: a profile, overrides applied.
pub fn read_profile(
    field: &str,
    profile: Option<&v1::RuleProfile>,
    variant: Variant,
    fields: &mut Fields,
) -> Profile {
    if let Some(overrides) = profile.and_then(|profile| profile.overrides.as_ref()) {
        check_overrides(&format!("{field}.overrides"), overrides, fields);
    }
    resolve_profile(field, profile, variant, fields)
}

/// Refuses what is changed without effect, because of another change.
fn check_overrides(field: &str, changed: &v1::RuleParameters, fields: &mut Fields) {
    use v1::{AbortRule, DisconnectRule, IllegalPolicy, MateTest, OfferRepeat, PressWithoutMove};
    let is_above_0 = |number: Option<u32>| number.is_some_and(|number| number > 0);
    let repeats = changed.offer_repeat();
    for (is_idle, parameter, reason) in [
        (
            changed.touch_move == Some(false) && changed.touch_enforcement != 0,
            "touch_enforcement",
            "touch_move is false",
        ),
        (
            changed.guideline_iii == Some(false) && changed.guideline_iii_4 == Some(true),
            "guideline_iii_4",
            "guideline_iii is false",
        ),
        (
            changed.illegal_policy() == IllegalPolicy::Refuse
                && changed.press_without_move() != PressWithoutMove::Illegal
                && is_above_0(changed.illegal_limit),
            "illegal_limit",
            "illegal_policy refuses illegal moves, and press_without_move is not ILLEGAL either",
        ),
        (
            !matches!(repeats, OfferRepeat::Unspecified | OfferRepeat::Cooldown)
                && is_above_0(changed.offer_cooldown_plies),
            "offer_cooldown_plies",
            "offer_repeat asks for no cooldown",
        ),
        (
            changed.dead_position() == MateTest::Off && changed.dead_position_claim == Some(true),
            "dead_position_claim",
            "dead_position is off",
        ),
        (
            changed.abort() == AbortRule::Never && is_above_0(changed.abort_plies),
            "abort_plies",
            "abort is never",
        ),
        (
            changed.disconnect() == DisconnectRule::Ignored
                && is_above_0(changed.disconnect_grace_ms),
            "disconnect_grace_ms",
            "disconnect is ignored",
        ),
    ] {
        if is_idle {
            let idle = format!("has no effect, since {reason}; leave one of the two out");
            fields.refuse(&format!("{field}.{parameter}"), idle);
        }
    }
    if let Some(points) = &changed.points {
        let [win, draw, loss] = [
            points.win_half_points,
            points.draw_half_points,
            points.loss_half_points,
        ];
        for (name, more, less, than) in
            [("win", win, draw, "a draw"), ("draw", draw, loss, "a loss")]
        {
            if let (Some(more), Some(less)) = (more, less)
                && more < less
            {
                let path = format!("{field}.points.{name}_half_points");
                fields.refuse(&path, format!("must not be less than for {than}"));
            }
        }
    }
}

/// Reads the rules of a game of a variant as they are today: the profile with the name, and the
/// overrides.
pub(crate) fn resolve_profile(
    field: &str,
    profile: Option<&v1::RuleProfile>,
    variant: Variant,
    fields: &mut Fields,
) -> Profile {
    let default = v1::RuleProfile::default();
    let message = profile.unwrap_or(&default);
    let name = format!("{field}.name");
    fields.length(&name, &message.name, limits::PROFILE_NAME_BYTES_MAX);
    let base = Profile::named(&message.name).unwrap_or_else(|error| {
        fields.refuse(&name, error.to_string());
        Profile::fide_standard()
    });
    let field = format!("{field}.overrides");
    let overrides = message.overrides.as_ref();
    let words = overrides.map(|message| read_parameters(&field, message, fields));
    let words = words.unwrap_or_default();
    let overrides: Vec<(&str, &str)> = words
        .iter()
        .map(|(parameter, word)| (*parameter, word.as_str()))
        .collect();
    match Profile::resolve(&base.name, variant, &overrides) {
        Ok(profile) => return profile,
        Err(ProfileError::Name(error)) => fields.refuse(&name, error.to_string()),
        Err(ProfileError::Overrides(errors)) => {
            for (_, error) in errors {
                match error {
                    ParameterError::Value { parameter, allowed } => {
                        let field = format!("{field}.{parameter}");
                        fields.refuse(&field, format!("must be {allowed}"));
                    }
                    ParameterError::Fixed { parameter, value } => {
                        let field = format!("{field}.{parameter}");
                        let text = format!("cannot be changed in {}, it is {value}", base.name);
                        fields.refuse(&field, text);
                    }
                    ParameterError::UnknownName => fields.refuse(&field, error.to_string()),
                }
            }
        }
    }
    Profile { variant, ..base }
}

/// Writes a profile with every parameter as it is in force.
pub fn write_profile(profile: &Profile, overrides: Option<v1::RuleParameters>) -> v1::RuleProfile {
    v1::RuleProfile {
        name: profile.name.to_string(),
        edition: profile.edition.to_string(),
        overrides,
        parameters: Some(write_parameters(&profile.parameters)),
    }
}

/// Describes every profile.
pub fn describe_profiles() -> Vec<v1::RuleProfileDescription> {
    let profiles = PROFILE_NAMES.iter().filter_map(|name| {
        let profile = Profile::named(name).ok()?;
        let origins = Profile::origins(name).ok()?;
        let sources = origins.iter().map(|origin| v1::ParameterSource {
            parameter: origin.parameter.to_owned(),
            value: origin.value.to_owned(),
            source: origin.source.to_owned(),
            chosen: origin.chosen,
        });
        Some(v1::RuleProfileDescription {
            profile: Some(write_profile(&profile, None)),
            sources: sources.collect(),
        })
    });
    profiles.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a profile and reads it back, both as a stored game is read and as a caller who asks
    /// for all of it.
    fn read_back(profile: &Profile) -> Profile {
        let mut message = write_profile(profile, None);
        let stored = stored_profile(Some(&message), profile.variant);
        message.overrides = message.parameters.take();
        let mut fields = Fields::default();
        let read = resolve_profile("rule_profile", Some(&message), profile.variant, &mut fields);
        fields.finish().expect("what was written can be read");
        assert_eq!(stored.as_ref(), Ok(&read));
        read
    }

    #[test]
    fn what_was_stored_is_read_whatever_the_profiles_and_limits_are() {
        let mut message = write_profile(&Profile::fide_standard(), None);
        message.name = "of_another_day".to_owned();
        message.edition = "FIDE-E01-1997".to_owned();
        let mut parameters = message.parameters.unwrap_or_default();
        parameters.illegal_limit = Some(Parameters::ILLEGAL_LIMIT_MAX + 1);
        message.parameters = Some(parameters);
        let read = |message: &v1::RuleProfile| stored_profile(Some(message), Variant::Standard);
        let profile = read(&message).expect("it is read as it stands");
        assert_eq!(profile.name, "of_another_day");
        assert_eq!(profile.edition, "FIDE-E01-1997");
        let limit = profile.parameters.illegal_limit;
        assert_eq!(limit, Parameters::ILLEGAL_LIMIT_MAX + 1);
        assert_eq!(write_profile(&profile, None), message);
        for (change, what) in [
            (
                v1::RuleParameters {
                    touch_move: None,
                    ..parameters
                },
                "the parameter touch_move",
            ),
            (
                v1::RuleParameters {
                    fifty: 0,
                    ..parameters
                },
                "the parameter fifty",
            ),
            (
                v1::RuleParameters {
                    fifty: 77,
                    ..parameters
                },
                "fifty has a value that is not known: 77",
            ),
        ] {
            message.parameters = Some(change);
            assert_eq!(read(&message), Err(Error::damaged(what)));
        }
    }

    #[test]
    fn every_profile_is_read_back_as_it_was_written() {
        for name in PROFILE_NAMES {
            for article in ["A.4", "A.5"] {
                for variant in [Variant::Standard, Variant::Chess960] {
                    let changes = [("rapid_article", article), ("wrong_claim_penalty_ms", "7")];
                    let profile = Profile::resolve(name, variant, &changes).expect("it is known");
                    assert_eq!(read_back(&profile), profile, "{name} {article}");
                }
            }
            let profile = Profile::named(name).expect("it is known");
            assert_eq!(read_back(&profile), profile, "{name}");
        }
    }

    #[test]
    fn every_value_of_every_parameter_goes_over_the_wire() {
        for name in Parameters::NAMES {
            let values: Vec<String> = match Parameters::allowed(name).expect("it is known") {
                Allowed::Words(words) => words.iter().map(|&word| word.to_owned()).collect(),
                Allowed::NumberUpTo(max) => vec!["0".into(), "1".into(), max.to_string()],
                Allowed::HalfPointsUpTo(_) => vec!["3/1/0".into(), "100/0.5/0".into()],
            };
            let mut messages = Vec::new();
            for value in values {
                let mut profile = Profile::fide_standard();
                profile.parameters.set(name, &value).expect("it is allowed");
                assert_eq!(read_back(&profile), profile, "{name} {value}");
                let message = write_parameters(&profile.parameters);
                assert!(
                    !messages.contains(&message),
                    "{name} {value} is written as another"
                );
                messages.push(message);
            }
        }
    }

    #[test]
    fn what_is_left_out_is_as_in_the_profile() {
        let mut fields = Fields::default();
        let empty = v1::RuleParameters::default();
        assert!(read_parameters("overrides", &empty, &mut fields).is_empty());
    }
}
