#!/usr/bin/env python3
"""Hold games that were rewritten by us against the originals, with python-chess and pgn-extract.

    python3 compare.py ORIGINAL REWRITTEN [PGN-EXTRACT]

Both files must hold the same games: the same tags, start, moves, clocks, glyphs, comments and
results for python-chess, and the same moves and results for pgn-extract, if it is there.
"""

import re
import shutil
import subprocess
import sys

import chess.pgn


def read(path):
    with open(path, encoding="utf-8") as file:
        while (game := chess.pgn.read_game(file)) is not None:
            if game.errors:
                sys.exit(f"{path}: python-chess finds faults: {game.errors}")
            yield game


def facts(game):
    nodes = list(game.mainline())
    return {
        "headers": sorted(game.headers.items()),
        "start": game.board().fen(),
        "end": game.end().board().fen(),
        "moves": [node.move.uci() for node in nodes],
        "clocks": [node.clock() for node in nodes],
        "elapsed": [node.emt() for node in nodes],
        "nags": [sorted(node.nags) for node in nodes],
        "comments": [words(node.comment) for node in nodes],
    }


def words(comment):
    """A comment without the commands that were compared already, and without line ends."""
    return re.sub(r"\[%(clk|emt) [^]]*\]", "", comment).split()


def extract(program, path):
    """Moves and results as pgn-extract writes them."""
    command = [program, "-s", "-C", "-N", "-V", "-Wuci", "--notags", path]
    found = subprocess.run(command, capture_output=True, check=True, text=True)
    # It counts to a thousand aloud; anything else is a fault.
    faults = re.sub(r"Games: \d+", "", found.stderr).strip()
    if faults:
        sys.exit(f"{path}: pgn-extract finds faults: {faults}")
    return found.stdout.split()


def main():
    original, rewritten = sys.argv[1:3]
    count = plies = 0
    games = read(rewritten)
    for game in read(original):
        count += 1
        ours = next(games, None)
        if ours is None:
            sys.exit(f"only {count - 1} games were rewritten")
        theirs, ours = facts(game), facts(ours)
        plies += len(theirs["moves"])
        for key, value in theirs.items():
            if ours[key] != value:
                sys.exit(f"game {count}: {key}\n  was {value}\n  is  {ours[key]}")
    if next(games, None) is not None:
        sys.exit(f"more than {count} games were written")
    program = sys.argv[3] if len(sys.argv) > 3 else shutil.which("pgn-extract")
    program = program or shutil.which("/usr/games/pgn-extract")
    told = "pgn-extract is not there"
    if program:
        first, second = extract(program, original), extract(program, rewritten)
        if first != second:
            sys.exit("pgn-extract reads other moves or results in what we wrote")
        told = f"so is it for pgn-extract ({len(second)} words)"
    print(f"{count} games, {plies} plies: the same for python-chess; {told}")


if __name__ == "__main__":
    main()
