"""What the pages about the service tell people to type works, and what they tell them to install is well formed."""

import json
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
import typer.main

import tacit_experiments.experiments
from attacks import rows
from cli.command import run_command
from experiments.service.running import running
from tacit.cli.app import app
from tacit_experiments.service.tokens import Tokens

DOCS = Path(__file__).parents[2] / "docs"
README = (DOCS.parent / "README.md").read_text()
SERVICE, DEPLOYMENT = (DOCS / "service.md").read_text(), (DOCS / "deployment.md").read_text()


def blocks(page, kind):
    return re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_three_commands(tmp_path):
    (commands,) = [block for block in blocks(SERVICE, "bash") if block.startswith("curl") and "/learners" in block]
    scopes = re.findall(r"tacit token --store decisions.db --scopes (\S+)\)", SERVICE)[1]
    with running(tmp_path / "decisions.db") as service:
        there = commands.replace("http://127.0.0.1:8000", service.url)
        answers = []
        for command in there.strip().split("\n\n"):
            told = command.replace("curl -s", "curl -s -w '\\n%{http_code}'")
            environment = {"PATH": "/usr/bin:/bin", "TOKEN": Tokens(service.store).make(scopes)}
            done = subprocess.run(["sh", "-c", told], capture_output=True, text=True, timeout=60, env=environment)
            answers.append(done.stdout.rpartition("\n"))
        assert [status for _, _, status in answers] == ["201", "200", "204"]
        assert json.loads(answers[0][0])["comparison"]["candidates"]
        assert json.loads(answers[1][0]).keys() == {"round", "action"}
        assert service.store.export("homepage")["rounds"] == 1

        names = {"token": service.token}
        for block in (block for block in blocks(SERVICE, "py") if "tacit_sdk" not in block):
            exec(block.replace("http://127.0.0.1:8000", service.url).replace("0.05", "20"), names)
        assert service.store.export("homepage")["rounds"] == 3


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_an_experiment_from_start_to_click(tmp_path, monkeypatch, capsys):
    (commands,) = [block for block in blocks(SERVICE, "bash") if "/experiments" in block]
    (program,) = [block for block in blocks(SERVICE, "py") if "tacit_sdk" in block]
    scopes = re.findall(r"tacit token --store decisions.db --scopes (\S+)\)", SERVICE)[0]
    with running(tmp_path / "decisions.db") as service:
        token = Tokens(service.store).make(scopes)
        told = commands.replace("http://127.0.0.1:8000", service.url).replace("curl -s", "curl -s -f")
        done = subprocess.run(
            ["sh", "-ec", told], capture_output=True, timeout=60, env={"PATH": "/usr/bin:/bin", "TOKEN": token}
        )
        assert done.returncode == 0, done.stdout
        monkeypatch.setenv("TOKEN", token)
        names = {}
        exec(program.replace("http://127.0.0.1:8000", service.url), names)
        assert capsys.readouterr().out.strip() in ("control", "short", "video")
        _, pid = names["decision"].token.split(".")
        with tacit_experiments.experiments.Experiments(service.store) as experiments:
            (held,) = experiments.held(pid)
        assert (held["arm"], held["value"]) == (names["decision"].arm, 1)


def test_the_commands_of_the_readme_are_those_of_the_page():
    (commands,) = [block for block in blocks(SERVICE, "bash") if "/experiments" in block]
    (program,) = [block for block in blocks(SERVICE, "py") if "tacit_sdk" in block]
    assert any(commands in block for block in blocks(README, "bash"))
    assert program in blocks(README, "py")
    for line in re.findall(r"^(?:export|tacit serve) [^#\n]*", README, re.MULTILINE):
        assert line.strip() in SERVICE


