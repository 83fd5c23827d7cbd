"""Every public name is claimed by a fuzz test: a new one cannot be forgotten."""

import importlib
import inspect
from pathlib import Path

import pytest

import tacit
from tacit import algorithms, domains, environments, estimators, losses
from tacit.cli.app import app

ROOMS = (tacit, algorithms, domains, environments, losses)

SETS = "test_domains.test_points_and_directions"
PLANS = "test_plans.test_constructors"
LOSSES = "test_losses.test_values_and_gradients"
STREAMS = "test_environments.test_streams"
OPPONENTS = "test_environments.test_opponents"
PROBLEMS = "test_problems.test_problems"
ERRORS = "test_harness.test_flaws_are_caught"
CLAIMS = {
    "CTRL": PLANS, "L2P": PLANS, "PhasedArms": PLANS, "LiveArms": PLANS, "BatchedTsallis": PLANS,
    "Responses": PLANS, "PolicyArms": "test_plans.test_recommendations",
    "ExploreLinear": PLANS,
    "BanditFW": PLANS, "HedgeOnSums": PLANS, "L2PConvex": PLANS, "LazyExperts": PLANS,
    "L2PMeasure": PLANS, "OwnMeasure": "test_plans.test_small_methods",
    "LazyFixedShare": PLANS, "LazyOCO": PLANS, "LimitedUpdates": PLANS, "LipschitzGrid": PLANS, "LipschitzNet": PLANS,
    "LipschitzOnePass": PLANS,
    "NoisyMirrorDescent": PLANS, "ObjectivePerturbation": PLANS, "OnlineToBatch": PLANS, "PrivateFTRL": PLANS,
    "AveragedFTRL": PLANS, "PrivateDescent": PLANS,
    "RecentLeader": PLANS, "TrackingOnSums": PLANS,
    "RestartOnShift": PLANS, "ScheduledExperts": PLANS,
    "Plan": "test_plans.test_calibrations", "Learner": "test_learners.test_nonsense_changes_nothing",
    "Decision": "test_learners.test_slots",
    "RegretBound": "test_privacy.test_relations_and_bounds", "Relation": "test_privacy.test_relations_and_bounds",
    "REPLACE": "test_privacy.test_guarantees", "ZERO_OUT": "test_privacy.test_guarantees",
    "Guarantee": "test_privacy.test_guarantees",
    "plan": "test_planner.test_planner",
    "Comparison": "test_planner.test_comparisons_and_candidates", "register": "test_planner.test_registration",
    "Candidate": "test_planner.test_comparisons_and_candidates",
    "NoisyOCO": "test_learners.test_noisy_oco", "Rounds": "test_learners.test_rounds",
    "Ball": SETS, "Birkhoff": SETS, "Box": SETS, "KSubsets": SETS, "L1Ball": SETS, "Matroid": SETS, "NuclearBall": SETS,
    "OracleSet": SETS, "Paths": SETS, "Polytope": SETS, "Simplex": SETS, "SpanningTrees": SETS, "SubmodularBase": SETS,
    "ConvexFamily": "test_losses.test_losses_are_made_or_refused",
    "AbsoluteLoss": LOSSES, "HingeLoss": LOSSES, "QuantileLoss": LOSSES, "LowerBound": "test_planner.test_planner",
    "CustomLoss": LOSSES, "HuberLoss": LOSSES, "LinearLoss": LOSSES, "LogisticLoss": LOSSES, "QuadraticLoss": LOSSES,
    "SmoothedHingeLoss": LOSSES, "SquaredLoss": LOSSES, "LinkLoss": LOSSES, "TabulatedLoss": LOSSES,
    "SeveralLinks": LOSSES, "QuadraticFormLoss": LOSSES, "DeclaredLoss": LOSSES, "RegularisedLoss": LOSSES,
    "BernoulliGap": STREAMS, "BernoulliArms": STREAMS, "ClickArms": STREAMS, "DecoyArms": STREAMS,
    "DriftingArms": STREAMS, "LinearContexts": STREAMS, "DigitContexts": STREAMS,
    "SkilledPolicies": STREAMS, "NeedlePolicy": STREAMS, "RotatingActions": STREAMS, "LonelyPolicy": STREAMS,
    "DigitPolicies": STREAMS,
    "LoggedArms": "test_environments.test_logs",
    "DriftingLosses": STREAMS, "DriftingQuadratic": STREAMS, "LogisticStream": STREAMS,
    "PricingCurve": STREAMS, "Replay": STREAMS, "ReplayData": STREAMS, "ShiftingBernoulli": STREAMS,
    "SignFlips": STREAMS, "SwitchingAdversary": STREAMS,
    "PerfectExpert": STREAMS, "FairCoins": STREAMS, "RandomSigns": STREAMS,
    "Assignment": OPPONENTS, "MovingTarget": OPPONENTS, "Pricing": OPPONENTS, "Routing": OPPONENTS,
    "Arms": PROBLEMS, "Policies": PROBLEMS, "ContextualArms": PROBLEMS,
    "Bandit": PROBLEMS, "Convex": PROBLEMS, "Experts": PROBLEMS, "Lipschitz": PROBLEMS, "Stochastic": PROBLEMS,
    "StochasticLipschitz": PROBLEMS,
    "Tracking": PROBLEMS,
    "Randomness": "test_randomness.test_randomness", "Ledger": "test_estimators.test_ledgers",
    "simulate": "test_simulation.test_simulate", "Simulation": "test_simulation.test_simulate",
    "sweep": "test_simulation.test_sweep", "Sweep": "test_simulation.test_sweeps_are_read_or_refused",
    "audit": "test_audit.test_audit", "AuditReport": "test_audit.test_audit_reports",
    "TacitError": ERRORS, "InvalidInput": ERRORS, "MissingExtra": ERRORS, "PrivacyError": ERRORS,
    "ProtocolError": ERRORS, "StoreError": ERRORS, "__version__": ERRORS,
    "verify": "test_contracts.test_verify", "Verdict": "test_contracts.test_verify",
    "contract": "test_contracts.test_contract", "contract_schema": "test_contracts.test_contract",
    "Client": "test_client.test_client", "Conflict": ERRORS, "ServiceError": ERRORS,
    "Store": "test_store.test_store", "Live": "test_store.test_live",
}  # fmt: skip
ESTIMATORS = {
    "LEDGER": "test_estimators.test_ledgers", "Ledger": "test_estimators.test_ledgers",
    "PrivacyWarning": "test_estimators.test_data", "PrivateGridSearch": "test_estimators.test_grid_search",
    "PrivateLinearSVC": "test_estimators.test_parameters",
    "PrivateLogisticRegression": "test_estimators.test_parameters",
    "ParquetBatches": "test_estimators.test_parquet", "PrivatePipeline": "test_estimators.test_pipelines",
    "private_pipeline": "test_estimators.test_pipelines", "UsefulnessWarning": "test_estimators.test_data",
    "PrivateRidge": "test_estimators.test_parameters", "PrivateStandardScaler": "test_estimators.test_parameters",
    "PrivateMean": "test_estimators.test_statistics", "PrivateHistogram": "test_estimators.test_statistics",
    "PrivateQuantile": "test_estimators.test_statistics", "PrivateCovariance": "test_estimators.test_statistics",
    "PrivateScore": "test_estimators.test_statistics", "PublicTable": "test_estimators.test_tables",
    "Bounds": "test_estimators.test_tables", "Categories": "test_estimators.test_tables",
    "Hashed": "test_estimators.test_tables", "ModelCard": "test_estimators.test_statistics",
}  # fmt: skip
COMMANDS = {"plan", "run", "simulate", "sweep", "report", "audit", "contract", "token"}
UNFUZZED_COMMANDS = {
    "demo": "has no input but numbers and the name of a picture",
    "experiments": "tests/cli tries what it refuses, tests/server fuzzes the same routes",
    "tick": "has no input but a store",
    "bench": "times the machine",
    "store": "tests/cli/test_store.py tries what it refuses",
    "serve": "goes on until it is told to end; tests/server fuzzes what it answers",
}

