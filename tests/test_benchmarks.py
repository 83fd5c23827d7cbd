"""The benchmarks' page is made from their results, and from nothing else."""

import json

from benchmarks.__main__ import LATEST, PAGE, PEERS, page, tables

MACHINE = {"cores": 2, "memory in GB": 8, "python": "3.11"}


def test_the_page_is_made_of_the_results():
    assert PAGE.read_text() == page(json.loads(LATEST.read_text()), json.loads(PEERS.read_text()))


def test_keys_without_a_setting_share_one_table():
    assert tables({"rounds/s": 12345.6, "ratio, tacit / other": 0.25}) == [
        "| what | value |",
        "|---|---|",
        "| rounds/s | 12,346 |",
        "| ratio, tacit / other | 0.25 |",
        "",
    ]


def test_settings_become_columns_and_spreads_join_their_values():
    results = {
        "accuracy on leaves, epsilon=3, ours, fast": 0.9,
        "accuracy on leaves, epsilon=3, ours, fast, deviation": 0.0123,
        "accuracy on leaves, epsilon=none, theirs": 0.95,
        "accuracy on leaves, epsilon=0.1, ours, fast": 0.5,
        "regret, T=10, ours": 1234.0,
        "regret, T=10, ours, standard error": 56.0,
        "a value at epsilon=1": 1.0,
    }
    assert tables(results) == [
        "| accuracy on leaves | epsilon=0.1 | epsilon=3 | epsilon=none |",
        "|---|---|---|---|",
        "| ours, fast | 0.5 | 0.900 ± 0.012 |  |",
        "| theirs |  |  | 0.95 |",
        "",
        "| regret | T=10 |",
        "|---|---|",
        "| ours | 1,234 ± 56 |",
        "",
        "| what | value |",
        "|---|---|",
        "| a value at epsilon=1 | 1 |",
        "",
    ]


def test_the_page_has_a_section_for_each_benchmark_and_peer():
    latest = {
        "date": "2026-01-02",
        "machine": MACHINE,
        "versions": {"numpy": "2"},
        "results": {"running_sums": {"rate": 1.0}, "noise": {"rate": 2.0}},
    }
    peer = {
        "date": "2026-01-03",
        "machine": MACHINE,
        "python": "3.11",
        "versions": {"other": "1.5"},
        "about": "How it was measured.",
        "results": {"rate, d=10, other": 3.0},
    }
    text = page(latest, {"other_peer": peer})
    heads = [line for line in text.splitlines() if line.startswith("#")]
    assert heads == [
        "# Benchmarks",
        "## In one process",
        "### running sums",
        "### noise",
        "## Against peers",
        "### other-peer",
    ]
    assert "Measured on 2026-01-03, 2 cores, 8 GB, Python 3.11, other 1.5. How it was measured." in text
    assert "## Against peers" not in page(latest, {})


def test_every_peer_has_requirements_and_a_module():
    from benchmarks.peers.__main__ import HERE, NAMES

    for name in NAMES:
        assert (
            name == "spark" or (HERE / "requirements" / f"{name}.txt").exists()
        )  # it has the environment of its tests
        assert (HERE / f"{name}_peer.py").exists()
