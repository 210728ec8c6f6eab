//! The processor time of another process, as Linux counts it.

use std::fs;
use std::time::Duration;

/// The ticks of a second in `/proc`: the same on every architecture that Linux runs on today.
const TICKS_PER_SECOND: u64 = 100;

/// Returns the processor time that a process has taken in all its threads, by itself and in the
/// kernel, in hundredths of a second.
pub(crate) fn time_of(process: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("the process is there");
    // The name of the program comes second, in parentheses, and may hold anything.
    let (_, fields) = stat.rsplit_once(')').expect("the name of the program");
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // Fields 14 and 15; those before the name are left out.
    let ticks = |index: usize| fields[index].parse::<u64>().expect("a number of ticks");
    let ticks = ticks(11) + ticks(12);
    Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND)
}
