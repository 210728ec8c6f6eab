//! Messages of the contract as JSON, by its descriptors.

use std::sync::LazyLock;

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions};
use serde_json::Value;

fn descriptor(name: &str) -> MessageDescriptor {
    static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
        let pool = DescriptorPool::decode(referee_api::FILE_DESCRIPTOR_SET);
        pool.expect("the descriptors of the contract can be read")
    });
    let found = POOL.get_message_by_name(&format!("referee.v1.{name}"));
    found.unwrap_or_else(|| panic!("the contract has no {name}"))
}

/// Reads a message of `referee.v1` from JSON.
///
/// # Panics
///
/// Where the JSON is no such message.
#[must_use]
pub fn read<M: Message + Default>(name: &str, value: &Value) -> M {
    let message = DynamicMessage::deserialize(descriptor(name), value);
    let message = message.unwrap_or_else(|error| panic!("{value} is no {name}: {error}"));
    let decoded = M::decode(message.encode_to_vec().as_slice());
    decoded.expect("a message is read back as it was written")
}

/// Writes a message of `referee.v1` as JSON, with every field that always has a value.
///
/// # Panics
///
/// Where it is no such message.
pub fn write(name: &str, message: &impl Message) -> Value {
    let bytes = message.encode_to_vec();
    let message = DynamicMessage::decode(descriptor(name), bytes.as_slice());
    let message = message.unwrap_or_else(|error| panic!("it is no {name}: {error}"));
    let options = SerializeOptions::new().skip_default_fields(false);
    let written = message.serialize_with_options(serde_json::value::Serializer, &options);
    written.expect("every message can be written as JSON")
}

/// Returns where a value does not hold what is expected of it, and what stands there. What nobody
/// expects anything of may hold anything: fields are added.
#[must_use]
pub fn difference(expected: &Value, actual: &Value) -> Option<String> {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            expected.iter().find_map(|(key, expected)| {
                let actual = actual.get(key).unwrap_or(&Value::Null);
                let found = difference(expected, actual)?;
                Some(format!("{key}.{found}"))
            })
        }
        (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
            let mut pairs = expected.iter().zip(actual).enumerate();
            pairs.find_map(|(index, (expected, actual))| {
                let found = difference(expected, actual)?;
                Some(format!("{index}.{found}"))
            })
        }
        _ if expected == actual => None,
        _ => Some(format!(" is {actual}, but was to be {expected}")),
    }
}
