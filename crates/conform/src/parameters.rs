//! Parameters of a rule profile by their names, as the contract describes them.

use prost::Message as _;
use prost_reflect::{
    Cardinality, DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor,
    ReflectMessage as _, Value as Reflected,
};
use referee_api::v1;
use serde_json::Value;

use crate::fields::{CaseError, Fields};

/// The parameters in the contract.
const MESSAGE: &str = "referee.v1.RuleParameters";

/// Reads the parameters that a case changes. Whatever the contract has can be named, so that a new
/// parameter needs no change here.
pub(crate) fn read(fields: &Fields) -> Result<v1::RuleParameters, CaseError> {
    let broken = |error: &dyn std::fmt::Display| {
        CaseError::new("overrides", format!("the contract cannot be read: {error}"))
    };
    let pool = DescriptorPool::decode(referee_api::FILE_DESCRIPTOR_SET);
    let pool = pool.map_err(|error| broken(&error))?;
    let descriptor = pool.get_message_by_name(MESSAGE);
    let descriptor = descriptor.ok_or_else(|| broken(&MESSAGE))?;
    let mut message = DynamicMessage::new(descriptor);
    fill(&mut message, fields)?;
    v1::RuleParameters::decode(message.encode_to_vec().as_slice()).map_err(|error| broken(&error))
}

fn fill(message: &mut DynamicMessage, fields: &Fields) -> Result<(), CaseError> {
    for name in fields.names() {
        let Some(value) = fields.value(name) else {
            continue;
        };
        let (field, value) = read_field(&message.descriptor(), fields, name, value)?;
        message.set_field(&field, value);
    }
    Ok(())
}

fn read_field(
    descriptor: &MessageDescriptor,
    fields: &Fields,
    name: &str,
    value: &Value,
) -> Result<(FieldDescriptor, Reflected), CaseError> {
    if let Some(field) = descriptor.get_field_by_name(name) {
        let read = read_value(&field, fields, name, value)?;
        return Ok((field, read));
    }
    // Points are counted in halves in the contract.
    if let Some(field) = descriptor.get_field_by_name(&format!("{name}_half_points")) {
        let halves = value.as_f64().map(|points| points * 2.0);
        let halves = halves.filter(|halves| halves.fract() == 0.0 && (0.0..=1e6).contains(halves));
        let wrong = || fields.error(name, "must be a number of points, whole or a half");
        // It is whole and in range, so nothing is lost.
        let halves = halves.ok_or_else(wrong)? as u32;
        return Ok((field, Reflected::U32(halves)));
    }
    let reason = format!("no parameter of {MESSAGE} has this name");
    Err(fields.error(name, reason))
}

fn read_value(
    field: &FieldDescriptor,
    fields: &Fields,
    name: &str,
    value: &Value,
) -> Result<Reflected, CaseError> {
    if field.cardinality() == Cardinality::Repeated {
        return Err(fields.error(name, "is a list, which no case can set"));
    }
    match field.kind() {
        Kind::Bool => {
            let flag = value.as_bool().map(Reflected::Bool);
            flag.ok_or_else(|| fields.error(name, "must be true or false"))
        }
        Kind::Uint32 => {
            let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
            let wrong = || fields.error(name, "must be a whole number from 0 up");
            number.map(Reflected::U32).ok_or_else(wrong)
        }
        Kind::Enum(choices) => {
            let text = value.as_str().unwrap_or_default();
            let zero = choices.get_value(0).map(|value| value.name().to_owned());
            let zero = zero.unwrap_or_default();
            let prefix = zero.strip_suffix("UNSPECIFIED").unwrap_or_default();
            let words: Vec<(String, i32)> = choices
                .values()
                .filter(|choice| choice.number() != 0)
                .map(|choice| {
                    let word = crate::words::strip(choice.name(), prefix);
                    (word.to_owned(), choice.number())
                })
                .collect();
            let found = words.iter().find(|(word, _)| *word == spelled(text));
            let wrong = || {
                let words: Vec<String> =
                    words.iter().map(|(word, _)| word.to_lowercase()).collect();
                fields.error(name, format!("must be one of {}", words.join(", ")))
            };
            found
                .map(|(_, number)| Reflected::EnumNumber(*number))
                .ok_or_else(wrong)
        }
        Kind::Message(descriptor) => {
            let mut inner = DynamicMessage::new(descriptor);
            fill(&mut inner, &Fields::new(fields.path(name), value)?)?;
            Ok(Reflected::Message(inner))
        }
        other => Err(fields.error(name, format!("{other:?} cannot be set by a case"))),
    }
}

/// Returns a word of a case as the values of the contract end: `A.5` is `A5`.
fn spelled(word: &str) -> String {
    word.replace('.', "").to_uppercase()
}
