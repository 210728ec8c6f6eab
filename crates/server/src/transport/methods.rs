//! Every method that is served, from the descriptors of the contract and of what stands beside it.

use prost::Message as _;
use prost_types::{FileDescriptorSet, MethodDescriptorProto};
use referee_telemetry::{Kind, Method};

/// The descriptors of all services.
const DESCRIPTORS: [&[u8]; 4] = [
    referee_api::FILE_DESCRIPTOR_SET,
    tonic_health::pb::FILE_DESCRIPTOR_SET,
    tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
    tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
];

/// Returns every method that is served.
pub(crate) fn methods() -> Vec<Method> {
    let mut methods = Vec::new();
    for bytes in DESCRIPTORS {
        // They come from the build; a test reads them.
        let set = FileDescriptorSet::decode(bytes).unwrap_or_default();
        for file in &set.file {
            for service in &file.service {
                let name = format!("{}.{}", file.package(), service.name());
                methods.extend(service.method.iter().map(|method| Method {
                    service: name.clone(),
                    name: method.name().to_owned(),
                    kind: kind(method),
                }));
            }
        }
    }
    methods
}

fn kind(method: &MethodDescriptorProto) -> Kind {
    match (method.client_streaming(), method.server_streaming()) {
        (false, false) => Kind::Unary,
        (true, false) => Kind::ClientStream,
        (false, true) => Kind::ServerStream,
        (true, true) => Kind::BidiStream,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_services_are_there() {
        let methods = methods();
        for (service, name, kind) in [
            ("referee.v1.GameService", "SubmitAction", Kind::Unary),
            ("referee.v1.GameService", "WatchGame", Kind::ServerStream),
            ("referee.v1.GameService", "PlayGame", Kind::BidiStream),
            ("grpc.health.v1.Health", "Watch", Kind::ServerStream),
            (
                "grpc.reflection.v1.ServerReflection",
                "ServerReflectionInfo",
                Kind::BidiStream,
            ),
            (
                "grpc.reflection.v1alpha.ServerReflection",
                "ServerReflectionInfo",
                Kind::BidiStream,
            ),
        ] {
            let found = methods
                .iter()
                .find(|it| it.service == service && it.name == name);
            assert_eq!(found.map(|it| it.kind), Some(kind), "{service}/{name}");
        }
    }
}
