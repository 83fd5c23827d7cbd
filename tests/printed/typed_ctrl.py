"""Formulas of the paper on CTRL, typed a second time from its text with 50 digits, and the printed ones beside them."""

from __future__ import annotations

from collections.abc import Iterator

import mpmath as mp

from tacit.printed import ctrl

SETTINGS = (
    {
        "T": 2000,
        "d": 3,
        "G": 0.7310585786300049,
        "beta": 0.25,
        "D": 2.0,
        "eps": 1.0,
        "delta": 1e-6,
        "S": 200,
        "lam": 0.5,
    },
    {"T": 20_000, "d": 10, "G": 2.0, "beta": 1.0, "D": 2.0, "eps": 0.3, "delta": 1e-9, "S": 2000, "lam": 1.0},
    {"T": 157, "d": 1, "G": 5.0, "beta": 0.01, "D": 0.5, "eps": 0.9, "delta": 0.01, "S": 37, "lam": 0.01},
)


def exact(setting):
    """Return the numbers of a setting with 50 digits."""
    return {name: mp.mpf(value) for name, value in setting.items()}


def typed(setting) -> dict[str, mp.mpf]:
    """Return every formula at a setting, typed from the text."""
    mp.mp.dps = 50
    v = exact(setting)
    T, d, G, beta, D, eps, delta, S, lam = (
        v[name] for name in ("T", "d", "G", "beta", "D", "eps", "delta", "S", "lam")
    )
    ln, sqrt, e = mp.log, mp.sqrt, mp.e
    found = {}
    eta, sigma, p = mp.mpf("0.003"), mp.mpf(40), mp.mpf("0.07")
    # Lemmas 7 and 10
    found["lemma_7"] = ln(e ** (eta * beta * d + (G**2 + 2 * G * sigma * sqrt(2 * d * ln(2 / delta))) / (2 * sigma**2)))
    found["lemma_10"] = eta * beta + (G**2 + 2 * G * sigma * sqrt(2 * ln(2 / delta))) / (2 * sigma**2)
    # Lemma 5 at ln Phi = .02
    phi = e ** mp.mpf("0.02")
    rate = p + 1 - phi**-2
    found["lemma_5 rate"], found["lemma_5 switches"], found["lemma_5 budget"] = rate, rate * T, 3 * rate * T
    found["lemma_5 tail"] = e ** (-rate * T)
    # Theorem 4
    common = D**2 / (2 * eta) + 2 * G**2 * eta * T + sigma * sqrt(d) * D
    found["theorem_4 infinite"] = common + 6 * G * D * delta * T**2 + 2 * G * D
    found["theorem_4 budget"] = common + 2 * G * D * T * (e ** (-rate * T) + 3 * delta * T) + 2 * G * D
    # Theorem 6: delta' = delta T^-2/60, G' = 3G, beta' = 2 beta, Phi = Phi'^2, p = T^{-1/3}
    prime = delta * T**-2 / 60
    for name, dims in (("general", d), ("glm", mp.mpf(1))):
        inner = (9 * G**2 + 2 * 3 * G * sigma * sqrt(2 * dims * ln(2 / prime))) / (2 * sigma**2)
        found[f"theorem_6 {name}"] = 2 * (eta * 2 * beta * dims + inner)
    found["theorem_6 miss"], found["theorem_6 force"] = prime, T ** (-mp.mpf(1) / 3)
    spread = 7 * ln(phi) ** 2 * T ** (mp.mpf(2) / 3) + 2 * ln(phi) ** 3 * T
    spread += (2 * G**2 / sigma**2 + 2 * eta**2 * beta**2 * d) ** 2 * T ** (mp.mpf(5) / 3)
    found["theorem_6 epsilon"] = mp.mpf(3) / 2 * spread + sqrt(6 * spread) * sqrt(ln(2 / delta))
    found["theorem_6 delta"] = delta + 3 * T * e ** (-(1 - phi**-2) * T)
    # Theorems 8 and 11
    cube, twelfths = T ** (mp.mpf(1) / 3), T ** (mp.mpf(5) / 12)
    found["theorem_8 eta"] = min(
        D / (2 * G * sqrt(T)),
        sqrt(eps) / (1000 * twelfths * beta * sqrt(d) * sqrt(ln(T / delta))),
        eps / (1000 * cube * beta * d * sqrt(ln(T / delta))),
    )
    found["theorem_8 sigma"] = max(G * sqrt(T) / sqrt(d), 1000 * G * cube * sqrt(d * ln(120 * T / delta)) / eps)
    found["theorem_11 eta"] = min(
        D / (2 * G * sqrt(T)),
        sqrt(eps) / (1000 * twelfths * beta * sqrt(ln(T / delta))),
        eps / (1000 * cube * beta * sqrt(ln(T / delta))),
    )
    found["theorem_11 sigma"] = max(G * sqrt(T), 1000 * G * cube * sqrt(ln(120 * T / delta)) / eps)
    # Theorem 9
    noise = 12 * G * T * sqrt(d * ln(T)) / S
    found["theorem_9 sigma"] = noise
    found["theorem_9 eta"] = rate9 = min(D / (2 * G * sqrt(T)), S / (6 * beta * d * T))
    found["theorem_9 log_phi"] = rate9 * beta * d + (G**2 + 4 * G * noise * sqrt(d * ln(T))) / (2 * noise**2)
    found["theorem_9 regret"] = (
        2 * G * D * sqrt(T) + d * T / S * (3 * beta * D**2 + 12 * G * D * sqrt(ln(T))) + 14 * G * D
    )
    # Theorem 12
    noise = 12 * G * T * sqrt(ln(T)) / S
    found["theorem_12 sigma"] = noise
    found["theorem_12 eta"] = rate12 = min(D / (2 * G * sqrt(T)), S / (6 * beta * T))
    found["theorem_12 log_phi"] = rate12 * beta + (G**2 + 4 * G * noise * sqrt(ln(T))) / (2 * noise**2)
    found["theorem_12 regret"] = 2 * D * G * sqrt(T) + T / S * (3 * beta * D**2 + 12 * G * D * sqrt(ln(T))) + 14 * G * D
    found["theorem_12 repaired"] = (
        2 * D * G * sqrt(T) + T / S * (3 * beta * D**2 + 12 * G * D * sqrt(d * ln(T))) + 14 * G * D
    )
    # Theorems 13 and 28
    noise = 16 * G * sqrt(d * T * ln(T)) / S
    found["theorem_13 sigma"] = noise
    found["theorem_13 least"] = (4 * beta * d / lam + 16 * d * ln(T)) * ln(T)
    found["theorem_13 regret"] = (
        2 * G**2 * (1 + ln(T)) / lam + 512 * d**2 * ln(T) * (1 + ln(T)) / lam * (T / S**2) + 14 * G * D
    )
    t = mp.mpf(11)
    found["theorem_13 phi"] = (
        beta * d / (lam * t) + 4 * d * ln(T) / t + d * ln(sqrt(t + 1) / sqrt(t)) + G**2 / (2 * noise**2 * t)
        + 2 * G * sqrt(d * ln(T)) / noise * sqrt(t + 1) / t
    )  # fmt: skip
    found["theorem_28"] = 2 * (G**2 + d * sigma**2) * (1 + ln(T)) / lam + 6 * G * D * delta * T**2 + 2 * G * D
    # Theorem 15, Lemma 16 and Theorem 14
    factor = ln(T) * sqrt(ln(1 / delta)) / eps
    found["theorem_15"] = sqrt(mp.mpf(10)) * factor
    found["lemma_16 coordinate"], found["lemma_16 sigma"] = mp.mpf("0.25") * factor, mp.mpf("0.25") * factor * 3
    bits = mp.ceil(mp.log(T, 2))
    for dims, squared in ((1, mp.mpf(1)), (2, 2 * (bits + 1))):
        found[f"theorem_14 bits {dims}"], found[f"theorem_14 squared_norm {dims}"] = bits, squared
        found[f"theorem_14 coordinate {dims}"] = sqrt(squared) * G * D * factor
        found[f"theorem_14 sigma {dims}"] = sqrt(bits) * sqrt(squared) * G * D * factor
    return found


