//! What the system says about the process, under the names that every dashboard knows. Where the
//! system has no `/proc`, these metrics are missing.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

pub(super) fn register(registry: &mut Registry) {
    registry.register_collector(Box::new(Process));
}

#[derive(Debug)]
struct Process;

/// What was read of a process.
#[derive(Debug, Default, PartialEq)]
struct Stat {
    /// Seconds on processors, by itself and in the kernel.
    cpu_s: f64,
    /// When it began, in seconds since the start of the machine.
    start_s: f64,
    threads: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(stat) = read_stat() else {
            return Ok(());
        };
        let mut gauge = |name: &str, help: &str, value: f64| {
            let gauge = ConstGauge::new(value);
            let kind = gauge.metric_type();
            gauge.encode(encoder.encode_descriptor(name, help, None, kind)?)
        };
        gauge(
            "process_resident_memory_bytes",
            "Memory of the process that is in the memory of the machine",
            (stat.resident_pages * page_size() as u64) as f64,
        )?;
        gauge(
            "process_virtual_memory_bytes",
            "Memory of the process",
            stat.virtual_bytes as f64,
        )?;
        gauge(
            "process_threads",
            "Threads of the process",
            stat.threads as f64,
        )?;
        if let Some(open) = count_descriptors() {
            gauge(
                "process_open_fds",
                "Open descriptors of the process",
                open as f64,
            )?;
        }
        if let Some(max) = getrlimit(Resource::Nofile).current {
            gauge(
                "process_max_fds",
                "The most descriptors of the process",
                max as f64,
            )?;
        }
        if let Some(boot_s) = read_boot_time() {
            gauge(
                "process_start_time_seconds",
                "When the process began, in seconds since 1970",
                boot_s + stat.start_s,
            )?;
        }
        let cpu = ConstCounter::new(stat.cpu_s);
        let (name, help) = (
            "process_cpu_seconds",
            "Time of the process on processors, by itself and in the kernel",
        );
        cpu.encode(encoder.encode_descriptor(name, help, None, cpu.metric_type())?)
    }
}

fn read_stat() -> Option<Stat> {
    parse_stat(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// Reads a line of `/proc/PID/stat`. The name of the program comes second, in parentheses, and may
/// hold anything.
fn parse_stat(line: &str) -> Option<Stat> {
    let (_, rest) = line.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let ticks = clock_ticks_per_second() as f64;
    Some(Stat {
        cpu_s: (number(11)? + number(12)?) as f64 / ticks,
        threads: number(17)?,
        start_s: number(19)? as f64 / ticks,
        virtual_bytes: number(20)?,
        resident_pages: number(21)?,
    })
}

fn count_descriptors() -> Option<usize> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count())
}

/// When the machine began, in seconds since 1970.
fn read_boot_time() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let line = "7 (a b) c) S 1 7 7 0 -1 0 0 0 0 0 150 50 0 0 20 0 9 0 1200 4096 33 0";
        let stat = parse_stat(line).expect("it is read");
        let ticks = clock_ticks_per_second() as f64;
        assert_eq!(stat.cpu_s, 200.0 / ticks);
        assert_eq!(stat.start_s, 1_200.0 / ticks);
        let rest = (stat.threads, stat.virtual_bytes, stat.resident_pages);
        assert_eq!(rest, (9, 4096, 33));
        assert_eq!(parse_stat("7 (a) S 1"), None);
    }
}
