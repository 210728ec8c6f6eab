//! Messages that are ready to be sent: an event is stored in the form in which it is sent, so that
//! it is encoded once for all that watch it.

use std::marker::PhantomData;

use bytes::{BufMut, Bytes};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, EncodeBuf, Encoder};
use tonic_prost::{ProstCodec, ProstDecoder};

/// The bytes of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    head: Head,
    body: Bytes,
}

/// What comes before the body.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Head {
    /// Nothing: the body is the whole message.
    None,
    /// The body is this field of the message.
    Field(u32),
    /// These bytes, the last of which say which field the body is, and its length.
    Bytes(Bytes),
}

impl Frame {
    /// A whole message.
    pub(crate) fn message(message: &impl Message) -> Frame {
        Frame {
            head: Head::None,
            body: message.encode_to_vec().into(),
        }
    }

    /// A message with one field, which is the encoded message `body`.
    pub(crate) fn field(number: u32, body: Bytes) -> Frame {
        Frame {
            head: Head::Field(number),
            body,
        }
    }

    /// A message that has a message in one of its fields, which has the encoded message `body` in
    /// one of its own. Both are given without these fields, with their numbers; no other field of
    /// theirs comes after them.
    pub(crate) fn within(
        (outer, outer_field): (&impl Message, u32),
        (inner, inner_field): (&impl Message, u32),
        body: Bytes,
    ) -> Frame {
        let before_body = inner.encoded_len() + field_head_len(inner_field, body.len());
        let inner_len = before_body + body.len();
        let outer_len = outer.encoded_len() + field_head_len(outer_field, inner_len);
        let mut head = Vec::with_capacity(outer_len + before_body);
        head.extend(outer.encode_to_vec());
        write_field_head(outer_field, inner_len, &mut head);
        head.extend(inner.encode_to_vec());
        write_field_head(inner_field, body.len(), &mut head);
        Frame {
            head: Head::Bytes(head.into()),
            body,
        }
    }

    /// Reads the frame as the message that it is.
    ///
    /// # Errors
    ///
    /// Where it is another.
    pub(crate) fn decode<M: Message + Default>(&self) -> Result<M, prost::DecodeError> {
        let mut bytes = Vec::with_capacity(self.body.len() + 16);
        self.write(&mut bytes);
        M::decode(bytes.as_slice())
    }

    fn write(&self, buffer: &mut impl BufMut) {
        match &self.head {
            Head::None => {}
            Head::Field(number) => write_field_head(*number, self.body.len(), buffer),
            Head::Bytes(bytes) => buffer.put_slice(bytes),
        }
        buffer.put_slice(&self.body);
    }

    /// The size of the message in bytes.
    pub(super) fn len(&self) -> usize {
        let head = match &self.head {
            Head::None => 0,
            Head::Field(number) => field_head_len(*number, self.body.len()),
            Head::Bytes(bytes) => bytes.len(),
        };
        head + self.body.len()
    }
}

/// Writes what comes before the bytes of a field.
fn write_field_head(number: u32, len: usize, buffer: &mut impl BufMut) {
    encode_key(number, WireType::LengthDelimited, buffer);
    encode_varint(len as u64, buffer);
}

fn field_head_len(number: u32, len: usize) -> usize {
    let key = u64::from(number) << 3;
    encoded_len_varint(key) + encoded_len_varint(len as u64)
}

/// Writes frames, and reads messages.
#[derive(Debug)]
pub(crate) struct FrameCodec<D>(PhantomData<D>);

impl<D> Default for FrameCodec<D> {
    fn default() -> FrameCodec<D> {
        FrameCodec(PhantomData)
    }
}

impl<D: Message + Default + Send + 'static> Codec for FrameCodec<D> {
    type Encode = Frame;
    type Decode = D;
    type Encoder = FrameEncoder;
    type Decoder = ProstDecoder<D>;

    fn encoder(&mut self) -> FrameEncoder {
        FrameEncoder
    }

    fn decoder(&mut self) -> ProstDecoder<D> {
        ProstCodec::<D, D>::raw_decoder(BufferSettings::default())
    }
}

/// See [`FrameCodec`].
#[derive(Debug)]
pub(crate) struct FrameEncoder;

impl Encoder for FrameEncoder {
    type Item = Frame;
    type Error = Status;

    fn encode(&mut self, frame: Frame, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.reserve(frame.len());
        frame.write(buffer);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use referee_api::v1;

    use super::*;

    #[test]
    fn a_frame_of_a_stored_event_is_the_message_that_carries_it() {
        let event = v1::GameEvent {
            sequence: 300,
            fen: "x".repeat(300),
            ..v1::GameEvent::default()
        };
        let message = v1::WatchGameResponse {
            kind: Some(v1::watch_game_response::Kind::Event(event.clone())),
        };
        let frame = Frame::field(2, event.encode_to_vec().into());
        assert_eq!(frame.decode(), Ok(message.clone()));
        assert_eq!(frame.len(), message.encoded_len());
        assert_eq!(Frame::message(&message).decode(), Ok(message));
    }

    #[test]
    fn a_frame_of_an_event_of_some_game_is_the_message_that_carries_it() {
        for size in [0, 1, 100, 300, 20_000] {
            let event = v1::GameEvent {
                fen: "x".repeat(size),
                ..v1::GameEvent::default()
            };
            let inner = v1::WatchedEvent {
                name: "games/one".into(),
                labels: [("round".to_owned(), "1".to_owned())].into(),
                event: None,
            };
            let outer = v1::WatchGamesResponse {
                cursor: "17".into(),
                kind: None,
            };
            let frame = Frame::within((&outer, 3), (&inner, 3), event.encode_to_vec().into());
            let message = v1::WatchGamesResponse {
                kind: Some(v1::watch_games_response::Kind::Event(v1::WatchedEvent {
                    event: Some(event),
                    ..inner
                })),
                ..outer
            };
            assert_eq!(frame.decode(), Ok(message.clone()));
            assert_eq!(frame.len(), message.encoded_len());
        }
    }
}
