//! Reads the descriptor set of the contract: methods, and comments by name.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet,
    MethodDescriptorProto,
};

/// The numbers that `google.protobuf.FileDescriptorProto` and its parts give to
/// their lists, as paths of comments use them.
const MESSAGES: i32 = 4;
const ENUMS: i32 = 5;
const FIELDS: i32 = 2;
const VALUES: i32 = 2;

/// The files of our own packages.
pub(crate) struct Contract {
    files: Vec<FileDescriptorProto>,
}

impl Contract {
    /// Reads the descriptor set that the crate carries.
    pub(crate) fn read() -> Self {
        let set = FileDescriptorSet::decode(referee_api::FILE_DESCRIPTOR_SET)
            .expect("the build script wrote a descriptor set");
        let ours = |file: &FileDescriptorProto| file.package().starts_with("referee.");
        Self {
            files: set.file.into_iter().filter(ours).collect(),
        }
    }

    /// Every method under its full name, `package.Service/Method`.
    pub(crate) fn methods(&self) -> BTreeMap<String, &MethodDescriptorProto> {
        let mut methods = BTreeMap::new();
        for file in &self.files {
            for service in &file.service {
                for method in &service.method {
                    let name = format!("{}.{}/{}", file.package(), service.name(), method.name());
                    methods.insert(name, method);
                }
            }
        }
        methods
    }

    /// The comments of the values of an enum at the top of a file, by the name of the value.
    pub(crate) fn enum_comments(&self, name: &str) -> BTreeMap<String, String> {
        for file in &self.files {
            for (index, found) in file.enum_type.iter().enumerate() {
                if found.name() == name {
                    let values = found.value.iter().enumerate();
                    return values
                        .map(|(value, descriptor)| {
                            let path = [ENUMS, number(index), VALUES, number(value)];
                            (descriptor.name().to_owned(), comment(file, &path))
                        })
                        .collect();
                }
            }
        }
        panic!("there is no enum {name}");
    }

    /// The fields that a caller can fill with as much as it likes and that state no limit: every
    /// text and every list in a request, or in a message that a request contains.
    pub(crate) fn unbounded_request_fields(&self) -> Vec<String> {
        let mut unbounded = Vec::new();
        let methods = self.methods();
        let mut open: Vec<String> = methods
            .values()
            .map(|method| method.input_type().to_owned())
            .collect();
        let mut seen: BTreeSet<String> = open.iter().cloned().collect();
        while let Some(name) = open.pop() {
            let Some((file, index, message)) = self.message(&name) else {
                assert!(name.starts_with(".google.protobuf."), "{name} is unknown");
                continue;
            };
            for (position, field) in message.field.iter().enumerate() {
                let path = [MESSAGES, number(index), FIELDS, number(position)];
                let comment = comment(file, &path);
                if comment.starts_with("Output only.") {
                    continue;
                }
                if varies(field) && !comment.contains("Limit: ") {
                    unbounded.push(format!("{name}.{}", field.name()));
                }
                let contained = field.type_name().to_owned();
                if field.r#type() == Type::Message
                    && !is_map(message, field)
                    && seen.insert(contained.clone())
                {
                    open.push(contained);
                }
            }
        }
        unbounded
    }

    /// A message at the top of a file by its full name, with its file and its place there.
    fn message(&self, name: &str) -> Option<(&FileDescriptorProto, usize, &DescriptorProto)> {
        for file in &self.files {
            let Some(short) = name.strip_prefix(&format!(".{}.", file.package())) else {
                continue;
            };
            let place = file
                .message_type
                .iter()
                .position(|message| message.name() == short);
            if let Some(place) = place {
                return Some((file, place, &file.message_type[place]));
            }
        }
        None
    }
}

/// Whether the size of a field is up to the caller.
fn varies(field: &FieldDescriptorProto) -> bool {
    field.label() == Label::Repeated || matches!(field.r#type(), Type::String | Type::Bytes)
}

/// Whether a field is a map, whose entries are a message that nobody wrote.
fn is_map(message: &DescriptorProto, field: &FieldDescriptorProto) -> bool {
    message.nested_type.iter().any(|nested| {
        nested
            .options
            .as_ref()
            .is_some_and(|options| options.map_entry())
            && field
                .type_name()
                .ends_with(&format!(".{}.{}", message.name(), nested.name()))
    })
}

/// The comment that stands before a part of a file, on one line.
fn comment(file: &FileDescriptorProto, path: &[i32]) -> String {
    let info = file
        .source_code_info
        .as_ref()
        .expect("the build script keeps comments");
    let location = info.location.iter().find(|location| location.path == path);
    let text = location
        .map(|location| location.leading_comments())
        .unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An index as a path has it.
fn number(index: usize) -> i32 {
    i32::try_from(index).expect("a file has few parts")
}
