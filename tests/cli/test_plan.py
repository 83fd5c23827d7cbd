import json

from cli.command import refused, run_command


def test_json_has_the_promised_shape(capsys):
    code = run_command(
        "plan", "experts", "--n", "100", "--horizon", "100000", "--epsilon", "1", "--delta", "1e-6", "--json"
    )
    assert code == 0
    answer = json.loads(capsys.readouterr().out)
    assert {"chosen", "candidates"} <= set(answer)
    for candidate in answer["candidates"]:
        assert {"algorithm", "regret_bound", "vacuous", "epsilon", "delta", "parameters"} <= set(candidate)
        assert candidate["epsilon"] <= 1.0
        assert candidate["delta"] == 1e-6
    bounds = [candidate["regret_bound"] for candidate in answer["candidates"]]
    assert bounds == sorted(bounds)
    assert answer["chosen"] == answer["candidates"][0]["algorithm"]


def test_pure_planning_marks_what_does_not_apply(capsys):
    assert (
        run_command("plan", "experts", "--n", "5", "--horizon", "500", "--epsilon", "1", "--delta", "0", "--json") == 0
    )
    answer = json.loads(capsys.readouterr().out)
    last = answer["candidates"][-1]
    assert last["algorithm"] == "L2P"
    assert last["regret_bound"] is None
    assert "LazyExperts" in last["reason"]


STOCHASTIC = ("plan", "stochastic", "--dim", "5", "--horizon", "100000", "--epsilon", "1", "--json")


def test_one_pass_by_what_is_declared(capsys):
    def bound(*options):
        assert run_command(*STOCHASTIC, "--algorithm", "OnlineToBatch", *options) == 0
        return json.loads(capsys.readouterr().out)["candidates"][0]

    assert 0.0017 < bound("--loss", "quadratic")["regret_bound"] < 0.0019
    plain, declared = bound(), bound("--gradient-deviation", "0.0731", "--hessian-deviation", "0.025")
    assert declared["regret_bound"] < 0.4 * plain["regret_bound"]
    curved = bound("--regularisation", "0.5")
    assert "StronglyConvex" in curved["parameters"]["learner"]
    started = bound("--initial", "0.1,0,0,0,-0.1")
    assert "initial=(0.1, 0.0, 0.0, 0.0, -0.1)" in started["parameters"]["learner"]
    confident = bound("--confidence", "0.95")
    assert "ConfidentBetting" in confident["parameters"]["learner"]
    assert "--initial must be numbers" in refused(capsys, *STOCHASTIC, "--initial", "0.1;2")


def test_a_world_that_is_believed_in_ranks_the_plans(capsys):
    words = "plan experts --n 3 --horizon 200 --epsilon 1 --environment gap --runs 2"
    arguments = words.split()
    assert run_command(*arguments, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    means = [candidate["simulated_regret"] for candidate in answer["candidates"]]
    assert means == sorted(means)
    assert answer["ranked_by"] == "mean of 2 runs in BernoulliGap, 200 rounds"
    assert "must be 'gap', 'switching'" in refused(capsys, *arguments[:-3], "coins")
