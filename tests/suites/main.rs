//! What the service promises, tested from outside. Each suite is a module and runs alone by its
//! name: `cargo test -p referee-tests masters::`. `service`, `playing`, `watching` and
//! `timekeeping` run twice, as `binary` against the real program and as `pair` against two servers
//! over one store with calls that alternate.
//!
//! | suite | holds |
//! |---|---|
//! | `articles` | the page on the Laws, against citations, functions and cases |
//! | `rooms` | the directions between the crates, and their licences |
//! | `tidy` | what is true of every source file |
//! | `hostile` | one client that does its worst, beside one that is answered |
//! | `identity` | roles, seats, platforms that are apart, credentials that are good no more |
//! | `interop` | backends in Python and Node through a crash; what Go, Java and C# generate |
//! | `jobs` | perft jobs: exact totals whatever is reported, limits, small counts |
//! | `fleet` | workers as processes: exact whatever dies, idle after a cancel, moves beside a job |
//! | `trust` | who lies about a count is named, and a record of counts shows what was changed |
//! | `limits` | every limit that the contract states |
//! | `masters` | well-known games through the running binary, ply by ply |
//! | `crash` | acknowledged answers after `kill -9` |
//! | `baseline` | what breaks the contract is caught |
//! | `bad_input` | the status and details of what cannot be judged |
//! | `bounds` | every limit of a request, at the limit and one above |
//! | `ranges` | fields out of range, and pages |
//! | `evidence` | why a move is illegal and what an end rests on |
//! | `all_games` | nothing lost, doubled or out of order on the stream of all games |
//! | `corrections` | what is final, and corrections before that |
//! | `forgetting` | updates and deletions: what they erase is nowhere any more, and all are told |
//! | `watching` | nothing lost, doubled or out of order on a stream |
//! | `mating` | who can still mate: the command, the question, and what it does to games |
//! | `imports` | reports about imports: clocks, results and what is left out |
//! | `old_games` | stores of before, read as they were |
//! | `people` | the client for people, and the commands of the README as they are typed |
//! | `pages` | the pages on actions, clocks and errors, against what the binary does |
//! | `pgn_games` | games in Portable Game Notation: in, out, and verified over a stream |
//! | `pgn_records` | what a record says survives import and export, and nothing is added |
//! | `playing` | a seat over one stream, and its protocol |
//! | `profiles` | rule profiles: listed with their sources, changed for a game, kept with it |
//! | `questions` | histories that went on after a draw |
//! | `store_truth` | files that are taken away, replaced, cut, written to or damaged |
//! | `telemetry` | metrics, probes, logs, traces, and how a service and its connections end |
//! | `timekeeping` | flags, bonuses, pauses and down time, to the millisecond |
//! | `tls` | encrypted connections, certificates that are replaced, and the commands that ask so |
//! | `two_servers` | two servers on one store: what one writes, and a disk that is slow or fails |
//! | `store_care` | copies of stores and their verification, beside games and by themselves |
//! | `discovery` | reflection in both versions |
//! | `conformance` | every conformance case, played by `referee conform` |
//! | `sequences` | the reports whose steps are words, as calls of the service |
//! | `verify` | exported records: sound, tampered with, and no records at all |
//! | `service` | repetition of requests, watching, playing, the Laws through the wire |
//! | `grpcurl` | the commands of the README, with the real program

mod all_games;
mod articles;
mod bad_input;
mod baseline;
mod bounds;
mod conformance;
mod corrections;
mod crash;
mod discovery;
mod evidence;
mod fleet;
mod forgetting;
mod grpcurl;
mod hostile;
mod identity;
mod imports;
mod interop;
mod jobs;
mod limits;
mod masters;
mod mating;
mod old_games;
mod pages;
mod people;
mod pgn_games;
mod pgn_records;
mod playing;
mod profiles;
mod questions;
mod ranges;
mod request_ids;
mod required;
mod rooms;
mod sequences;
mod service;
mod store_care;
mod store_truth;
mod telemetry;
mod tidy;
mod timekeeping;
mod tls;
mod trust;
mod two_servers;
mod verify;
mod watching;
