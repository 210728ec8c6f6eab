//! A worker as its caller sees it.

use std::sync::{Arc, OnceLock};

use referee_api::worker::v1::OpenSessionRequest;
use referee_api::worker::v1::worker_service_client::WorkerServiceClient;
use referee_perft::{Counter, GENERATOR, Table};
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::client::Identity;
use crate::counting::{self, Engine, Shared};
use crate::error::WorkerError;
use crate::limits::NICE;
use crate::session::Session;

/// How a worker works.
#[derive(Clone, Debug, Default)]
pub struct WorkerOptions {
    /// Its name for people: printable ASCII without blanks, at most 128 bytes.
    pub worker_id: String,
    /// The version of its program, for people.
    pub version: String,
    /// How many threads count; 0 for one on each core.
    pub threads: usize,
    /// The size of its hash table in MiB, if it has one.
    pub hash_mib: Option<usize>,
    /// What the keys of that are drawn from.
    pub key_set: u64,
    /// Whether its threads give way to everything else on the machine.
    pub gives_way: bool,
}

/// Threads and a table that count for a server.
pub struct Worker {
    engine: Engine,
    hello: OpenSessionRequest,
}

impl Worker {
    /// Starts the threads, and makes the table.
    ///
    /// # Errors
    ///
    /// Where the machine does not give them, or they are above their limits.
    pub fn new(options: WorkerOptions) -> Result<Worker, WorkerError> {
        let counter = Counter::new(options.threads).map_err(WorkerError::Threads)?;
        if options.gives_way {
            counter.on_each_thread(|| {
                // What the system does not allow is not needed to count.
                let _ = rustix::process::setpriority_process(None, NICE);
            });
        }
        let table = match options.hash_mib {
            Some(mib) => Some(Table::new(mib, options.key_set).map_err(WorkerError::Table)?),
            None => None,
        };
        let hello = OpenSessionRequest {
            worker_id: options.worker_id,
            threads: u32::try_from(counter.threads()).unwrap_or(u32::MAX),
            hash_mib: table.as_ref().map_or(0, Table::mib) as u64,
            generator: GENERATOR.to_owned(),
            version: options.version,
            key_set: options.key_set,
        };
        Ok(Worker {
            engine: Engine {
                counter,
                table,
                other_table: OnceLock::new(),
                key_set: options.key_set,
            },
            hello,
        })
    }

    /// Works for a server until `stop` is cancelled. Then what is whole is reported, the rest is
    /// given back, and it ends within two seconds, also where the server does not answer.
    ///
    /// A server that cannot be reached is tried again without end.
    ///
    /// # Errors
    ///
    /// Where the server does not take this worker when it first asks.
    pub async fn run(
        self,
        channel: Channel,
        identity: Identity,
        stop: CancellationToken,
    ) -> Result<(), WorkerError> {
        let Worker { engine, hello } = self;
        let shared = Arc::new(Shared::default());
        let counting = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("counting".into());
        let _ends_by_itself = thread
            .spawn(move || counting::run(&engine, &counting))
            .map_err(WorkerError::Thread)?;
        let client = WorkerServiceClient::with_interceptor(channel, identity);
        let session = Session::new(client, Arc::clone(&shared), hello);
        // Dropped in the middle, it leaves no thread at work.
        let _stops = Stops(Arc::clone(&shared));
        session.run(stop).await
    }
}

/// Lets the thread that counts end.
struct Stops(Arc<Shared>);

impl Drop for Stops {
    fn drop(&mut self) {
        self.0.hand().stop();
        self.0.note();
    }
}