def test_the_commands_for_tokens(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for line in re.findall(r"^tacit token .*$", SERVICE, re.MULTILINE):
        words = line.split("#")[0].split()[1:]
        if "--revoke" in words:
            with tacit_experiments.Store(tmp_path / "decisions.db") as store:
                Tokens(store).make("read")
        assert run_command(*words) == 0, line
        assert capsys.readouterr().out


def test_every_route_of_the_service_is_in_the_table(tmp_path):
    with running(tmp_path / "decisions.db") as service:
        paths = service.get("/openapi.json")[1]["paths"]
    listed = set(re.findall(r"`(GET|POST|PATCH|DELETE) ([^`]+)`", SERVICE))
    assert {(method.upper(), path) for path, methods in paths.items() for method in methods} <= listed
    assert ("GET", "/") in listed


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_unit_is_well_formed(tmp_path):
    (unit,) = blocks(DEPLOYMENT, "ini")
    file = tmp_path / "tacit.service"
    file.write_text(unit.replace("/opt/tacit/bin/tacit", "/bin/true").replace("User=tacit\nGroup=tacit\n", ""))
    command = ["systemd-analyze", "verify", "--man=no", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    told = [line for line in (done.stdout + done.stderr).splitlines() if "tacit.service" in line]
    assert told == []
    assert "\nSystemCallErrorNumber=EPERM\n" in unit  # else OpenBLAS, which calls mbind, is killed when it is loaded
    broken = tmp_path / "broken.service"
    broken.write_text(unit.replace("ProtectSystem=strict", "ProtectSystem=maybe"))
    done = subprocess.run([*command[:-1], str(broken)], capture_output=True, text=True, timeout=60)
    assert "Failed to parse protect system value" in done.stdout + done.stderr


def test_proxies_say_what_the_browser_speaks_and_log_no_address():
    nginx, upstream = blocks(DEPLOYMENT, "nginx")
    for text in (nginx, upstream):
        code = re.sub(r"'[^']*'", "''", text)
        assert code.count("{") == code.count("}")
        for line in code.splitlines():
            assert not line.strip() or line.strip()[-1] in "{};", line
    assert nginx.count("proxy_set_header X-Forwarded-Proto $scheme;") == nginx.count("proxy_pass") == 1
    (logged,) = re.findall(r"log_format .*;", nginx)
    assert not re.search(r"\$(request|uri|request_uri|args|http_\w+|remote_addr)\b", logged)


@pytest.mark.attack(rows.COUNTED)
@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_takes_its_configuration_and_logs_no_feedback(tmp_path):
    nginx, upstream = blocks(DEPLOYMENT, "nginx")
    text = re.sub(r"(?m)^\s*ssl_.*$", "", nginx).replace("443 ssl http2", f"unix:{tmp_path}/socket")
    text = text.replace("/var/log/nginx", str(tmp_path))
    file = tmp_path / "nginx.conf"
    with running(tmp_path / "decisions.db") as service:
        there = text.replace("http://127.0.0.1:8000", service.url)
        file.write_text(f"pid {tmp_path}/pid; daemon off; events {{}}\nhttp {{\n{upstream}\n{there}\n}}\n")
        done = subprocess.run(["nginx", "-t", "-c", str(file)], capture_output=True, text=True, timeout=60)
        assert "syntax is ok" in done.stderr, done.stderr
        with subprocess.Popen(["nginx", "-c", str(file)], stderr=subprocess.DEVNULL) as proxy:
            try:
                while not (tmp_path / "socket").exists():
                    time.sleep(0.01)
                told = [through(tmp_path / "socket", *request) for request in requests(service)]
            finally:
                proxy.terminate()
    assert told == [200, 204, 409, 404]
    assert [line.split()[1:3] for line in (tmp_path / "tacit.log").read_text().splitlines()] == [["POST", "200"]]
    assert "feedback" not in (tmp_path / "tacit-errors.log").read_text()


def requests(service):
    """A decision, and feedback that is taken, refused and sent to no address."""
    service.made(name="home")
    yield service, "decisions", {"key": "a"}
    for place, losses in (("rounds/0/feedback", 0.5), ("rounds/0/%66eedback", 0.4), ("rounds/0/feedback/", 0.5)):
        yield service, place, {"feedback": [losses] * 3}


def through(path, service, place, content):
    """The status of what a proxy answers at a socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        body = json.dumps(content).encode()
        head = f"POST /v1/learners/home/{place} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}"
        shown = f"Content-Type: application/json\r\nAuthorization: Bearer {service.token}"
        connection.sendall(f"{head}\r\n{shown}\r\n\r\n".encode() + body)
        return int(connection.makefile("rb").readline().split()[1])


def test_the_page_names_the_variables_and_files_that_there_are():
    yaml = pytest.importorskip("yaml")
    (scrape,) = (yaml.safe_load(block) for block in blocks(DEPLOYMENT, "yaml"))
    assert scrape["scrape_configs"][0]["static_configs"]
    for name in re.findall(r"`(deploy/[^`]*)`", DEPLOYMENT):
        assert (DOCS.parent / name).exists(), name
    options = [option for option in typer.main.get_command(app).get_command(None, "serve").params if option.envvar]
    table = dict(re.findall(r"^\| `(TACIT_\w+)` \| `(--\w+)`", DEPLOYMENT, re.MULTILINE))
    assert table == {option.envvar: option.opts[0] for option in options}
