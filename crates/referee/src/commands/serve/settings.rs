//! What the settings of the service say, before a port is bound.

use std::path::{Path, PathBuf};

use referee_record::RecordKey;
use referee_server::files::read_secret;
use referee_server::limits::KEY_FILE_BYTES_MAX;

/// Takes an address with a port; a name is looked up when it is bound.
pub(super) fn read_listen(text: &str) -> Result<String, String> {
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    let is_host = !host.is_empty() && (!host.contains(':') || host.starts_with('['));
    if is_host && port.parse::<u16>().is_ok() {
        Ok(text.to_owned())
    } else {
        Err("expected is HOST:PORT, such as 127.0.0.1:50051, localhost:50051 or [::1]:50051".into())
    }
}

/// Takes a folder that is there, by its full name: what it means must not change later.
pub(super) fn read_folder(text: &str) -> Result<PathBuf, String> {
    let folder = Path::new(text).canonicalize();
    let folder = folder.map_err(|error| error.to_string())?;
    if folder.is_dir() {
        Ok(folder)
    } else {
        Err("it is no folder".into())
    }
}

/// Refuses a store that this program has no engine for, before anything is opened.
pub(super) fn check_store(path: &Path) -> Result<(), &'static str> {
    let is_postgres = ["postgres:", "postgresql:"]
        .iter()
        .any(|scheme| path.to_string_lossy().starts_with(scheme));
    if is_postgres {
        return Err(
            "--store (REFEREE_STORE): names a PostgreSQL database, which this version cannot use; \
             name a file",
        );
    }
    Ok(())
}

/// Reads the key that signs records, before a port is bound.
pub(super) fn read_key(path: &Path) -> Result<RecordKey, String> {
    let fault = |text: String| format!("--signing-key (REFEREE_SIGNING_KEY): {text}");
    let name = path.display();
    let text = read_secret(path, KEY_FILE_BYTES_MAX);
    let text = text.map_err(|error| fault(format!("{name}: {error}")))?;
    RecordKey::read(&text).map_err(|error| fault(format!("{name}: {error}")))
}
