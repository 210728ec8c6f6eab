//! Messages as bytes, neither read nor written on the way.

use bytes::{Buf, BufMut, Bytes};
use http::uri::PathAndQuery;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Channel;
use tonic::{Request, Status, Streaming};

/// Takes messages as they are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put(message);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

/// Opens a stream.
pub(crate) async fn stream(
    channel: &Channel,
    path: &'static str,
    message: Bytes,
) -> Streaming<Bytes> {
    let mut client = Grpc::new(channel.clone());
    client.ready().await.expect("the connection is there");
    let path = PathAndQuery::from_static(path);
    let opened = client.server_streaming(Request::new(message), path, Raw);
    opened.await.expect("the stream is opened").into_inner()
}

/// Calls a method that gives one answer.
pub(crate) async fn call(channel: &Channel, path: &'static str, message: Bytes) -> Bytes {
    let mut client = Grpc::new(channel.clone());
    client.ready().await.expect("the connection is there");
    let path = PathAndQuery::from_static(path);
    let called = client.unary(Request::new(message), path, Raw);
    called.await.expect("the call is answered").into_inner()
}
