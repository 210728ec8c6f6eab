"""Loads a referee with programs of other people: grpcurl, two processes for each game that play it over
`PlayGame`, and ghz, which repeats one call.

    python foreign.py small|large [ADDRESS]

Without an address it starts a server of its own. REFEREE, GRPCURL and GHZ name the programs. Anything but a
good answer is a failure.
"""
import json
import os
import pathlib
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time

REFEREE = os.environ.get("REFEREE", "referee")
GRPCURL = os.environ.get("GRPCURL", "grpcurl")
GHZ = os.environ.get("GHZ", "ghz")
SIZES = {
    "small": {"games": 4, "plies": 40, "calls": 400, "at_once": 10},
    "large": {"games": 100, "plies": 200, "calls": 100_000, "at_once": 100},
}
SHUFFLE = ["g1f3", "g8f6", "f3g1", "f6g8"]
# A game in which nothing but a player ends it: knights go to and fro.
ENDLESS = {"ruleProfile": {"overrides": {"fivefold": False, "seventyFive": False}}}


def call(address, method, request):
    said = subprocess.run(
        [GRPCURL, "-plaintext", "-d", json.dumps(request), address, method], capture_output=True, text=True,
    )
    if said.returncode:
        sys.exit(f"{method}: {said.stderr}")
    return json.loads(said.stdout)


def messages(stream):
    """Yields the messages that grpcurl writes, one JSON object after another."""
    decoder, text = json.JSONDecoder(), ""
    for line in stream:
        text += line
        if line.startswith("}"):
            yield decoder.decode(text)
            text = ""


class Player:
    """A grpcurl that plays one seat: a line for each message that is sent (`-d @`)."""

    def __init__(self, address, name, seat):
        self.process = subprocess.Popen(
            [GRPCURL, "-plaintext", "-d", "@", address, "referee.v1.GameService/PlayGame"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        self.seat, self.answers = seat, queue.Queue()
        self.say({"join": {"name": name, "seat": seat}})
        threading.Thread(target=self.listen, daemon=True).start()

    def say(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def listen(self):
        for message in messages(self.process.stdout):
            if "answer" in message:
                self.answers.put(message["answer"])
        self.answers.put(None)

    def move(self, ply, move):
        """Makes a move, waits for its answer, and returns how many seconds that took."""
        begun = time.perf_counter()
        self.say({"action": {"seat": self.seat, "requestId": f"ply-{ply}", "makeMove": {"move": move}}})
        answer = self.answers.get(timeout=30)
        took = time.perf_counter() - begun
        if answer is None or answer.get("ruling", {}).get("verdict") != "VERDICT_ACCEPTED":
            sys.exit(f"{self.seat}, ply {ply}: {answer}")
        return took

    def leave(self):
        self.process.stdin.close()
        if self.process.wait(timeout=30):
            sys.exit(f"grpcurl: {self.process.stderr.read()}")


def play(address, number, plies, times):
    """Plays a game with two processes."""
    request = {"gameId": f"load-{number}", "requestId": f"load-{number}", "game": ENDLESS}
    name = call(address, "referee.v1.GameService/CreateGame", request)["game"]["name"]
    players = [Player(address, name, seat) for seat in ("SEAT_WHITE", "SEAT_BLACK")]
    for ply in range(plies):
        times.append(players[ply % 2].move(ply, SHUFFLE[ply % 4]))
    for player in players:
        player.leave()


def play_all(address, size):
    times, failed = [], []

    def one(number):
        try:
            play(address, number, size["plies"], times)
        except (SystemExit, Exception) as error:
            failed.append(error)

    begun = time.perf_counter()
    threads = [threading.Thread(target=one, args=[number]) for number in range(size["games"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - begun
    if failed or len(times) != size["games"] * size["plies"]:
        sys.exit(f"PlayGame: {len(times)} moves, {failed[:3]}")
    show("PlayGame, grpcurl", len(times), took, times)


def show(what, count, took, times):
    cuts = statistics.quantiles(times, n=100)
    print(f"{what:24} {count:7} answers {count / took:8.0f}/s  p50 {cuts[49] * 1000:7.2f} ms  p99 {cuts[98] * 1000:7.2f} ms")


def repeat(address, size, method, request):
    """Repeats a call with ghz, in which {{.RequestNumber}} is another number each time."""
    said = subprocess.run(
        [
            GHZ, "--insecure", "--call", method, "-d", json.dumps(request), "-n", str(size["calls"]),
            "-c", str(size["at_once"]), "-O", "json", address,
        ],
        capture_output=True, text=True,
    )
    if said.returncode:
        sys.exit(f"ghz {method}: {said.stderr}")
    found = json.loads(said.stdout)
    codes = found["statusCodeDistribution"]
    if codes != {"OK": size["calls"]}:
        sys.exit(f"ghz {method}: {codes} {found['errorDistribution']}")
    at = {each["percentage"]: each["latency"] / 1e6 for each in found["latencyDistribution"]}
    name = method.rpartition("/")[2]
    print(f"{name + ', ghz':24} {found['count']:7} answers {found['rps']:8.0f}/s  p50 {at[50]:7.2f} ms  p99 {at[99]:7.2f} ms")


def load(address, size):
    play_all(address, size)
    move = {"position": {}, "move": "e4"}
    repeat(address, size, "referee.v1.RulesService/ValidateMove", move)
    number = "{{.RequestNumber}}"
    game = {"gameId": f"ghz-{number}", "requestId": f"ghz-{number}", "game": {}}
    repeat(address, size, "referee.v1.GameService/CreateGame", game)
    action = {"seat": "SEAT_WHITE", "requestId": "first", "makeMove": {"move": "e4"}}
    repeat(address, size, "referee.v1.GameService/SubmitAction", {"name": f"games/ghz-{number}", "action": action})


def main(name, address=None):
    size = SIZES[name]
    if address:
        return load(address, size)
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [REFEREE, "serve", "--listen", "127.0.0.1:0", "--store", pathlib.Path(folder) / "referee.db", "--log", "warn"],
            stdout=subprocess.PIPE, text=True,
        )
        try:
            load(server.stdout.readline().split()[-1], size)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
