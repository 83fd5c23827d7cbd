"""Every kind of problem has a command wherever it makes sense, with the same options everywhere."""

import itertools
import json
from importlib.metadata import EntryPoint, EntryPoints
from inspect import signature

import pytest

from cli.command import refused, run_command
from tacit.cli import options, plugins
from tacit.cli.app import app
from tacit.cli.options import Output
from tacit.packages import COMMANDS

KINDS = {
    "experts": ("--n", "3"),
    "tracking": ("--n", "3", "--switches", "1"),
    "convex": ("--dim", "2"),
    "lipschitz": ("--lipschitz", "6"),
    "bandit": ("--dim", "2", "--radius", "0.5"),
    "arms": ("--n", "3"),
    "policies": ("--n", "20", "--actions", "3"),
    "contextual-arms": ("--n", "3", "--dim", "4"),
    "stochastic": ("--dim", "2"),
}
PRIVACY = ("--epsilon", "2", "--delta", "1e-5")


def hello(output: options.Output) -> None:
    """Greet."""
    output.answer("hello", "hello")


HELLO = options.single_command(hello)
PLAYED = [kind for kind in KINDS if kind != "stochastic"]


@pytest.mark.parametrize("kind", KINDS)
def test_plan(kind, capsys):
    assert run_command("plan", kind, *KINDS[kind], "--horizon", "300", *PRIVACY, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["candidates"][0]["epsilon"] <= 2.0


@pytest.mark.parametrize("kind", PLAYED)
def test_simulate(kind, capsys):
    assert run_command("simulate", kind, *KINDS[kind], "--horizon", "200", *PRIVACY, "--runs", "1", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rounds"] == 200
    assert answer["mean_regret"] <= answer["certified_bound"]


def test_simulate_a_one_pass_problem(capsys):
    asked = ("simulate", "stochastic", "--dim", "2", "--radius", "4", "--horizon", "400", *PRIVACY, "--runs", "2")
    assert run_command(*asked, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["environment"] == "LogisticRecords"
    assert answer["records"][-1] == 400
    assert len(answer["records"]) == len(answer["mean_excess_risk"]) == len(answer["certified_bound"])
    assert 0 < answer["mean_excess_risk"][-1] <= answer["certified_bound"][-1]
    assert run_command(*asked) == 0
    shown = capsys.readouterr().out
    assert "mean excess risk" in shown
    assert "regret" not in shown


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (("stochastic", "--dim", "2", "--loss", "quadratic"), "QuadraticRecords"),
        (("stochastic", "--dim", "2", "--regularisation", "0.1"), "LogisticRecords"),
        (("stochastic", "--dim", "3", "--domain", "simplex"), "LogisticRecords"),
        (("convex", "--dim", "2", "--loss", "quadratic"), "DriftingQuadratic"),
        (("convex", "--dim", "2", "--loss", "linear"), "SignFlips"),
        (("experts", "--n", "3", "--environment", "switching"), "SwitchingAdversary"),
        (("experts", "--n", "3", "--environment", "perfect"), "PerfectExpert"),
        (("convex", "--dim", "2", "--loss", "linear", "--environment", "signs"), "RandomSigns"),
        (("arms", "--n", "3", "--environment", "decoy"), "DecoyArms"),
        (("arms", "--n", "3", "--environment", "broken"), "ClickArms"),
        (("policies", "--n", "4", "--actions", "3", "--environment", "needle"), "NeedlePolicy"),
        (("policies", "--n", "4", "--actions", "3", "--environment", "turning"), "NeedlePolicy"),
        (("policies", "--n", "4", "--actions", "3", "--environment", "lonely"), "NeedlePolicy"),
        (("contextual-arms", "--n", "3", "--dim", "4", "--environment", "one-hot"), "LinearContexts"),
    ],
)
def test_simulate_in_the_environment_that_fits(arguments, environment, capsys):
    assert run_command("simulate", *arguments, "--horizon", "50", *PRIVACY, "--runs", "1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["environment"] == environment


@pytest.mark.parametrize("kind", KINDS)
def test_audit(kind, capsys):
    words = ("audit", kind, *KINDS[kind], "--horizon", "300", *PRIVACY, "--budget", "0.02", "--json")
    assert run_command(*words) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "no violation found"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("simulate", "convex", "--dim", "2", "--loss", "cubic"),
            "logistic, squared, huber, smoothed-hinge, hinge, absolute, quantile, quadratic, linear",
        ),
        (("simulate", "convex", "--dim", "2", "--loss", "huber"), "LogisticStream"),
        (("simulate", "stochastic", "--dim", "2", "--loss", "huber"), "LogisticRecords"),
        (("simulate", "stochastic", "--dim", "2", "--missing", "0.1"), "takes no missing records"),
        (("simulate", "convex", "--dim", "2", "--environment", "flipping"), "SignFlips"),
        (("simulate", "bandit", "--dim", "2", "--value-range", "0", "0.5"), "'moving' has values from 0 to 2"),
        (("simulate", "lipschitz", "--lipschitz", "1"), "lipschitz at least 6"),
        (("simulate", "lipschitz", "--dim", "2", "--lipschitz", "9"), "one dimension"),
        (("simulate", "experts", "--n", "3", "--environment", "moving"), "'gap', 'switching', 'perfect' or 'fair'"),
    ],
)
def test_what_does_not_fit_gets_one_sentence(arguments, words, capsys):
    assert run_command(*arguments, "--horizon", "50", *PRIVACY) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("policies", ("--recommendations", "private"), "joint differential privacy"),
        ("contextual-arms", (), "joint differential privacy by the billboard lemma"),
        ("contextual-arms", ("--features", "public"), "every decision, every coin"),
        ("stochastic", (), "excess risk over independent records"),
        ("experts", ("--delay", "20"), "Delay: feedback may come 20 rounds late; if it came at once"),
    ],
)
def test_plans_say_what_is_promised(kind, options, said, capsys):
    assert run_command("plan", kind, *KINDS[kind], "--horizon", "500", *PRIVACY, *options) == 0
    assert said in " ".join(capsys.readouterr().out.split())


