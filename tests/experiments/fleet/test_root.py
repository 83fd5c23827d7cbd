"""Where the key of a fleet is read, and that nothing else holds it. Without Spark."""

import pickle

import pytest

from attacks import rows
from tacit import InvalidInput, Randomness
from tacit_experiments.fleet.root import Root

KEY = bytes(range(60, 92))
SOURCE = Randomness.sealed(KEY)


@pytest.mark.attack(rows.ROOT)
def test_roots_are_read_by_name_and_never_told(tmp_path, monkeypatch):
    path = tmp_path / "root"
    path.write_bytes(KEY)
    monkeypatch.setenv("TACIT_ROOT", KEY.hex() + "\n")
    roots = [Root.found(f"file:{path}"), Root.found(path), Root.found("env:TACIT_ROOT")]
    assert {root.sealed().fingerprint for root in roots} == {SOURCE.fingerprint}
    path.write_text(KEY.hex())
    assert roots[0].sealed().fingerprint == SOURCE.fingerprint
    assert KEY not in pickle.dumps(roots)
    assert not any(KEY.hex() in repr(root) or repr(KEY) in repr(root) for root in roots)
    path.write_bytes(KEY[::-1])
    with pytest.raises(InvalidInput, match="not the one that the driver has read"):
        roots[0].sealed()
    for content in (b"", KEY[:31], KEY.hex().encode()[:-1], b"\xff" * 64):
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match="must be 32 random bytes") as error:
            Root.found(f"file:{path}")
        assert KEY.hex()[:8] not in str(error.value)
    for place in (KEY, "root", None, f"http:{path}"):
        with pytest.raises(InvalidInput, match="'root' parameter") as error:
            Root.found(place)
        assert repr(KEY) not in str(error.value)
    with pytest.raises(InvalidInput, match="no readable key at env:NOTHING"):
        Root.found("env:NOTHING")
