// A page that has a game refereed over gRPC-Web: a move that is refused, a request that is repeated, and mate.
import { createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { create, equals } from "@bufbuild/protobuf";
import { ActionSchema, Seat } from "./stubs/referee/v1/action_pb.js";
import { SubmitActionResponseSchema } from "./stubs/referee/v1/game_pb.js";
import { GameService } from "./stubs/referee/v1/game_service_pb.js";
import { GameResult, Termination, Ruling_Reason as Reason } from "./stubs/referee/v1/ruling_pb.js";

async function play(address) {
  const referee = createClient(GameService, createGrpcWebTransport({ baseUrl: address }));
  const { game } = await referee.createGame({ gameId: "browser", requestId: "browser", game: {} });
  const act = (requestId, seat, move) => referee.submitAction({
    name: game.name,
    action: create(ActionSchema, { seat, requestId, kind: { case: "makeMove", value: { move } } }),
  });
  // Who watches hears of every event, and then of the end.
  const heard = [];
  const watching = (async () => {
    for await (const { kind } of referee.watchGame({ name: game.name, afterSequence: 0n })) {
      if (kind.case === "event") heard.push(Number(kind.value.sequence));
      if (kind.case === "end") return kind.value.outcome;
    }
  })();
  const refused = await act("refused", Seat.WHITE, "Nd5");
  const moves = ["f3", "e5", "g4", "Qh4"];
  let answer;
  for (const [ply, move] of moves.entries()) {
    answer = await act(`ply-${ply}`, ply % 2 === 0 ? Seat.WHITE : Seat.BLACK, move);
  }
  const again = await act("ply-3", Seat.BLACK, "Qh4");
  const outcome = await watching;
  const fault = await referee.getGame({ name: "games/none" }).catch((error) => error);
  return {
    refused: Reason[refused.ruling.reason],
    repeated: equals(SubmitActionResponseSchema, again, answer),
    result: GameResult[outcome.result],
    termination: Termination[outcome.termination],
    heard,
    missing: fault.code,
  };
}

window.play = play;
