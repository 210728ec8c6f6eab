// A small backend of a platform: has games refereed and follows them, whatever becomes of the
// server. What became of each game is printed as a line of JSON.
//     node backend.js ADDRESS GAMES [PLATFORM]
// GAMES has a game a line: {"id": ..., "game": {...}, "actions": [{"seat": ..., ...}, ...]}, with a
// `Game` and `Action`s of the contract as JSON. The label `platform` tells them from others.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const PROTOS = fileURLToPath(new URL("../../../proto/", import.meta.url));
const FILES = ["referee/v1/game_service.proto", "google/rpc/error_details.proto"];
const AT_ONCE = 8; // games that are played at the same time
const ATTEMPTS = 40; // at one call, which takes more than a minute
const COME_AGAIN = ["UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"];

const messages = loader.loadSync(FILES, {
  includeDirs: [PROTOS], enums: String, longs: Number, defaults: true, oneofs: true,
});
const { GameService } = grpc.loadPackageDefinition(messages).referee.v1;

// Decodes an error of the referee: the reason, its metadata, and the fields at fault.
function decode(error) {
  const read = (name, bytes) => messages[`google.rpc.${name}`].deserialize(bytes);
  const found = { code: grpc.status[error.code], reason: "", metadata: {}, fields: [] };
  const [status] = error.metadata.get("grpc-status-details-bin");
  for (const { type_url: type, value } of status ? read("Status", status).details : []) {
    if (type.endsWith("/google.rpc.ErrorInfo")) {
      ({ reason: found.reason, metadata: found.metadata } = read("ErrorInfo", value));
    } else if (type.endsWith("/google.rpc.BadRequest")) {
      found.fields = read("BadRequest", value).fieldViolations.map(({ field }) => field);
    }
  }
  return Object.assign(new Error(error.details), found);
}

// Waits before a call is repeated; throws where a repetition would fail as well.
async function waitToRetry(error, attempt) {
  if (!error.metadata) throw error; // none of gRPC
  const [pushback] = error.metadata.get("grpc-retry-pushback-ms");
  const comesAgain = COME_AGAIN.includes(grpc.status[error.code]) && !(Number(pushback) < 0);
  if (!comesAgain || attempt >= ATTEMPTS) throw decode(error);
  await sleep(pushback ? Number(pushback) : Math.min(2000, 50 * 2 ** attempt));
}

class Referee {
  constructor(address) {
    this.stub = new GameService(address, grpc.credentials.createInsecure(), {
      "grpc.service_config": readFileSync(`${PROTOS}referee/v1/service_config.json`, "utf8"),
      "grpc.keepalive_time_ms": 20_000,
    });
  }

  // Calls until there is an answer. That is safe: a repeated `requestId` gets the first one.
  async call(method, request) {
    for (let attempt = 0; ; attempt++) {
      try {
        return await new Promise((resolve, reject) => this.stub[method](
          request, { deadline: Date.now() + 10_000 },
          (error, answer) => (error ? reject(error) : resolve(answer)),
        ));
      } catch (error) {
        await waitToRetry(error, attempt);
      }
    }
  }

  act(name, requestId, action) {
    return this.call("submitAction", { name, action: { ...action, requestId } });
  }

  // Yields every message of a stream once: `request` says what to go on after.
  async *stream(method, request) {
    for (let attempt = 0; ; attempt++) {
      const call = this.stub[method](request());
      try {
        for await (const message of call) {
          yield message;
          attempt = 0;
        }
      } catch (error) {
        await waitToRetry(error, attempt);
      } finally {
        call.cancel(); // for who has heard enough
      }
    }
  }

  // Follows a game to its end; returns that, with every event, each once.
  async follow(name, afterSequence) {
    const events = [];
    for await (const { event, end } of this.stream("watchGame", () => ({ name, afterSequence }))) {
      if (end) return { ...end, events };
      if (event) afterSequence = events[events.push(event) - 1].sequence;
    }
  }

  // Follows all games of a platform until so many are final; returns the events of each.
  async followAll(platform, games) {
    const heard = {};
    const request = { labels: { platform }, afterCursor: "" };
    for await (const { cursor, event } of this.stream("watchGames", () => request)) {
      request.afterCursor = cursor;
      if (!event) continue;
      (heard[event.name] ??= []).push(event.event.sequence);
      if (event.event.outcome.confirmed && --games === 0) return heard;
    }
  }
}

// Plays a game as it is written down, and returns what there is to tell of it.
async function play(referee, platform, { id, game, actions }) {
  const gameId = `${platform}-${id}`;
  const labelled = { ...game, labels: { ...game.labels, platform } };
  const created = await referee.call("createGame", { game: labelled, gameId, requestId: gameId });
  const { name } = created.game;
  const answers = [];
  for (const [number, action] of actions.entries()) {
    answers.push(await referee.act(name, `action-${number}`, action));
  }
  const again = await referee.act(name, `action-${actions.length - 1}`, actions.at(-1));
  const { events, sequence } = await referee.follow(name, 0);
  // It can still be corrected; the arbiter makes it final, which the watcher hears as well.
  await referee.act(name, "confirm", { seat: "SEAT_ARBITER", arbiterDecision: { confirm: {} } });
  const { events: later, outcome, finality } = await referee.follow(name, sequence);
  return {
    name, result: outcome.result, termination: outcome.termination, finality,
    sequences: [...events, ...later].map((event) => event.sequence),
    turned_down: answers.filter(({ event }) => !event).map(({ ruling }) => ruling.reason),
    repeated: isDeepStrictEqual(again, answers.at(-1)),
  };
}

const print = (value) => console.log(JSON.stringify(value));
const [address, file, platform = "node"] = process.argv.slice(2);
const referee = new Referee(address);
const misnamed = { game: {}, gameId: "No such name!", requestId: "misnamed" };
await referee.call("createGame", misnamed)
  .catch(({ code, reason, fields }) => print({ code, reason, fields }));
const scripts = readFileSync(file, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
const heard = referee.followAll(platform, scripts.length);
const waiting = scripts.values();
await Promise.all(Array.from({ length: AT_ONCE }, async () => {
  for (const script of waiting) print(await play(referee, platform, script));
}));
print({ heard: await heard });
referee.stub.close();