def printed(setting) -> dict[str, float]:
    """Return every formula at a setting, from `tacit.printed.ctrl`."""
    v = setting
    losses = ctrl.Losses(v["T"], v["d"], v["G"], v["beta"], v["D"])
    eta, sigma, delta, log_phi = 0.003, 40.0, v["delta"], 0.02
    rate = ctrl.lemma_5(v["T"], 0.07, log_phi)
    found = {
        "lemma_7": ctrl.lemma_7(losses, eta, sigma, delta),
        "lemma_10": ctrl.lemma_10(losses, eta, sigma, delta),
        "theorem_4 infinite": ctrl.theorem_4(losses, eta, sigma, delta, None),
        "theorem_4 budget": ctrl.theorem_4(losses, eta, sigma, delta, rate["rate"]),
        "theorem_12 repaired": ctrl.theorem_12(losses, v["S"], v["d"] ** 0.5)["regret"],
        "theorem_28": ctrl.theorem_28(losses, v["lam"], sigma, delta),
        "theorem_15": ctrl.theorem_15(v["T"], 10**0.5, v["eps"], delta),
    }
    found |= {f"lemma_5 {name}": value for name, value in rate.items()}
    general = ctrl.theorem_6(losses, eta, sigma, delta, linear_model=False)
    found["theorem_6 general"] = general["log_phi"]
    found["theorem_6 glm"] = ctrl.theorem_6(losses, eta, sigma, delta, linear_model=True)["log_phi"]
    found |= {f"theorem_6 {name}": general[name] for name in ("miss", "force")}
    promise = ctrl.theorem_6_promise(losses, eta, sigma, delta, log_phi)
    found |= {f"theorem_6 {name}": value for name, value in promise.items()}
    for name, values in (
        ("theorem_8", ctrl.theorem_8(losses, v["eps"], delta)),
        ("theorem_11", ctrl.theorem_11(losses, v["eps"], delta)),
        ("theorem_9", ctrl.theorem_9(losses, v["S"])),
        ("theorem_12", ctrl.theorem_12(losses, v["S"])),
        ("theorem_13", ctrl.theorem_13(losses, v["lam"], v["S"])),
        ("lemma_16", ctrl.lemma_16(v["T"], 3.0, 0.25, v["eps"], delta)),
    ):
        found |= {f"{name} {part}": value for part, value in values.items() if part != "switches"}
    found["theorem_13 phi"] = ctrl.theorem_13_phi(losses, v["lam"], found["theorem_13 sigma"], 11)
    for dims in (1, 2):
        values = ctrl.theorem_14(v["T"], dims, v["G"], v["D"], v["eps"], delta)
        found |= {f"theorem_14 {part} {dims}": value for part, value in values.items()}
    return found


def errors() -> Iterator[tuple[str, float]]:
    """Yield how far each printed formula is from the typed one at each setting, relative to it."""
    for number, setting in enumerate(SETTINGS):
        ours, theirs = printed(setting), typed(setting)
        assert set(ours) == set(theirs)
        for name, value in theirs.items():
            yield (
                f"{name}, setting {number}",
                float(abs(mp.mpf(ours[name]) - value) / max(abs(value), mp.mpf(10) ** -300)),
            )