# Methods of what is public, by name: where any of them is called with nonsense.
METHODS = {
    "test_learners": {"play", "observe", "decide", "settle", "run", "state_dict", "load_state_dict"},
    "test_plans": {
        "calibrate",
        "start",
        "explain",
        "playable_loss",
        "for_budget",
        "most_switches",
        "solver",
        "regret_after",
        "window_regret",
        "risk_within",
        "release",
        "regret_bound_given",
        "regret_bound_at",
    },
    "test_planner": {"calibrate_for", "restore", "to_dict"},
    "test_domains": {"minimize_linear", "project", "contains", "member", "to_hull", "from_hull", "lift", "restrict"},
    "sets": {"cube"},
    "test_losses": {"value", "gradient", "values", "gradients", "pack", "constants", "height"},
    "test_privacy": {
        "epsilon",
        "delta",
        "compose",
        "with_randomness",
        "with_enforced_persons",
        "as_replacement",
        "to_json",
        "from_json",
    },
    "test_environments": {
        "losses",
        "data",
        "means",
        "best",
        "with_gap",
        "rows",
        "functions",
        "mean_loss",
        "in_context",
    },
    "test_simulation": {"summary", "summaries", "read", "to_csv", "to_latex", "to_frame"},
    "test_randomness": {"child", "stream", "replayable", "secret"},
    "test_audit": {"plot", "small_instances"},
    "test_estimators": {"record", "together", "clear", "table"},
    "test_client": {"create", "learner", "ledger", "close", "decide", "settle", "end"},
    "test_store": {"open", "ledger", "export", "close", "decide", "settle", "check_marks"},
}
# Reached through `value`, `gradient` and `constants`: the parts of a link; through plans: how steep barriers are;
# through rounds without feedback: neutral data.
INNER = {"link", "slope", "curvature", "link_constants", "clip_labels", "neutral", "barrier_stiffness"}
# Reached through stores: a state as text, requests that wait, what a service asks of them.
INNER |= {
    "state",
    "load",
    "checked",
    "state_text",
    "levels",
    "regret_if",
    "adopt",
    "at_most",
    "erase",
    "loss",
    "nearest",
    "of_size",
    "partition",
    "pieces",
    "variants",
    "confirm",
    "void",
    "decide_later",
    "settle_later",
    "switches_later",
    "decisions",
    "make",
    "release",
    "history",
}
# Sources: keys of sealed ones are refused by tests/noise/test_randomness.py; the others take nothing from a caller.
INNER |= {"sealed", "continued", "fresh_key"}
# A decision is a tuple.
INNER |= {"count", "index"}
# The parts of losses that are minimised, and the points of a Lipschitz problem.
INNER |= {"gradient_rounding", "hessians", "single", "of", "place"}
# Reached through plans: what a measure of one's own answers.
INNER |= {"log_factor", "sample", "draw_curve", "regret"}