REFUSED = {
    "plan experts --n 5 --epsilon -1": "'epsilon'",
    "plan experts --n 5 --epsilon nan": "'epsilon'",
    "plan experts --n 5 --epsilon 1 --delta 1": "[0, 1)",
    "plan experts --n 5 --epsilon 1 --relation add": "'replace' or 'zero-out'",
    "plan experts --n 5 --epsilon 1 --adversary angry": "'angry'",
    "plan experts --n 5 --epsilon 1 --rounds-per-person 0": "'rounds_per_person'",
    "plan experts --n 5 --epsilon 1 --numerics real": "'numerics'",
    "plan convex --dim 2 --epsilon 1 --family cubic": "'cubic'",
    "plan policies --n 5 --actions 2 --epsilon 1 --recommendations some": "'public' or 'private'",
    "plan contextual-arms --n 3 --dim 4 --epsilon 1 --features secret": "must be 'private' or 'public'",
    "plan lipschitz --domain ball --dim 3 --epsilon 1": "one or two dimensions",
    "plan bandit --dim 2 --domain disc --epsilon 1": "must be one of ball",
    "plan bandit --epsilon 1": "needs --dim",
    "plan arms --n 3 --adversary adaptive --epsilon 1": "'stochastic' or 'oblivious'",
}


@pytest.mark.parametrize("words", REFUSED)
def test_bad_options_get_one_sentence(words, capsys):
    assert REFUSED[words] in refused(capsys, *words.split(), "--horizon", "500")


def test_who_makes_the_losses_is_an_option_of_the_problem(capsys):
    words = ("plan", "tracking", *KINDS["tracking"], "--horizon", "200", *PRIVACY, "--adversary", "stochastic")
    assert run_command(*words, "--json") == 0
    assert "RestartOnShift" in capsys.readouterr().out


def test_every_command_has_the_options_of_all():
    """Whoever adds an option to `Output` adds it to every command."""
    groups = [group.typer_instance.registered_commands for group in app.registered_groups]
    commands = [command.callback for command in itertools.chain(*groups)]
    assert len(commands) > 20
    wanted = set(signature(Output).parameters)
    for command in commands:
        assert wanted <= set(signature(command).parameters), command


def test_commands_of_another_package_are_found_by_their_entry_points(monkeypatch, capsys):
    def entry_points(group, name=None):
        hello = EntryPoint("hello", "cli.test_commands:HELLO", group)
        own = EntryPoint("plan", "cli.test_commands:HELLO", group)
        return EntryPoints(point for point in (hello, own) if name in (None, point.name))

    monkeypatch.setattr(plugins, "entry_points", entry_points)
    assert run_command("hello", "--json") == 0
    assert json.loads(capsys.readouterr().out) == "hello"
    assert run_command("--help") == 0
    assert "hello" in capsys.readouterr().out
    assert run_command("plan", "--help") == 0
    assert "experts" in capsys.readouterr().out  # no package replaces a command of tacit


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_of_a_package_that_is_missing_says_which(name, monkeypatch, capsys):
    monkeypatch.setattr(plugins, "entry_points", lambda **_: EntryPoints())
    assert f"`tacit {name}` is a command of the package tacit-experiments: pip install" in refused(capsys, name)
    assert run_command("--help") == 0
    assert name not in capsys.readouterr().out


def test_a_command_that_nobody_knows_is_refused(capsys):
    assert run_command("nonsense") == 2
    assert "No such command" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate", "experts", "--n", "3", "--horizon", "50", *PRIVACY, "--plot"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_folder_that_is_missing_is_found_before_the_work(arguments, tmp_path, capsys):
    assert run_command(*arguments, str(tmp_path / "missing" / "file.png")) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "There is no folder" in captured.err


def test_a_file_that_cannot_be_written_gets_one_sentence(tmp_path, capsys):
    words = ("contract", "write", "experts", "--n", "3", "--horizon", "20", "--epsilon", "2")
    (tmp_path / "folder").mkdir()
    assert run_command(*words, "--output", str(tmp_path / "folder")) == 2
    assert capsys.readouterr().err.startswith("Error: ")


@pytest.mark.parametrize("own", [("plan",), ("simulate", "--runs", "1"), ("audit", "--budget", "0.02")])
def test_an_algorithm_can_be_named(own, capsys):
    words = (own[0], "experts", "--n", "2", "--horizon", "20", "--epsilon", "1", *own[1:], "--algorithm")
    assert run_command(*words, "ScheduledExperts") == 0
    assert "ScheduledExperts" in capsys.readouterr().out
    assert "ScheduledExperts" in refused(capsys, *words, "Guess")
