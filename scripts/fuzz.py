#!/usr/bin/env python3
"""Run the fuzzers of test/fuzz, one after the other: scripts/fuzz.py [--time SECONDS] [--minimise] [target ...]

Installs clang if there is none, builds the fuzzers with the address and undefined-behaviour sanitizers, and runs
each of them (or the ones named) on one core: SECONDS (600) of CPU time in all, shared evenly. A run begins with the
inputs of test/fuzz/corpus, and with what earlier runs found (test/fuzz/build/corpus). A progress line is printed
for each half minute. What crashes a target, takes too long or too much memory, is kept in test/fuzz/findings, and
the exit status is 1.

--minimise rewrites test/fuzz/corpus instead: the smallest set of inputs that reaches all lines which the corpus,
earlier runs and fresh seeds (test/fuzz/seeds) reach."""
import argparse
import glob
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FUZZ = os.path.join(ROOT, "test", "fuzz")
SLICE = 30              # seconds from one progress line to the next
INPUT_NBYTES_MAX = 8192
LIMITS = ["-timeout=20", "-rss_limit_mb=2048", f"-max_len={INPUT_NBYTES_MAX}"]


def have_clang():
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run(["clang", "-fsanitize=fuzzer,address", "-x", "c", "-", "-o", work + "/a"], text=True, capture_output=True,
                              input="int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d[n - n] * 0; }",
                              check=False) if shutil.which("clang") else None
    return done and done.returncode == 0


def build():
    if not have_clang():
        subprocess.check_call([os.path.join(ROOT, "scripts", "install_deps.sh"), "clang", "libclang-rt-dev"])
    subprocess.check_call(["make", "-s", "-C", FUZZ, "fuzzers"], stdin=subprocess.DEVNULL)


def program(target):
    return os.path.join(FUZZ, "build", "fuzz", "fuzz_" + target)


def folder(*parts):
    path = os.path.join(FUZZ, *parts)
    os.makedirs(path, exist_ok=True)
    return path


def child_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def fuzz(target, budget):
    """Run one target for budget seconds of CPU time; (runs, seconds, whether something was found)."""
    runs, used = 0, 0.0
    findings = folder("findings")
    log_path = os.path.join(folder("build"), target + ".log")
    while used < budget - 1:
        seconds = max(1, min(SLICE, round(budget - used)))
        before = child_cpu()
        with open(log_path, "w", encoding="utf-8") as log:
            done = subprocess.run(
                [program(target), *LIMITS, f"-max_total_time={seconds}", "-print_final_stats=1", "-reload=0",
                 f"-artifact_prefix={findings}/{target}-", folder("build", "corpus", target), folder("corpus", target)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, check=False)
        used += child_cpu() - before
        with open(log_path, encoding="utf-8", errors="replace") as log:
            text = log.read()
        executed = re.search(r"stat::number_of_executed_units: *(\d+)", text)
        runs += int(executed[1]) if executed else 0
        reached = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", text)
        where = f", {reached[-1][0]} edges, {reached[-1][2]} inputs" if reached else ""
        print(f"{target}: {used:.0f} of {budget:.0f} CPU s, {runs} runs{where}", flush=True)
        if done.returncode != 0:
            print(text[-6000:])
            print(f"{target}: FINDING, see {findings}", flush=True)
            return runs, used, True
    return runs, used, False


def minimise(targets):
    seeds = folder("build", "seeds")
    shutil.rmtree(seeds)
    subprocess.check_call([os.path.join(FUZZ, "seeds"), seeds])
    for target in targets:
        merged = folder("build", "merged", target)
        shutil.rmtree(merged)
        os.mkdir(merged)
        sources = [path for path in (os.path.join(FUZZ, "corpus", target), os.path.join(seeds, target),
                                     os.path.join(FUZZ, "build", "corpus", target)) if os.path.isdir(path)]
        # Edges without their counters: few inputs, each for a line that no other reaches.
        subprocess.run([program(target), *LIMITS, "-set_cover_merge=1", "-use_counters=0", merged, *sources],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        shutil.rmtree(folder("corpus", target))
        shutil.copytree(merged, os.path.join(FUZZ, "corpus", target))
        files = glob.glob(os.path.join(FUZZ, "corpus", target, "*"))
        print(f"{target}: {len(files)} inputs, {sum(map(os.path.getsize, files))} bytes", flush=True)


def main():
    known = sorted(os.path.basename(path)[5:-2] for path in glob.glob(os.path.join(FUZZ, "fuzz_*.c")))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", type=float, default=600, help="seconds of CPU time, all targets together")
    parser.add_argument("--minimise", action="store_true", help="rewrite the corpus")
    parser.add_argument("targets", nargs="*", metavar="target", help=" ".join(known))
    options = parser.parse_args()
    targets = options.targets or known
    if not set(targets) <= set(known):
        parser.error("targets are " + " ".join(known))

    build()
    if options.minimise:
        minimise(targets)
        return 0
    results = [fuzz(target, options.time / len(targets)) for target in targets]
    found = sum(result[2] for result in results)
    print(f"{len(targets)} targets, {sum(r[0] for r in results)} runs, {sum(r[1] for r in results):.0f} CPU s, "
          f"{found} with findings")
    return 1 if found else 0


sys.exit(main())
