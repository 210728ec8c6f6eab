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
    /// The number of the field that the body is of; none where the body is the whole message.
    field: Option<u32>,
    body: Bytes,
}

impl Frame {
    /// A whole message.
    pub(crate) fn message(message: &impl Message) -> Frame {
        Frame {
            field: None,
            body: message.encode_to_vec().into(),
        }
    }

    /// A message with one field, which is the encoded message `body`.
    pub(crate) fn field(number: u32, body: Bytes) -> Frame {
        Frame {
            field: Some(number),
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
        if let Some(number) = self.field {
            encode_key(number, WireType::LengthDelimited, buffer);
            encode_varint(self.body.len() as u64, buffer);
        }
        buffer.put_slice(&self.body);
    }

    fn len(&self) -> usize {
        let head = self.field.map_or(0, |number| {
            let key = u64::from(number) << 3;
            encoded_len_varint(key) + encoded_len_varint(self.body.len() as u64)
        });
        head + self.body.len()
    }
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
}
