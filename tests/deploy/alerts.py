"""Tests each alert of deploy/ with promtool: that it fires where it should, and does not where it should
not. The cases are in tests/data/deploy/alerts.jsonl.

    python alerts.py
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy/components/monitoring/alerts.yaml"
CASES = ROOT / "tests/data/deploy/alerts.jsonl"
RUNBOOKS = ROOT / "docs/RUNBOOKS.md"


def cases_of(case, rule):
    """Returns the two tests of a case, as promtool reads them."""
    labels = case["labels"]
    for fires, series in ((True, case["fires"]), (False, case["quiet"])):
        expected = [{"exp_labels": labels, "exp_annotations": rule["annotations"]}] if fires else []
        yield {
            "name": f"{case['alert']} {'fires' if fires else 'is quiet'}",
            "interval": case.get("interval", "1m"),
            "input_series": [{"series": name, "values": values} for name, values in series],
            "alert_rule_test": [
                {"eval_time": case["at"], "alertname": case["alert"], "exp_alerts": expected}
            ],
        }


def anchors():
    """Returns the anchors of the runbooks."""
    heads = re.findall(r"^#+ (.*)$", RUNBOOKS.read_text(), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-") for head in heads}


def main():
    spec = yaml.safe_load(RULES.read_text())["spec"]
    rules = {rule["alert"]: rule for group in spec["groups"] for rule in group["rules"]}
    cases = [json.loads(line) for line in CASES.read_text().splitlines()]
    untested = set(rules) ^ {case["alert"] for case in cases}
    if untested:
        sys.exit(f"an alert without a case, or a case without its alert: {sorted(untested)}")
    there = anchors()
    for name, rule in rules.items():
        page, anchor = rule["annotations"]["runbook"].split("#")
        if page != "docs/RUNBOOKS.md" or anchor not in there:
            sys.exit(f"{name}: there is no runbook {page}#{anchor}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "rules.yml").write_text(yaml.safe_dump(spec))
        tests = [test for case in cases for test in cases_of(case, rules[case["alert"]])]
        told = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": tests}
        (folder / "tests.yml").write_text(yaml.safe_dump(told))
        for command in (["check", "rules", "rules.yml"], ["test", "rules", "tests.yml"]):
            ran = subprocess.run(["promtool", *command], cwd=folder, capture_output=True, text=True)
            if ran.returncode:
                sys.exit(ran.stdout + ran.stderr)
    print(f"{len(rules)} alerts fire where they should, and are quiet where they should be")


if __name__ == "__main__":
    main()
