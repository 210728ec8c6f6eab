//! `referee perft --verify FILE`: checks the record of a job, without a server.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use referee_perft::Counter;
use referee_spill::{Room, SpillFolder};
use referee_verify::{Demand, PerftDemand, verify_perft};
use uuid::Uuid;

use super::arguments::PerftArguments;
use crate::commands::verify::read_key;
use crate::exit::{Exit, Failure, Outcome};
use crate::limits::{PERFT_SORT_BYTES_MAX, PERFT_SORT_LEFT_BYTES};
use crate::printable::standard_output;

/// The share of the positions that is counted again where nobody says.
const SHARE_DEFAULT: f64 = 0.01;

/// Where the plan is sorted.
const ROOM: Room = Room {
    bytes_max: PERFT_SORT_BYTES_MAX,
    left_free: PERFT_SORT_LEFT_BYTES,
};

/// Checks a record.
pub(super) fn run(arguments: &PerftArguments, file: &str, cancelled: &AtomicBool) -> Outcome {
    let public_key = arguments.public_key.as_deref().map(read_key).transpose()?;
    let counter = Counter::new(arguments.threads());
    let counter = counter.map_err(|error| Failure::Trouble(error.to_string()))?;
    let folder = SpillFolder::new(&std::env::temp_dir(), ROOM);
    let share = match arguments.all {
        true => 1.0,
        false => arguments.sample.unwrap_or(SHARE_DEFAULT),
    };
    let seed = arguments
        .seed
        .unwrap_or_else(|| Uuid::new_v4().as_u64_pair().0);
    let demand = PerftDemand {
        demand: Demand {
            signature: arguments.require_signature,
            public_key,
        },
        share,
        seed,
        folder: &folder,
        counter: &counter,
        cancelled,
    };
    let report = if file == "-" {
        verify_perft(file, io::stdin().lock(), &demand)
    } else {
        let open = File::open(file);
        let open = open.map_err(|error| Failure::Trouble(format!("{file}: {error}")))?;
        verify_perft(file, open, &demand)
    };
    let mut out = standard_output(arguments.json);
    let written = match arguments.json {
        true => writeln!(out, "{}", report.to_json()),
        false => writeln!(out, "{report}"),
    };
    written
        .and_then(|()| out.flush())
        .map_err(Failure::Output)?;
    if cancelled.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted(
            "stopped before all was checked".to_owned(),
        ));
    }
    Ok(match report {
        report if !report.is_record => Exit::Trouble,
        report if !report.is_sound() => Exit::Found,
        _ => Exit::Fine,
    })
}
