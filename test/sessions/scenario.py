"""Scenarios: what several sessions do in turn, as read from scenarios/* (README.md has the form)."""
import os
import re

NODES = ("third", "shard", "coord")   # in the order in which they are set up
SESSION_NODES = {"c": "coord", "s": "shard", "t": "third"}
OPTIONS = {"alone", "no import", "slow", "needs pooler", "needs standby"}
MODIFIERS = re.compile(r"waits|to the end|quiet|ordered|whole|portions of \d+$")


class Malformed(Exception):
    pass


def statements(text):
    """Split SQL at its semicolons, but those in quotes, dollar quotes, comments and parentheses."""
    token = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|(\$\w*\$).*?\1|--[^\n]*|/\*.*?\*/|[();]|BEGIN ATOMIC.*?END\b", re.S)
    found, start, depth = [], 0, 0
    for match in token.finditer(text):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if match[0] == ";" and depth == 0:
            found.append(text[start:match.start()])
            start = match.end()
    return [part.strip() for part in [*found, text[start:]] if part.strip()]


class Step:
    """One line of steps: a session and what it does."""

    def __init__(self, head, body, line):
        self.line = line
        words = head.split(None, 1)
        self.session = words[0]
        modifiers = [m.strip() for m in words[1].split(",")] if len(words) > 1 else []
        for modifier in modifiers:
            if not MODIFIERS.fullmatch(modifier):
                raise Malformed(f"line {line}: what is \"{modifier}\"?")
        self.waits, self.to_the_end = "waits" in modifiers, "to the end" in modifiers
        self.quiet, self.ordered = "quiet" in modifiers, "ordered" in modifiers
        self.portion = next((int(m.split()[-1]) for m in modifiers if m.startswith("portions")), 0)
        kept = [text for text in body if not text.startswith("<")]
        self.copy_data = "".join(text[1:].strip() + "\n" for text in body if text.startswith("<"))
        self.text = "\n".join(kept)
        self.statements = [self.text] if "whole" in modifiers else statements(self.text)


class Scenario:
    """setup: node -> SQL; sessions: name -> (node, user); steps in their order."""

    def __init__(self, path):
        self.name = os.path.basename(path)
        self.title, self.options = "", set()
        self.setup = {node: "" for node in NODES}
        self.sessions, self.steps = {}, []
        with open(path, encoding="utf-8") as lines:
            self._read(lines.read().split("\n"))
        if not self.steps:
            raise Malformed(f"{self.name}: no steps")
        for step in self.steps:
            name = step.session
            if name not in self.sessions and name not in ("sleep", "replay"):
                if name[0] not in SESSION_NODES:
                    raise Malformed(f"{self.name}, line {step.line}: session {name} is not declared")
                self.sessions[name] = (SESSION_NODES[name[0]], "postgres", "")

    def _read(self, lines):
        part, pending = None, None

        def finish():
            if pending:
                self.steps.append(Step(*pending))
        for number, line in enumerate(lines, 1):
            if line.startswith("#"):
                self.title = self.title or line[1:].strip()
            elif re.match(r"options:", line):
                for option in filter(None, (word.strip() for word in line[8:].split(","))):
                    if option not in OPTIONS:
                        raise Malformed(f"{self.name}, line {number}: unknown option {option}")
                    self.options.add(option)
            elif match := re.match(r"session (\w+) on (\w+)(?: as (\S+))?(?: with (.*))?$", line):
                self.sessions[match[1]] = (match[2], match[3] or "postgres", match[4] or "")
            elif match := re.match(r"(\w+):\s*$", line):
                part = match[1]
                if part not in NODES and part != "steps":
                    raise Malformed(f"{self.name}, line {number}: what is \"{part}:\"?")
            elif part in NODES:
                self.setup[part] += line + "\n"
            elif part == "steps" and line.strip():
                if line[0].isspace():
                    if not pending:
                        raise Malformed(f"{self.name}, line {number}: a step begins at the margin")
                    pending[1].append(line.strip())
                else:
                    head, colon, body = line.partition(":")
                    if not colon:
                        raise Malformed(f"{self.name}, line {number}: no colon")
                    finish()
                    pending = (head.strip(), [body.strip()] if body.strip() else [], number)
            elif line.strip():
                raise Malformed(f"{self.name}, line {number}: not in any part")
        finish()
