#!/usr/bin/env python3
"""Write the seeds of a fuzz target, taken from the test data, into a corpus folder.

    python3 seed.py TARGET FOLDER

An input of `fen` is a FEN. An input of `pgn` is a byte for the length of pieces, and a text. An
input of `san` and `uci` is a FEN, a line feed, and moves between blanks. An input of `actions` is a byte for
the profile, a byte for the time control, and actions, each behind its length; before it, `fold` and
`verify` have a byte for the number of changes, and three for each. Each seed is a file named by its hash, so that seeds stay put when the data grows.
"""

import base64
import hashlib
import json
import pathlib
import sys

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
STARTPOS = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

# Moves that the targets read from one input; `MOVES_MAX` of src/lib.rs is the same number. A
# longer record is cut into pieces that begin in the initial position, so only its head is of use.
MOVES_MAX = 12


def lines(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def positions():
    """Every FEN of the data, good and bad."""
    for case in lines(DATA / "cases" / "reports.jsonl"):
        fen = case["input"].get("fen")
        if fen is not None:
            yield fen
        answer = case["expect"]
        found = [answer.get("fen"), answer.get("xfen"), answer.get("or_fen"), answer.get("fen_any")]
        for item in found:
            yield from [item] if isinstance(item, str) else item or []
    for case in lines(DATA / "cases" / "laws.jsonl"):
        yield STARTPOS if case["start"] == "startpos" else case["start"]
        if "final_fen" in case.get("facts", {}):
            yield case["facts"]["final_fen"]
    for name in ("standard.epd", "chess960.epd"):
        for line in (DATA / "perft" / name).read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                yield line.split(";")[0].strip()
    for line in (DATA / "dead" / "own_vectors.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        yield line.split("\t")[0]


def records_in_san():
    for case in lines(DATA / "cases" / "reports.jsonl"):
        if case["kind"] == "san":
            yield case["input"]["fen"], [case["input"]["san"]]
        if case["kind"] == "tosan" and isinstance(case["expect"].get("san"), str):
            yield case["input"]["fen"], [case["expect"]["san"]]
    for game in lines(DATA / "games" / "masters.jsonl"):
        yield STARTPOS, game["moves"]


def records_in_uci():
    for case in lines(DATA / "cases" / "reports.jsonl"):
        given = case["input"]
        if "fen" not in given:
            continue
        if isinstance(given.get("moves"), list):
            yield given["fen"], given["moves"]
        for item in (given.get("uci"), case["expect"].get("uci")):
            if isinstance(item, str):
                yield given["fen"], [item]
        for key in ("include", "exclude", "exact"):
            moves = case["expect"].get(key)
            for move in moves if isinstance(moves, list) else []:
                yield given["fen"], [move]
    for case in lines(DATA / "cases" / "laws.jsonl"):
        moves = []
        for event in case["events"]:
            uci = event.get("uci", [])
            moves += [uci] if isinstance(uci, str) else uci
        if moves:
            yield STARTPOS if case["start"] == "startpos" else case["start"], moves


def records_of_games():
    """The texts of the cases about files. Long ones only cost time."""
    for name in ("cases/reports.jsonl", "pgn/cases.jsonl"):
        for case in lines(DATA / name):
            given = case["input"]
            if case["kind"] != "pgn":
                continue
            text = base64.b64decode(given["b64"]) if "b64" in given else given["text"].encode()
            if len(text) < 1000:
                yield b"\x07" + text


def field(number, value):
    """A field of a message of Protocol Buffers: a number, or bytes behind their length."""
    if isinstance(value, int):
        return bytes([number << 3]) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def action(seat, number, content=b""):
    """An `Action` behind its length, with the field of its kind."""
    message = field(1, seat) + field(2, b"a") + field(number, content)
    return varint(len(message)) + message


def actions():
    """Games by actions: those of the masters, and short ones in which more than moves happens."""
    white, black, arbiter = 1, 2, 3
    start = action(arbiter, 20)

    def move(ply, text):
        return action(black if ply % 2 else white, 4, field(1, text.encode()))

    for number, game in enumerate(lines(DATA / "games" / "masters.jsonl")):
        moves = game["moves"][: 4 * MOVES_MAX]
        yield bytes([number % 8, number % 4]) + start + b"".join(move(*it) for it in enumerate(moves))
    opening = [move(0, "e4"), move(1, "e5"), move(2, "Nf3")]
    others = [
        action(white, 5, field(1, b"")),
        action(black, 6, field(1, 1)),
        action(black, 6, field(1, 2)),
        action(black, 7, field(1, 1) + field(2, b"Nc6")),
        action(black, 8),
        action(black, 9),
        action(black, 10, field(1, b"b8") + field(3, 1)),
        action(black, 11),
        action(black, 12, field(1, b"c6")),
        action(black, 16),
        action(black, 17),
        action(black, 18),
        action(arbiter, 18),
        action(arbiter, 22),
        action(arbiter, 23, field(1, b"a bell")),
        action(arbiter, 24),
        action(arbiter, 25),
        action(arbiter, 26),
        action(black, 28, field(1, 1)),
        action(white, 28, field(1, 2)),
        action(black, 29, field(1, b"Nc6")),
        action(arbiter, 30, field(1, 2)),
        action(arbiter, 31),
    ]
    for profile in range(8):
        for control in range(4):
            begin = bytes([profile, control])
            yield begin + start + b"".join(opening)
            for other in others:
                yield begin + start + b"".join(opening) + other + move(3, "Nc6")


def seeds(target):
    if target == "actions":
        yield from actions()
        return
    if target in ("fold", "verify"):
        for number, game in enumerate(actions()):
            yield b"\x00" + game
            yield bytes([1, number % 7, number * 37 % 256, 1 << number % 8]) + game
        return
    if target == "fen":
        yield from positions()
        return
    if target == "pgn":
        yield from records_of_games()
        return
    records = records_in_san() if target == "san" else records_in_uci()
    for fen, moves in records:
        yield f"{fen}\n{' '.join(moves[:MOVES_MAX])}"
    # Positions alone are worth having too: the targets write all their legal moves.
    for fen in positions():
        yield f"{fen}\n"


def main():
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if target not in ("actions", "fen", "fold", "pgn", "san", "uci", "verify"):
        sys.exit(f"unknown target {target}")
    for seed in seeds(target):
        data = seed if isinstance(seed, bytes) else seed.encode()
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


if __name__ == "__main__":
    main()
