#!/usr/bin/env python3
"""The include lines of src/ point downward, and no files include or call each other in a circle.

LAYERS lists the folders from the lowest to the highest; src/README.md says what
is in each.  A file may include what is in its own folder or in a lower one.  A
module is a header with the .c file of the same name.  Modules form no circle:
not across folders, which the order of the layers forbids, and not within one.
A .c file includes the header of its own name, if there is one.

Include lines do not tell which .c file defines what a header declares.  So the same is proved for the functions and
variables px_* themselves, from where they are defined to where their names stand.  FUNCTIONS_BY_ADDRESS are exceptions.

Prints TAP."""
import os
import re
import sys

sys.dont_write_bytecode = True
import report  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = os.path.join(ROOT, "src")

# From the lowest to the highest.  PURE layers know nothing of a server.
PURE = ("base", "codec", "wire", "column", "adapt")
LAYERS = PURE + ("compat", "compat_executor", "compat_json", "compat_query", "guc", "library", "tuple", "stats", "conn", "admit", "transport", "exec", "node", "plan", "check", "sql",
                 "pg_exchange")
RANK = {layer: rank for rank, layer in enumerate(LAYERS)}

# SQL-callable functions that a lower layer recognises by their address, as the server calls them from its catalogs.
FUNCTIONS_BY_ADDRESS = ("px_sql_send", "px_sql_send_text")

COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
DECLARATION = re.compile(r"^extern\b[^;{]*;", re.M)
# In PostgreSQL's style a function's name begins a line, below its type; a variable is initialised where it is defined.
FUNCTION = re.compile(r"^(px_\w+)\(", re.M)
VARIABLE = re.compile(r"^(?!extern\b|static\b|typedef\b)[a-z][\w \t*]*\b(px_\w+)(?:\[[^]]*\])*\s*(?:=|;)", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)
# Headers of a server that raise errors, allocate or know of processes; c.h and port/ are for all.
SERVER = re.compile(r"^(postgres\.h|fmgr\.h|libpq|access/|catalog/|commands/|executor/|foreign/|funcapi\.h|lib/|mb/|"
                    r"miscadmin\.h|nodes/|optimizer/|parser/|pgstat\.h|storage/|tcop/|utils/)")


def files():
    for folder, _, names in sorted(os.walk(SOURCE)):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(folder, name), SOURCE)


def layer(path):
    return path.split("/")[0].rsplit(".", 1)[0]


def module(path):
    return path.rsplit(".", 1)[0]


def symbol_edges(texts):
    """Which module uses functions or variables of which other one: {module: {other: names}}."""
    code = {path: DECLARATION.sub("", STRING.sub('""', COMMENT.sub("", text))) for path, text in texts.items()}
    home = {name: module(path) for path, text in code.items() if path.endswith(".c")
            for pattern in (FUNCTION, VARIABLE) for name in pattern.findall(text)}
    edges = {}
    for path, text in code.items():
        for name in set(re.findall(r"\bpx_\w+", text)) - set(FUNCTIONS_BY_ADDRESS):
            if home.get(name, module(path)) != module(path):
                edges.setdefault(module(path), {}).setdefault(home[name], set()).add(name)
    return edges


def circles(edges):
    """The strongly connected components of more than one module (Tarjan, 1972)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        for target in sorted(edges.get(node, ())):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in on_stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            component = []
            while not component or component[-1] != node:
                component.append(stack.pop())
                on_stack.discard(component[-1])
            if len(component) > 1:
                found.append(sorted(component))
    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def main():
    paths = list(files())
    known = set(paths)
    upward, impure, strays, edges, texts = [], [], [], {}, {}
    for path in paths:
        with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
            texts[path] = file.read()
        included = INCLUDE.findall(texts[path])
        edges.setdefault(module(path), set())
        if layer(path) not in RANK:
            strays.append(f"{path} is in no layer that LAYERS lists")
            continue
        for target in included:
            if target not in known:
                if layer(path) in PURE and SERVER.match(target):
                    impure.append(f"{path} includes {target}")
                continue
            if RANK[layer(target)] > RANK[layer(path)]:
                upward.append(f"{path} includes {target}")
            if module(target) != module(path):
                edges[module(path)].add(module(target))
        if path.endswith(".c") and module(path) + ".h" in known and module(path) + ".h" not in included:
            strays.append(f"{path} does not include its own header")

    uses = symbol_edges(texts)
    calls = [f"{user} uses {', '.join(sorted(names))} of {other}" for user, others in sorted(uses.items())
             for other, names in sorted(others.items()) if RANK.get(layer(other), 0) > RANK.get(layer(user), 0)]

    for name, problems in (
            ("every file is in a layer and includes its own header", strays),
            ("includes point downward only", upward),
            ("the pure layers include nothing of a server", impure),
            ("no modules include each other in a circle", [" -> ".join(circle) for circle in circles(edges)]),
            ("no modules use functions of each other in a circle, or of a higher layer",
             calls + [" -> ".join(circle) for circle in circles(uses)])):
        report.ok(not problems, name, "\n".join(problems))
    return report.done()


if __name__ == "__main__":
    sys.exit(main())
