"""The packages lz4 and zstandard of PyPI, which test/wire_reader/ needs: in a venv in the cache folder, where they are missing."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import harness  # noqa: E402


def require():
    """Start the script anew by a Python that has the packages, if this one lacks them."""
    try:
        import lz4.block  # noqa: F401
        import zstandard  # noqa: F401
        return
    except ImportError:
        pass
    # One for each Python: scripts/check_matrix.py shares the folder between systems.
    venv = os.path.join(harness.cache_dir(), "wire-venv-{}.{}".format(*sys.version_info))
    python = os.path.join(venv, "bin", "python")
    if sys.executable == python:
        sys.exit("error: lz4 and zstandard are installed, but cannot be imported")
    if not os.path.exists(os.path.join(venv, "complete")):
        subprocess.check_call([sys.executable, "-m", "venv", "--clear", venv])
        subprocess.check_call([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "lz4", "zstandard"])
        with open(os.path.join(venv, "complete"), "w", encoding="utf-8"):
            pass
    os.execv(python, [python, *sys.argv])
