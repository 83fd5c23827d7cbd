"""The files of deploy/ fit the program: its variables, its routes, its metrics, and an orderly end."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import typer.main
import yaml

from experiments.service.running import running
from experiments.world import World
from tacit.cli.app import app
from tacit_experiments.service.http import Metrics

FOLDER = Path(__file__).parents[3] / "deploy"
CONTAINER = (FOLDER / "Containerfile").read_text()
CHART = (FOLDER / "helm" / "templates" / "deployment.yaml").read_text()
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())
ALERTS = yaml.safe_load((FOLDER / "prometheus" / "alerts.yaml").read_text())
DASHBOARD = json.loads((FOLDER / "grafana" / "tacit.json").read_text())


def read_by(command):
    """The environment variables that a command reads."""
    options = typer.main.get_command(app).get_command(None, command).params
    return {option.envvar for option in options if option.envvar}


def instructions():
    """(name, rest) of each instruction of the Containerfile."""
    lines = re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n", "", CONTAINER))
    return [tuple(line.split(maxsplit=1)) for line in lines.splitlines() if line.strip()]


def of(name):
    return [rest for instruction, rest in instructions() if instruction == name]


def container_environment():
    (text,) = of("ENV")
    return dict(word.split("=", 1) for word in shlex.split(text))


def test_every_variable_is_one_that_the_program_reads():
    known = read_by("serve")
    for_experiments = {"TACIT_REPLIES", "TACIT_KEY", "TACIT_WITNESS"}  # by default beside a store that is a file
    assert known == {"TACIT_STORE", "TACIT_HOST", "TACIT_PORT", "TACIT_QUIET"} | for_experiments
    assert read_by("token") == {"TACIT_STORE"}

    def ours(names):
        return {name for name in names if name.startswith("TACIT_")}

    assert ours(container_environment()) == known - for_experiments
    assert ours(COMPOSE["services"]["tacit"]["environment"]) == known
    assert ours(re.findall(r"- name: (\w+)", CHART)) == known


def test_the_container_has_two_stages_and_no_root():
    assert next(name for name, _ in instructions()) == "ARG"
    assert of("FROM") == ["${PYTHON} AS build", "${PYTHON}"]
    assert of("COPY")[-1] == "--from=build /opt/tacit /opt/tacit"
    assert of("USER") == ["10001:10001"]
    last = [name for name, _ in instructions()].index("USER")
    assert not {name for name, _ in instructions()[last:]} & {"RUN", "COPY", "ADD"}
    assert of("STOPSIGNAL") == ["SIGTERM"]
    for command in of("RUN"):
        if "pip install" in command:
            assert "--require-hashes" in command or "--constraint requirements.lock" in command
    for source in (place for copied in of("COPY")[:-1] for place in copied.split()[:-1]):
        assert (FOLDER.parent / source).exists()


def test_what_the_container_starts_serves_and_ends_in_order(tmp_path):
    """The same words and variables as in the container, with another place and port."""
    (entrypoint,), (arguments,) = (json.loads(of(name)[0]) for name in ("ENTRYPOINT", "CMD"))
    assert entrypoint == "tacit"
    environment = container_environment() | {"TACIT_STORE": str(tmp_path / "decisions.db"), "TACIT_PORT": "0"}
    environment |= {"TACIT_HOST": "127.0.0.1", "PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    command = [sys.executable, "-m", "tacit.cli.main", arguments, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd="/") as child:
        address = json.loads(child.stdout.readline())["address"]
        (check,) = of("HEALTHCHECK")
        probe = json.loads(check[check.index("[") :])
        probe[0] = sys.executable
        there = environment | {"TACIT_PORT": address.rpartition(":")[2]}
        assert subprocess.run(probe, env=there, timeout=60).returncode == 0
        assert subprocess.run(probe, env=there | {"TACIT_PORT": "1"}, stderr=subprocess.DEVNULL).returncode == 1
        with urllib.request.urlopen(f"{address}/metrics", timeout=30) as answer:
            assert answer.status == 200
        child.send_signal(signal.SIGTERM)
        assert child.wait(60) == 0
    assert {path.name.split(".db")[0] for path in tmp_path.iterdir()} == {"decisions"}, (
        "nothing but the store was written"
    )


def test_the_compose_file_opens_no_port_to_others_and_keeps_replies_apart():
    services = COMPOSE["services"]
    for service in services.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    kept = [services[name]["volumes"][0].split(":")[0] for name in ("db", "replies")]
    assert len(set(kept)) == 2, "replies are in a database of their own"
    assert all("fsync=on" in services[name]["command"] for name in ("db", "replies"))
    passwords = [services["tacit"]["environment"]["PGPASSWORD"], services["db"]["environment"]["POSTGRES_PASSWORD"]]
    assert all(password.startswith("${POSTGRES_PASSWORD:?") for password in passwords), "no password stands in the file"


def test_probes_ask_for_routes_that_there_are(tmp_path):
    with running(tmp_path / "decisions.db") as service:
        for path in re.findall(r"path: (/\w+)$", CHART, re.MULTILINE):
            assert service.ask("GET", path, token="")[0] == 200


def metrics_page(folder):
    """All metrics of a service with a learner, and with an experiment of which a version was released."""
    metrics = Metrics()
    route = SimpleNamespace(path="/v1/learners/{name}/decisions")
    metrics.count({"method": "POST", "path": "/v1/learners/a/decisions", "route": route}, 200, 0.01)
    world = World(folder)
    try:
        world.started()
        world.move(3)
        return metrics.page(world.experiments.figures()).body.decode()
    finally:
        world.close()


def expressions():
    """The expressions of alerts and of the dashboard."""
    yield from (rule["expr"] for group in ALERTS["groups"] for rule in group["rules"])
    yield from (target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"])


def test_alerts_and_dashboard_are_about_metrics_that_there_are(tmp_path):
    page = metrics_page(tmp_path)
    named = {name for expression in expressions() for name in re.findall(r"tacit_\w+", expression)}
    assert named >= {"tacit_requests_total", "tacit_request_seconds_bucket", "tacit_decisions_total"}
    for name in named:
        assert re.search(rf"^{name}\b", page, re.MULTILINE), name
    for expression in expressions():
        for label in re.findall(r"(\w+)(?:=~|!=|=)\"", expression):
            assert label == "job" or f'{label}="' in page, label
    assert 'route="/v1/learners/{name}/decisions"' in page
