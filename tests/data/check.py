#!/usr/bin/env python3
"""Check the test data with python-chess, a chess library that shares no code with this project.

The data is what our own tests believe. This program replays the master games and recounts the
perft positions, so that a slip in the data does not become a "fact" about chess.

    python3 tests/data/check.py [--max-nodes N]

The last line is "N passed, M failed"; the exit code is 1 if anything failed.
"""

import argparse
import json
import pathlib
import sys

import chess

DATA = pathlib.Path(__file__).resolve().parent

# python-chess counts some hundred thousand leaf nodes a second; this keeps the run under a minute.
DEFAULT_MAX_NODES = 60_000

# What the board must show at the end of a game, by termination. Resignation and agreement can come
# at any time, but never in a position that is already over.
ON_THE_BOARD = {
    "checkmate": {"checkmate"},
    "stalemate": {"stalemate"},
    "resignation": set(),
    "agreement": set(),
    "threefold_claim": set(),
}


class Tally:
    """Counts what passed, and prints what failed."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, ok, what):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {what}", file=sys.stderr)


def end_on_board(board):
    """The ends that the position itself shows, whatever the record says."""
    ends = set()
    if board.is_checkmate():
        ends.add("checkmate")
    if board.is_stalemate():
        ends.add("stalemate")
    if board.is_insufficient_material():
        ends.add("insufficient material")
    if board.is_fivefold_repetition():
        ends.add("fivefold repetition")
    if board.is_seventyfive_moves():
        ends.add("seventy-five moves")
    return ends


def problem_of_game(game):
    """The first thing that is wrong with a recorded game, or None."""
    board = chess.Board()
    for ply, san in enumerate(game["moves"]):
        if end_on_board(board):
            return f"goes on after its end, at ply {ply}"
        try:
            move = board.parse_san(san)
        except ValueError as error:
            return f"ply {ply}: {error}"
        if board.san(move) != san:
            return f"ply {ply}: {san} should be spelled {board.san(move)}"
        board.push(move)
    if len(game["moves"]) != game["plies"]:
        return f"plies says {game['plies']}, there are {len(game['moves'])}"
    if board.fen(en_passant="legal") != game["final_fen"]:
        return f"ends in {board.fen(en_passant='legal')}"
    termination = game["termination"]
    if termination not in ON_THE_BOARD:
        return f"unknown termination {termination}"
    if end_on_board(board) != ON_THE_BOARD[termination]:
        return f"termination {termination}, the board shows {sorted(end_on_board(board))}"
    if termination == "checkmate":
        winner = "0-1" if board.turn == chess.WHITE else "1-0"
        if game["result"] != winner:
            return f"the mate gives {winner}, the record says {game['result']}"
    if termination == "resignation" and game["result"] not in ("1-0", "0-1"):
        return "a resignation gives a winner"
    if termination in ("stalemate", "agreement", "threefold_claim"):
        if game["result"] != "1/2-1/2":
            return f"{termination} gives 1/2-1/2"
    if termination == "threefold_claim":
        board.push_san(game["intended"])
        if not board.is_repetition(3):
            return "the intended move does not make the third occurrence"
    return None


def check_games(tally):
    ids = set()
    for line in (DATA / "games" / "masters.jsonl").read_text(encoding="utf-8").splitlines():
        game = json.loads(line)
        problem = "id is not unique" if game["id"] in ids else problem_of_game(game)
        ids.add(game["id"])
        tally.check(problem is None, f"game {game['id']}: {problem}")


def perft(board, depth):
    """Leaf nodes at `depth`; the last ply is counted and not played."""
    if depth == 1:
        return board.legal_moves.count()
    nodes = 0
    for move in board.legal_moves:
        board.push(move)
        nodes += perft(board, depth - 1)
        board.pop()
    return nodes


def check_perft(tally, path, chess960, max_nodes):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fen, *counts = (part.strip() for part in line.split(";"))
        board = chess.Board(fen, chess960=chess960)
        where = f"{path.name}:{number}"
        tally.check(board.is_valid(), f"{where}: {board.status()!r}")
        written = board.shredder_fen() if chess960 else board.fen()
        tally.check(written.split()[2] == fen.split()[2], f"{where}: rights are {written}")
        for count in counts:
            depth, nodes = int(count.split()[0].removeprefix("D")), int(count.split()[1])
            if nodes <= max_nodes:
                found = perft(board, depth)
                tally.check(found == nodes, f"{where}: depth {depth} is {found}, not {nodes}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--max-nodes", type=int, default=DEFAULT_MAX_NODES)
    max_nodes = parser.parse_args().max_nodes
    tally = Tally()
    check_games(tally)
    check_perft(tally, DATA / "perft" / "standard.epd", False, max_nodes)
    check_perft(tally, DATA / "perft" / "chess960.epd", True, max_nodes)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
