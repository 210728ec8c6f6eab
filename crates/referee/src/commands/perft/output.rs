//! What `referee perft` writes to standard output: lines for people, or one JSON object.
//!
//! Counts are JSON numbers up to 64 bits, which may exceed what a double can hold, and text above.

use std::io::{self, Write};
use std::time::Duration;

use referee_chess::Position;
use referee_perft::{Statistics, Table, TableUse, Total};
use serde_json::{Map, Value, json};

/// The result of a count.
pub(super) struct Count<'a> {
    pub(super) position: &'a Position,
    pub(super) depth: u32,
    pub(super) total: &'a Total,
    pub(super) used: TableUse,
    pub(super) divide: bool,
    pub(super) hash_mib: Option<usize>,
    pub(super) elapsed: Duration,
    /// Whether all was counted in that time, nothing by an earlier process.
    pub(super) is_whole: bool,
}

/// A count as JSON: a number up to 64 bits, text beyond, where few programs read numbers.
fn number(count: u128) -> Value {
    u64::try_from(count).map_or_else(|_| Value::from(count.to_string()), Value::from)
}

fn speed(nodes: u128, elapsed: Duration) -> f64 {
    nodes as f64 / elapsed.as_secs_f64().max(1e-9)
}

impl Count<'_> {
    /// Writes the result.
    pub(super) fn print(&self, as_json: bool) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if as_json {
            writeln!(out, "{}", self.json())?;
        } else {
            self.print_lines(&mut out)?;
        }
        out.flush()
    }

    fn print_lines(&self, out: &mut impl Write) -> io::Result<()> {
        if self.divide {
            for (name, nodes) in self.moves() {
                writeln!(out, "{name}: {nodes}")?;
            }
            writeln!(out)?;
        }
        let nodes = self.total.nodes;
        writeln!(out, "nodes: {nodes}")?;
        let Total {
            positions, paths, ..
        } = self.total;
        writeln!(out, "positions: {positions} stand for {paths} paths")?;
        let seconds = self.elapsed.as_secs_f64();
        if self.is_whole {
            writeln!(
                out,
                "time: {seconds:.3} s, {:.0} nodes/s",
                speed(nodes, self.elapsed)
            )?;
        } else {
            writeln!(out, "time: {seconds:.3} s since it went on")?;
        }
        if let Some(mib) = self.hash_mib {
            let used = self.used;
            writeln!(
                out,
                "hash: {mib} MiB, {} probes, {} hits; the total is wrong with a chance below \
                 {:.1e}",
                used.probes,
                used.hits,
                Table::error_bound(used)
            )?;
        }
        Ok(())
    }

    fn moves(&self) -> impl Iterator<Item = (String, u128)> + '_ {
        let name = |mv| self.position.uci(mv).to_string();
        self.total
            .divide
            .iter()
            .map(move |&(mv, nodes)| (name(mv), nodes))
    }

    fn json(&self) -> Value {
        let mut object = head(self.position, self.depth, self.total.nodes, self.elapsed);
        if !self.is_whole {
            object.remove("nodes_per_second");
        }
        object.insert("positions".to_owned(), Value::from(self.total.positions));
        object.insert("paths".to_owned(), number(self.total.paths));
        if self.divide {
            let moves: Map<String, Value> = self
                .moves()
                .map(|(name, nodes)| (name, number(nodes)))
                .collect();
            object.insert("divide".to_owned(), Value::Object(moves));
        }
        if let Some(mib) = self.hash_mib {
            let used = self.used;
            object.insert(
                "hash".to_owned(),
                json!({
                    "mib": mib,
                    "probes": used.probes,
                    "hits": used.hits,
                    "error_bound": Table::error_bound(used),
                }),
            );
        }
        Value::Object(object)
    }
}

fn head(position: &Position, depth: u32, nodes: u128, elapsed: Duration) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("fen".to_owned(), Value::from(position.to_string()));
    object.insert("depth".to_owned(), Value::from(depth));
    object.insert("nodes".to_owned(), number(nodes));
    object.insert("seconds".to_owned(), Value::from(elapsed.as_secs_f64()));
    object.insert(
        "nodes_per_second".to_owned(),
        Value::from(speed(nodes, elapsed)),
    );
    object
}

/// Writes what the moves of the last ply are.
pub(super) fn statistics(
    as_json: bool,
    position: &Position,
    depth: u32,
    found: &Statistics,
    elapsed: Duration,
) -> io::Result<()> {
    let columns = [
        ("captures", found.captures),
        ("en_passants", found.en_passants),
        ("castles", found.castles),
        ("promotions", found.promotions),
        ("checks", found.checks),
        ("checks_without_mates", found.checks_without_mates()),
        ("discovered_checks", found.discovered_checks),
        ("double_checks", found.double_checks),
        ("double_discovered_checks", found.double_discovered_checks),
        ("checkmates", found.checkmates),
        ("discovered_checkmates", found.discovered_checkmates),
        ("double_checkmates", found.double_checkmates),
        ("stalemates", found.stalemates),
    ];
    let mut out = io::stdout().lock();
    if as_json {
        let mut object = head(position, depth, found.nodes, elapsed);
        for (name, count) in columns {
            object.insert(name.to_owned(), number(count));
        }
        writeln!(out, "{}", Value::Object(object))?;
        return out.flush();
    }
    writeln!(out, "nodes: {}", found.nodes)?;
    for (name, count) in columns {
        writeln!(out, "{}: {count}", name.replace('_', " "))?;
    }
    writeln!(out, "time: {:.3} s", elapsed.as_secs_f64())?;
    out.flush()
}
