"""A small backend of a platform: has games refereed and follows them, whatever becomes of the
server. What became of each game is printed as a line of JSON.

    python backend.py ADDRESS GAMES [PLATFORM]

GAMES has a game a line: {"id": ..., "game": {...}, "actions": [{"seat": ..., ...}, ...]}, with a
`Game` and `Action`s of the contract as JSON. The label `platform` tells them from others.
"""
import json
import pathlib
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
from google.protobuf.json_format import ParseDict
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from grpc_status import rpc_status
from referee.v1 import action_pb2, game_pb2, game_service_pb2_grpc, ruling_pb2, watch_pb2

PROTOS = pathlib.Path(__file__).resolve().parents[3] / "proto"
AT_ONCE = 8  # games that are played at the same time
ATTEMPTS = 40  # at one call, which takes more than a minute
COME_AGAIN = "UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"


class RefereeError(Exception):
    """An error of the referee, decoded: the reason, its metadata, and the fields at fault."""

    def __init__(self, error):
        super().__init__(error.details())
        info, request, status = ErrorInfo(), BadRequest(), rpc_status.from_call(error)
        for detail in status.details if status else ():
            detail.Unpack(info) or detail.Unpack(request)
        self.code, self.reason, self.metadata = error.code().name, info.reason, info.metadata
        self.fields = [violation.field for violation in request.field_violations]


def wait_to_retry(error, attempt):
    """Waits before a call is repeated; raises where a repetition would fail as well."""
    pushback = dict(error.trailing_metadata() or ()).get("grpc-retry-pushback-ms")
    comes_again = error.code().name in COME_AGAIN and not (pushback and int(pushback) < 0)
    if not comes_again or attempt >= ATTEMPTS:
        raise RefereeError(error) from error
    time.sleep(int(pushback) / 1000 if pushback else min(2, 0.05 * 2**attempt))


class Referee:
    def __init__(self, address):
        config = (PROTOS / "referee/v1/service_config.json").read_text()
        options = [("grpc.service_config", config), ("grpc.keepalive_time_ms", 20_000)]
        self.stub = game_service_pb2_grpc.GameServiceStub(grpc.insecure_channel(address, options))

    def call(self, method, request):
        """Calls until there is an answer. That is safe: a repeated `request_id` gets the first."""
        attempt = 0
        while True:
            try:
                return method(request, timeout=10)
            except grpc.RpcError as error:
                wait_to_retry(error, attempt)
                attempt += 1

    def create(self, **request):
        return self.call(self.stub.CreateGame, game_pb2.CreateGameRequest(**request)).game.name

    def act(self, name, request_id, action):
        action = ParseDict(action | {"requestId": request_id}, action_pb2.Action())
        request = game_pb2.SubmitActionRequest(name=name, action=action)
        return self.call(self.stub.SubmitAction, request)

    def stream(self, method, request):
        """Yields every message of a stream once: `request` says what to go on after."""
        attempt = 0
        while True:
            try:
                for message in method(request):
                    yield message
                    attempt = 0
            except grpc.RpcError as error:
                wait_to_retry(error, attempt)
                attempt += 1

    def follow(self, name, after):
        """Follows a game to its end; returns every event, each once, and the end."""
        events, request = [], watch_pb2.WatchGameRequest(name=name, after_sequence=after)
        for message in self.stream(self.stub.WatchGame, request):
            if message.HasField("end"):
                return events, message.end
            if message.HasField("event"):
                events.append(message.event)
                request.after_sequence = message.event.sequence

    def follow_all(self, platform, games):
        """Follows all games of a platform until so many are final; returns the events of each."""
        heard, labels = {}, {"platform": platform}
        request = watch_pb2.WatchGamesRequest(labels=labels, after_cursor="")
        for message in self.stream(self.stub.WatchGames, request):
            request.after_cursor = message.cursor
            if message.HasField("event"):
                event = message.event.event
                heard.setdefault(message.event.name, []).append(event.sequence)
                games -= event.outcome.confirmed
            if games == 0:
                return heard


def play(referee, platform, script):
    """Plays a game as it is written down, and returns what there is to tell of it."""
    game_id, game = f"{platform}-{script['id']}", ParseDict(script["game"], game_pb2.Game())
    game.labels["platform"] = platform
    name = referee.create(game=game, game_id=game_id, request_id=game_id)
    turned_down = []
    for number, action in enumerate(script["actions"]):
        answer = referee.act(name, f"action-{number}", action)
        if not answer.HasField("event"):
            turned_down.append(ruling_pb2.Ruling.Reason.Name(answer.ruling.reason))
    repeated = referee.act(name, f"action-{number}", action) == answer
    events, end = referee.follow(name, 0)
    # It can still be corrected; the arbiter makes it final, which the watcher hears as well.
    referee.act(name, "confirm", {"seat": "SEAT_ARBITER", "arbiterDecision": {"confirm": {}}})
    later, end = referee.follow(name, end.sequence)
    return {
        "name": name,
        "result": ruling_pb2.GameResult.Name(end.outcome.result),
        "termination": ruling_pb2.Termination.Name(end.outcome.termination),
        "finality": watch_pb2.GameEnd.Finality.Name(end.finality),
        "sequences": [event.sequence for event in events + later],
        "turned_down": turned_down,
        "repeated": repeated,
    }


def main(address, games, platform="python"):
    referee = Referee(address)
    try:
        referee.create(game={}, game_id="No such name!", request_id="misnamed")
    except RefereeError as error:
        print(json.dumps({"code": error.code, "reason": error.reason, "fields": error.fields}))
    scripts = [json.loads(line) for line in pathlib.Path(games).read_text().splitlines()]
    with ThreadPoolExecutor(AT_ONCE + 1) as pool:
        heard = pool.submit(referee.follow_all, platform, len(scripts))
        for told in pool.map(lambda script: play(referee, platform, script), scripts):
            print(json.dumps(told), flush=True)
        print(json.dumps({"heard": heard.result()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
