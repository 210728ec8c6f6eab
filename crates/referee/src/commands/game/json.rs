//! Messages of the contract as JSON, by the mapping of Protocol Buffers, as grpcurl writes and
//! reads them.

use std::sync::OnceLock;

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, ReflectMessage as _};

/// Returns the description of a message of the contract.
pub(super) fn descriptor(name: &str) -> MessageDescriptor {
    static POOL: OnceLock<DescriptorPool> = OnceLock::new();
    let pool = POOL.get_or_init(|| {
        let pool = DescriptorPool::decode(referee_api::FILE_DESCRIPTOR_SET);
        pool.expect("the contract is compiled into the program")
    });
    let message = pool.get_message_by_name(&format!("referee.v1.{name}"));
    message.expect("the name stands in the sources, and a test writes every message")
}

/// Writes a message on one line, with a line feed.
pub(super) fn write(message: &impl Message, name: &str) -> String {
    let read = DynamicMessage::decode(descriptor(name), message.encode_to_vec().as_slice());
    let read = read.expect("what was encoded can be decoded");
    let mut text = serde_json::to_string(&read).expect("every message has a form in JSON");
    text.push('\n');
    text
}

/// Reads a message; fields that it does not know are refused.
pub(super) fn read<M: Message + Default>(text: &str, name: &str) -> Result<M, String> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = DynamicMessage::deserialize(descriptor(name), &mut json);
    let read = read.and_then(|message| json.end().map(|()| message));
    let read = read.map_err(|error| {
        let full = descriptor(name);
        format!("this is no {} in JSON: {error}", full.full_name())
    })?;
    debug_assert_eq!(read.descriptor().name(), name);
    let message = read.transcode_to();
    message.map_err(|error| format!("this is no {name}: {error}"))
}
