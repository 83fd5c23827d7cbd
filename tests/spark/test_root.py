"""Where the key of a fleet is read, and that nothing else holds it. Without Spark."""

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from attacks import rows
from tacit import InvalidInput, Randomness
from tacit.spark import root as root_module
from tacit.spark.root import Root

KEY = bytes(range(60, 92))
SOURCE = Randomness.sealed(KEY)


@pytest.mark.attack(rows.ROOT)
def test_bytes_stay_on_one_machine_in_a_file_of_their_own():
    root = Root.found(KEY, local=True)
    assert root == Root.found(KEY, local=True)
    assert root.sealed().fingerprint == SOURCE.fingerprint
    assert Path(root.place.removeprefix("file:")).stat().st_mode & 0o077 == 0
    place, folder = root_module._in_folder(KEY)
    assert place.read_bytes() == KEY
    assert place.stat().st_mode & 0o777 == 0o600
    assert place.parent.stat().st_mode & 0o777 == 0o700
    folder.cleanup()
    assert KEY not in pickle.dumps(root)
    with pytest.raises(InvalidInput, match="32 secret random bytes"):
        Root.found(bytes(32), local=True)


@pytest.mark.attack(rows.ROOT)
@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has no files without a name")
def test_a_driver_that_is_killed_leaves_no_key(tmp_path):
    program = (
        "import os, signal; from tacit.spark.root import Root; root = Root.found(bytes(range(60, 92)), local=True);"
        "assert root.sealed(); print(root.place, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert not Path(ended.stdout.strip().removeprefix("file:")).exists()
    assert not list(tmp_path.iterdir())


@pytest.mark.attack(rows.ROOT)
def test_roots_are_read_by_name_and_never_told(tmp_path, monkeypatch):
    path = tmp_path / "root"
    path.write_bytes(KEY)
    monkeypatch.setenv("TACIT_ROOT", KEY.hex() + "\n")
    roots = [Root.found(f"file:{path}"), Root.found(path), Root.found("env:TACIT_ROOT")]
    assert {root.sealed().fingerprint for root in roots} == {SOURCE.fingerprint}
    path.write_text(KEY.hex())
    assert roots[0].sealed().fingerprint == SOURCE.fingerprint
    assert not any(KEY.hex() in repr(root) or repr(KEY) in repr(root) for root in roots)
    path.write_bytes(KEY[::-1])
    with pytest.raises(InvalidInput, match="not the one that the driver has read"):
        roots[0].sealed()
    for content in (b"", KEY[:31], KEY.hex().encode()[:-1], b"\xff" * 64):
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match="must be 32 random bytes") as error:
            Root.found(path)
        assert KEY.hex()[:8] not in str(error.value)
    for place in (KEY, "root", None, f"http:{path}"):
        with pytest.raises(InvalidInput, match="'root' parameter") as error:
            Root.found(place)
        assert repr(KEY) not in str(error.value)
    with pytest.raises(InvalidInput, match="no readable key at env:NOTHING"):
        Root.found("env:NOTHING")
