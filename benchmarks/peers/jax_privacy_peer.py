"""jax-privacy: speed and noise of its running sums, and the regret of learners that are built on them."""

from benchmarks.peers import jax_privacy_convex, jax_privacy_experts, jax_privacy_sums

PACKAGES = ("jax-privacy", "jax", "optax", "numpy", "tacit")

ABOUT = """jax-privacy supplies the noise: its buffered Toeplitz strategy, optimised by itself for the largest error
with as many buffers as tacit's table has, drawn by its own privatizer on all cores (threefry; tacit draws from AES on
one). It has no online learner, so Hedge and FTRL are put on its running sums here, and on a textbook binary tree. All
learners have the same contract: replacement of one round, the exact Gaussian curve at (epsilon, delta=1e-6),
sensitivity sqrt(N) for experts and 2G for gradients; tacit's LazyExperts and CTRL meet it by their own accounting.
Learning rates of the peers: "with noise" minimises the bound that tacit certifies, at the peer's deviations; "plain"
is the rate without privacy. Regret is the mean with its standard error over 40 runs (10 at T=100000 and for convex
losses), on the same streams for all."""


def measure() -> dict[str, float]:
    """Speed, noise, then regret."""
    results = jax_privacy_sums.speed()
    print("    speed: done", flush=True)
    results |= jax_privacy_sums.noise()
    results |= jax_privacy_experts.regrets()
    return results | jax_privacy_convex.regrets()
