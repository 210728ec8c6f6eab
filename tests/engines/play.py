#!/usr/bin/env python3
"""Play games between engines with clocks, and write them as PGN with python-chess.

    python3 play.py GAMES FILE

Engines: stockfish (UCI), gnuchess (UCI) and fairymax (xboard) of Debian. Stockfish plays every
other game with itself in a position of Chess960. Games are short of strength, not of variety: the
first moves are random, each player has few nodes or little depth, and a game that is still on
after MOVES_MAX plies is broken off with the result "*" or, by agreement, a draw.
"""

import os
import random
import re
import select
import shutil
import subprocess
import sys

import chess
import chess.engine
import chess.pgn

MOVES_MAX = 160
RANDOM_PLIES = 6
SEED = 20231
# A search of two plies takes far less.
ANSWER_SECONDS = 3


def program(name):
    return shutil.which(name) or f"/usr/games/{name}"


class FairyMax:
    """Fairy-Max by the old xboard protocol, of which python-chess asks more than it has."""

    def __init__(self, depth):
        self.process = subprocess.Popen(
            [program("fairymax")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.depth, self.game, self.known, self.read = depth, None, 0, b""
        self.send("xboard")

    def send(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def lines(self):
        """What it says, as long as it says something within ANSWER_SECONDS."""
        output = self.process.stdout.fileno()
        while True:
            while b"\n" in self.read:
                line, self.read = self.read.split(b"\n", 1)
                yield line.decode("ascii", "replace").strip()
            if not select.select([output], [], [], ANSWER_SECONDS)[0]:
                return
            data = os.read(output, 4096)
            if not data:
                raise RuntimeError("fairymax has gone")
            self.read += data

    def play(self, board, _limit, game):
        moves = [move.uci() for move in board.move_stack]
        if game != self.game:
            self.game, self.known = game, 0
            for line in ("new", f"sd {self.depth}", "force"):
                self.send(line)
        for move in moves[self.known:]:
            self.send(move)
        if self.known == 0:
            self.send("go")
        for line in self.lines():
            if match := re.match(r"move ([a-h][1-8][a-h][1-8][qrbn]?)$", line):
                self.known = len(moves) + 1
                return chess.engine.PlayResult(chess.Move.from_uci(match[1]), None)
            if line.startswith(("1-0", "0-1", "1/2-1/2", "resign", "Illegal")):
                break
        # It has seen the end of the game, as it counts draws, or knows a rule otherwise.
        return chess.engine.PlayResult(None, None)

    def quit(self):
        self.send("quit")
        self.process.wait(10)


def start_engines():
    uci = chess.engine.SimpleEngine.popen_uci
    return {
        "stockfish": (uci([program("stockfish")]), chess.engine.Limit(nodes=300)),
        "gnuchess": (uci([program("gnuchess"), "--uci"]), chess.engine.Limit(depth=1)),
        "fairymax": (FairyMax(depth=2), None),
    }


def clock_text(seconds):
    """As lichess and others write it, with tenths now and then."""
    whole = int(seconds)
    text = f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
    tenths = int(seconds * 10) % 10
    return f"{text}.{tenths}" if tenths else text


def play(number, engines, source):
    is_chess960 = number % 4 == 0
    board = chess.Board.from_chess960_pos(source.randrange(960)) if is_chess960 else chess.Board()
    names = ("stockfish", "stockfish")
    if not is_chess960:
        names = source.sample(sorted(engines), 2)
    game = chess.pgn.Game()
    game.headers.update({
        "Event": "Engines of Debian", "Site": "?", "Date": "2026.11.30", "Round": str(number),
        "White": names[0], "Black": names[1], "TimeControl": "60+0.5",
    })
    game.setup(board)
    node, clocks = game, [60.0, 60.0]
    while not board.is_game_over() and board.ply() < MOVES_MAX:
        if board.ply() < RANDOM_PLIES:
            move = source.choice(list(board.legal_moves))
        else:
            engine, limit = engines[names[board.ply() % 2]]
            move = engine.play(board, limit, game=number).move
            if move is None or move not in board.legal_moves:
                break
        side = board.ply() % 2
        # The clocks are made up: a run is the same wherever it is made, and so are its clocks.
        taken = round(source.uniform(0.0, 0.9), 1)
        clocks[side] = round(clocks[side] - taken + 0.5, 1)
        board.push(move)
        node = node.add_variation(move)
        node.comment = f"[%clk {clock_text(clocks[side])}]"
        if source.random() < 0.1:
            node.comment += f" [%emt {clock_text(taken)}] move {board.ply()}; so far (it seems)"
        if source.random() < 0.05:
            node.nags.add(source.randrange(1, 140))
    result = board.result()
    if result == "*" and number % 3:
        result = "1/2-1/2"
    game.headers["Result"] = result
    game.headers["Termination"] = "normal" if board.is_game_over() else "adjudication"
    return game


def main():
    games, path = int(sys.argv[1]), sys.argv[2]
    source = random.Random(SEED)
    engines = start_engines()
    try:
        with open(path, "w", encoding="utf-8") as file:
            for number in range(1, games + 1):
                print(play(number, engines, source), file=file, end="\n\n")
                if number % 100 == 0:
                    print(f"{number} games", file=sys.stderr, flush=True)
    finally:
        for engine, _ in engines.values():
            engine.quit()


if __name__ == "__main__":
    main()
