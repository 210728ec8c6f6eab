//! What a stranger can find out: the services by reflection, in both of its versions, and the types
//! of the details of errors.

use prost::Message;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use referee_tests::process::Referee;
use tonic_reflection::pb::{v1, v1alpha};

/// What clients ask for: a symbol of ours, one of another service, one that details are made of.
const SYMBOLS: [&str; 5] = [
    "referee.v1.GameService",
    "referee.v1.RulesService.ValidateMove",
    "referee.v1.ErrorReason",
    "grpc.health.v1.Health",
    "google.rpc.ErrorInfo",
];

/// How many of them are of the contract.
const OWN_SYMBOLS: usize = 3;

const SERVICES: [&str; 7] = [
    "grpc.health.v1.Health",
    "referee.v1.GameService",
    "referee.v1.PerftService",
    "referee.v1.RulesService",
    "referee.v1.StoreService",
    "referee.v1.TokenService",
    "referee.worker.v1.WorkerService",
];

/// Asks one version of reflection; the two have the same messages under different names.
macro_rules! reflect {
    ($version:ident, $channel:expr) => {{
        use $version::server_reflection_client::ServerReflectionClient;
        use $version::server_reflection_request::MessageRequest;
        use $version::server_reflection_response::MessageResponse;
        let mut client = ServerReflectionClient::new($channel);
        let ask = |message| $version::ServerReflectionRequest {
            host: String::new(),
            message_request: Some(message),
        };
        let symbols = SYMBOLS.map(|name| ask(MessageRequest::FileContainingSymbol(name.into())));
        let mut questions = vec![ask(MessageRequest::ListServices(String::new()))];
        questions.extend(symbols);
        questions.push(ask(MessageRequest::FileContainingSymbol(
            "referee.v1.Nothing".into(),
        )));
        let answers = client
            .server_reflection_info(tokio_stream::iter(questions))
            .await;
        let mut answers = answers.expect("reflection answers").into_inner();
        let mut services = Vec::new();
        let mut files = Vec::new();
        // The service that comes with tonic ends the stream at a symbol that it does not know.
        let end = loop {
            let answer = match answers.message().await {
                Ok(answer) => answer.expect("the last symbol is unknown"),
                Err(status) => break status.code(),
            };
            match answer.message_response {
                Some(MessageResponse::ListServicesResponse(list)) => {
                    services.extend(list.service.into_iter().map(|service| service.name));
                }
                Some(MessageResponse::FileDescriptorResponse(found)) => {
                    files.extend(found.file_descriptor_proto);
                }
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(end, tonic::Code::NotFound);
        (services, files)
    }};
}

fn check(services: &[String], files: &[impl AsRef<[u8]>]) {
    for name in SERVICES {
        assert!(
            services.iter().any(|service| service == name),
            "{name} is not in {services:?}"
        );
    }
    assert_eq!(files.len(), SYMBOLS.len(), "each symbol has its file");
    let set = FileDescriptorSet::decode(referee_api::FILE_DESCRIPTOR_SET).expect("built");
    let mut compared = 0;
    for file in files {
        let told = FileDescriptorProto::decode(file.as_ref()).expect("a file is described");
        if let Some(ours) = set.file.iter().find(|ours| ours.name() == told.name()) {
            assert_eq!(ours.message_type, told.message_type, "{}", told.name());
            assert_eq!(ours.service, told.service, "{}", told.name());
            compared += 1;
        }
    }
    assert!(compared >= OWN_SYMBOLS, "{compared} files are ours");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reflection_is_answered_in_both_versions() {
    let referee = Referee::start();
    let (services, files) = reflect!(v1, referee.connect().await);
    check(&services, &files);
    let (services, files) = reflect!(v1alpha, referee.connect().await);
    check(&services, &files);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_services_and_methods_are_unimplemented() {
    let referee = Referee::start();
    let channel = referee.connect().await;
    for path in [
        "/referee.v1.GameService/Nothing",
        "/referee.v9.GameService/GetGame",
        "/x",
    ] {
        let body = referee_tests::wire::frame(0, b"");
        let status = referee_tests::wire::send(&channel, path, body)
            .await
            .expect_err(path);
        assert_eq!(
            status.code(),
            tonic::Code::Unimplemented,
            "{path}: {status:?}"
        );
    }
}
