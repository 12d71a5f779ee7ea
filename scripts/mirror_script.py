"""Rewrite a file of PostgreSQL's regression tests, so that what defines tables runs where the tables are.

A statement that defines something becomes a call of mirror.run (test/mirror/here.sql); all others, psql's commands and the
data of COPY stay as they are."""
import re

NAME = r'[\w".$]+'
TEMPORARY = re.compile(r"^(\s*create\s+)(?:(?:local|global)\s+)?(?:temp|temporary|unlogged)\s+", re.I)
# What starts with these words is a definition: (how mirror.run runs it, words).
HOW = (
    ("role", r"(create|alter|drop)\s+(role|user|group)\b(?!\s+mapping)"),
    ("both", r"(grant|revoke)\b.*?\bon\s+(schema|function|procedure|routine|type|domain|language|sequence|all\s+(functions|sequences|routines))\b"),
    ("there", r"(grant|revoke)\b.*?\bon\b"),
    ("both", r"(reassign|drop)\s+owned\b"),
    ("here", r"(create|drop|alter)\s+(or\s+replace\s+)?(constraint\s+)?(trigger|rule|view)\b"),
    ("here", r"create\s+(or\s+replace\s+)?recursive\s+view\b"),
    ("there", r"(create|drop|alter)\s+(unique\s+)?(table|index|policy|materialized\s+view|statistics)\b"),
    ("both", r"(create|drop|alter)\s+(or\s+replace\s+)?(schema|type|domain|function|procedure|routine|aggregate|operator|cast|collation|extension|"
             r"sequence|conversion|trusted|language|access|text)\b"),
    ("there", r"(set\s+constraints|refresh|reindex|cluster)\b"),
    ("there", r"comment\s+on\b"),
)
# What follows a COPY FROM STDIN that fails
STATEMENT = re.compile(r"^(copy|select|insert|update|delete|create|drop|alter|begin|commit|rollback|set|reset|truncate|--)\b.*", re.M | re.I)
TOKEN = re.compile(r"""
    (?P<comment>--[^\n]*) | (?P<block>/\*) | (?P<estring>\bE'(?:[^'\\]|\\.|'')*') | (?P<string>'(?:[^']|'')*') | (?P<ident>"(?:[^"]|"")*") |
    (?P<dollar>\$(?P<tag>[A-Za-z_]\w*)?\$) | (?P<open>\() | (?P<close>\)) | (?P<semicolon>;) | (?P<meta>\\[a-z;]\S*[^\n]*) |
    (?P<word>[A-Za-z_][\w$]*)""", re.X | re.S | re.I)


def statements(text):
    """[(kind, text)]: "sql" with its terminator, or "other" (comments, psql's commands, data of COPY) to be kept as it is."""
    at, start, depth, atomic = 0, 0, 0, 0
    while True:
        found = TOKEN.search(text, at)
        if not found:
            yield "other", text[start:]
            return
        kind, at = found.lastgroup, found.end()
        if kind == "tag" or found["dollar"]:
            end = text.find(found["dollar"], at)
            at = len(text) if end < 0 else end + len(found["dollar"])
        elif kind == "block":
            at = end_of_comment(text, found.start())
        elif kind == "open":
            depth += 1
        elif kind == "close":
            depth = max(depth - 1, 0)
        elif kind == "word" and re.search(r"\bbegin\s+atomic$", text[start:at], re.I):
            atomic = 1
        elif kind == "word" and atomic and found[0].lower() in ("case", "end"):
            atomic += 1 if found[0].lower() == "case" else -1
        elif kind == "meta":
            if not text[start:found.start()].strip():
                yield "other", text[start:at]
                start, depth = at, 0
            elif not found[0].startswith("\\;"):     # \gset and the like end a statement
                yield "other", text[start:at]
                start, depth = at, 0
            else:
                at = found.start() + 2
        elif kind == "semicolon" and depth == 0 and not atomic:
            sql = text[start:at]
            if re.search(r"\bfrom\s+stdin\b", sql, re.I) and re.match(r"\s*copy\b", without_comments(sql), re.I):
                end = re.compile(r"^\\\.$", re.M).search(text, at)
                if end and not STATEMENT.search(text[at:end.start()]):
                    at = end.end()
                    yield "other", text[start:at]
                else:       # an error in the original, where no data follow
                    yield "other", sql + "\n\\."
            else:
                yield "sql", sql
            start = at


def end_of_comment(text, at):
    depth = 0
    for found in re.compile(r"/\*|\*/").finditer(text, at):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    return len(text)


def without_comments(sql):
    return re.sub(r"^(\s|--[^\n]*(\n|$)|/\*.*?\*/)*", "", sql, flags=re.S)


def how_to_run(sql):
    for how, words in HOW:
        if re.match(words, sql, re.I | re.S):
            return how
    return None


def for_foreign_tables(sql):
    """A statement that postgres_fdw refuses, as near as it gets."""
    sql = re.sub(r"(?is)^(copy\s+)([\w.\"]+)\s*(?:\(([^)]*)\))?(\s+to\b)", lambda m: f"{m[1]}(SELECT {m[3] or '*'} FROM {m[2]}){m[4]}", sql)
    if re.match(r"copy\b", sql, re.I):
        sql = re.sub(r"(?i)\s+freeze\b", "", sql)
    return re.sub(r"(?is)\bon\s+conflict\s*\([^;]*?\)\s*(where\b[^;]*?)?do\s+nothing", "ON CONFLICT DO NOTHING", sql)


def rewrite(text):
    """The text of a test file, for psql."""
    parts = []
    for kind, part in statements(text):
        sql = without_comments(part)
        bare = TEMPORARY.sub(r"\1", sql)
        how = how_to_run(bare) if kind == "sql" else None
        comment = part[:len(part) - len(sql)]
        if how is None:
            parts.append(comment + for_foreign_tables(sql))
            continue
        body = bare.rstrip().removesuffix(";")
        body = re.sub(r"\bon\s+commit\s+(drop|preserve\s+rows|delete\s+rows)", "", body, flags=re.I)
        if how == "role" and re.match("drop", body, re.I):
            names = re.findall(r"[\w]+", re.sub(r"(?i)^drop\s+(role|user|group)\s+(if\s+exists\s+)?", "", body))
            comment += "".join(f"\nDROP USER MAPPING IF EXISTS FOR {name} SERVER loopback;" for name in names) + "\n"
        parts.append(f"{comment}SELECT mirror.run('{how}', $mirror${body}$mirror$) \\g /dev/null")
    return "".join(parts)
