//! What each caller and each platform may take, where they have to say who they are.

use std::fmt::Display;
use std::str::FromStr;

use clap::Args;
use referee_server::{Allowances, limits};

/// The part of the command line about allowances.
#[derive(Debug, Args)]
#[command(next_help_heading = "What callers may take, where they have to say who they are")]
pub(super) struct AllowanceArguments {
    /// Calls in a second of a player or a spectator.
    #[arg(
        long,
        value_name = "N",
        env = "REFEREE_GUEST_CALLS_PER_SECOND",
        default_value_t = limits::GUEST_CALLS_PER_SECOND_MAX,
        value_parser = read_count::<u64>
    )]
    guest_calls_per_second: u64,
    /// Open connections of a player or a spectator.
    #[arg(
        long,
        value_name = "N",
        env = "REFEREE_GUEST_CONNECTIONS",
        default_value_t = limits::GUEST_CONNECTIONS_MAX,
        value_parser = read_count::<usize>
    )]
    guest_connections: usize,
    /// Open streams of a player or a spectator.
    #[arg(
        long,
        value_name = "N",
        env = "REFEREE_GUEST_STREAMS",
        default_value_t = limits::GUEST_STREAMS_MAX,
        value_parser = read_count::<usize>
    )]
    guest_streams: usize,
    /// Calls in a second of another principal.
    #[arg(
        long,
        value_name = "N",
        env = "REFEREE_PRINCIPAL_CALLS_PER_SECOND",
        default_value_t = limits::PRINCIPAL_CALLS_PER_SECOND_MAX,
        value_parser = read_count::<u64>
    )]
    principal_calls_per_second: u64,
    /// Open connections of another principal.
    #[arg(
        long,
        value_name = "N",
        env = "REFEREE_PRINCIPAL_CONNECTIONS",
        default_value_t = limits::PRINCIPAL_CONNECTIONS_MAX,
        value_parser = read_count::<usize>
    )]
    principal_connections: usize,
    /// Open streams of another principal.
    #[arg(
        long,
        value_name = "N",
        env = "REFEREE_PRINCIPAL_STREAMS",
        default_value_t = limits::PRINCIPAL_STREAMS_MAX,
        value_parser = read_count::<usize>
    )]
    principal_streams: usize,
    /// Calls in a second of a platform, all its principals together.
    #[arg(
        long,
        value_name = "N",
        env = "REFEREE_PLATFORM_CALLS_PER_SECOND",
        default_value_t = limits::PLATFORM_CALLS_PER_SECOND_MAX,
        value_parser = read_count::<u64>
    )]
    platform_calls_per_second: u64,
    /// Open connections of a platform, all its principals together.
    #[arg(
        long,
        value_name = "N",
        env = "REFEREE_PLATFORM_CONNECTIONS",
        default_value_t = limits::PLATFORM_CONNECTIONS_MAX,
        value_parser = read_count::<usize>
    )]
    platform_connections: usize,
    /// Open streams of a platform, all its principals together.
    #[arg(
        long,
        value_name = "N",
        env = "REFEREE_PLATFORM_STREAMS",
        default_value_t = limits::PLATFORM_STREAMS_MAX,
        value_parser = read_count::<usize>
    )]
    platform_streams: usize,
}

impl AllowanceArguments {
    /// Returns the allowances; what has no option is as `docs/LIMITS.md` says.
    pub(super) fn read(&self) -> Allowances {
        let mut allowances = Allowances::default();
        allowances.guest.calls.per_second = self.guest_calls_per_second;
        allowances.guest.connections = self.guest_connections;
        allowances.guest.streams = self.guest_streams;
        allowances.principal.calls.per_second = self.principal_calls_per_second;
        allowances.principal.connections = self.principal_connections;
        allowances.principal.streams = self.principal_streams;
        allowances.platform.calls.per_second = self.platform_calls_per_second;
        allowances.platform.connections = self.platform_connections;
        allowances.platform.streams = self.platform_streams;
        allowances
    }
}

/// Takes a number from 1 to 1,000,000.
fn read_count<T>(text: &str) -> Result<T, String>
where
    T: FromStr + PartialOrd + From<u16>,
    T: TryFrom<u32>,
    T::Err: Display,
{
    let number: T = text.parse().map_err(|error: T::Err| error.to_string())?;
    let fits = number >= T::from(1) && T::try_from(1_000_000).is_ok_and(|max| number <= max);
    fits.then_some(number)
        .ok_or_else(|| "expected is a number from 1 to 1000000".to_owned())
}
