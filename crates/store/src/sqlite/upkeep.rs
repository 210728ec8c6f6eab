//! Copying and verifying a store that is open: beside its readers, on a connection of each call,
//! since a long read must not take the place of short ones.

use std::path::PathBuf;
use std::sync::Arc;

use super::{SqliteStore, backup, fault, verify};
use crate::ack::{Ack, Read};
use crate::error::{Fault, ReadError};
use crate::upkeep::{BackUpError, BackedUp, Course, Upkeep, VerifyCursor, VerifyPage};

impl Upkeep for SqliteStore {
    fn back_up(&self, target: PathBuf, course: Arc<Course>) -> Ack<BackedUp, BackUpError> {
        if self.readers.is_closed() {
            return Box::pin(std::future::ready(Err(BackUpError::Closed)));
        }
        let readers = self.readers.clone();
        Box::pin(async move {
            let copying = tokio::task::spawn_blocking(move || {
                let mut connection = readers.open().map_err(|error| BackUpError::Io {
                    path: readers.path().to_owned(),
                    reason: error.to_string(),
                })?;
                backup::back_up(&mut connection, &target, &course)
            });
            copying.await.unwrap_or(Err(BackUpError::Stopped))
        })
    }

    fn verify<'a>(&'a self, from: &'a VerifyCursor, course: Arc<Course>) -> Read<'a, VerifyPage> {
        if self.readers.is_closed() {
            return Box::pin(std::future::ready(Err(Fault::Closed.into())));
        }
        let (readers, from) = (self.readers.clone(), from.clone());
        Box::pin(async move {
            let verifying = tokio::task::spawn_blocking(move || {
                let mut connection = readers.open()?;
                verify::page(&mut connection, &from, &course)
                    .map_err(|error| fault::of_read(&error))
            });
            match verifying.await {
                Ok(Ok(page)) => Ok(page),
                Ok(Err(fault)) => Err(fault.into()),
                Err(error) => Err(ReadError::Fault(Fault::Unavailable {
                    reason: error.to_string(),
                })),
            }
        })
    }
}