def exists(claim):
    """The test of that name."""
    module, name = claim.split(".")
    return getattr(importlib.import_module(f"fuzz.{module}"), name, None)


@pytest.mark.parametrize(("rooms", "claims"), [(ROOMS, CLAIMS), ((estimators,), ESTIMATORS)], ids=["tacit", "sk"])
def test_every_public_name_is_claimed(rooms, claims):
    public = {name for room in rooms for name in room.__all__}
    assert public - set(claims) == set(), "public names that no fuzz test claims: add a test and a claim"
    assert set(claims) - public == set(), "claims of names that are gone"
    missing = [claim for claim in claims.values() if exists(claim) is None]
    assert not missing, missing


@pytest.mark.parametrize("claims", [CLAIMS, ESTIMATORS], ids=["tacit", "sk"])
def test_claims_are_true(claims):
    """The name stands in the test's file, or in a table that the file draws from."""
    folder = Path(__file__).parent
    tables = "".join((folder / f"{name}.py").read_text() for name in ("sets", "plans"))
    for name, claim in claims.items():
        if claim != ERRORS:
            text = (folder / f"{claim.split('.')[0]}.py").read_text() + tables
            assert name in text, f"{claim} does not mention {name}"


def test_every_public_method_is_claimed():
    claimed = set.union(*METHODS.values()) | INNER
    for room, name in ((each, name) for each in ROOMS for name in each.__all__):
        kind = getattr(room, name)
        if inspect.isclass(kind) and not issubclass(kind, Exception | str):
            methods = {m for m, f in inspect.getmembers(kind, callable) if not m.startswith("_")}
            assert methods <= claimed, f"{name}: {sorted(methods - claimed)} are in no fuzz test"
    for module, methods in METHODS.items():
        text = Path(__file__).with_name(f"{module}.py").read_text()
        assert not [method for method in methods if method not in text]


def test_every_command_is_claimed():
    groups = {group.name for group in app.registered_groups}
    single = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert groups | single == COMMANDS | set(UNFUZZED_COMMANDS)
    text = Path(__file__).with_name("test_command_line.py").read_text()
    assert all(f'"{command}"' in text for command in COMMANDS)
