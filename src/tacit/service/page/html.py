"""The page as text: everything that comes from a store is escaped, and nothing is styled or scripted inline."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import accumulate

from tacit.privacy.rounding import rounded_up
from tacit.service.page.strips import OTHERS
from tacit.service.page.views import LearnerView, LedgerView

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="page.svg" type="image/svg+xml">
<link rel="stylesheet" href="page.css">
<script src="page.js" defer></script>
</head>
<body{attributes}>
{body}
</body>
</html>
"""

_LIVE = """<a class="skip" href="#learners">Skip to the learners</a>
<header class="top">
<h1>tacit</h1>
<p id="state" role="status">as of the last load</p>
<div class="actions">
<button type="button" id="pause" aria-pressed="false" hidden>Pause</button>
<form method="post" action="sign-out"><button>Sign out</button></form>
</div>
</header>
<main>
<section id="budgets" aria-labelledby="budgets-title"{no_ledgers}>
<h2 id="budgets-title">Budgets</h2>
<div id="ledgers" class="ledgers">{ledgers}</div>
</section>
<section id="learners" aria-labelledby="learners-title" tabindex="-1">
<h2 id="learners-title">Learners</h2>
{empty}<div id="rows">
{rows}
</div>
{more}</section>
</main>
<footer><p>Only decisions and contracts are shown here. Feedback never leaves the store.</p></footer>"""

_EMPTY = """<div id="empty" class="empty">
<p>There is no learner in this store yet. Make the first one with a token of scope admin, and it appears here by
itself:</p>
<pre tabindex="0"><code>curl -X POST {address}v1/learners \\
  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
  -d '{{"name": "homepage", "problem": {{"kind": "experts", "n": 3, "horizon": 10000, "delay": 50}},
       "epsilon": 1, "delta": 1e-6}}'</code></pre>
<p>Then decide by <code>POST v1/learners/homepage/decisions</code>, and tell what came of it by
<code>POST v1/learners/homepage/rounds/0/feedback</code>.</p>
</div>
"""

_SIGN_IN = """<main class="sign-in">
<h1>tacit</h1>
<p>{message}</p>
<form method="post" action="sign-in" id="sign-in">
<input name="user" value="tacit" autocomplete="username" hidden>
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required maxlength="200"{invalid}>
<button>Sign in</button>
</form>
<p class="hint">A token of scope read is enough: <code>tacit token --store FILE --scopes read</code> prints one. It is
kept in a cookie of this browser, which can look and change nothing.</p>
</main>"""


def live_page(cards: Sequence[str], ledgers: Sequence[LedgerView], version: str, address: str, hidden: int = 0) -> str:
    """The whole page, with a card for each learner but those that are hidden because there are too many."""
    body = _LIVE.format(
        ledgers=ledger_bars(ledgers),
        no_ledgers="" if ledgers else " hidden",
        empty="" if cards else _EMPTY.format(address=escape(address)),
        rows="\n".join(cards),
        more=f"<p>There are {hidden:,} more learners: a page shows {len(cards):,}, the oldest ones.</p>"
        if hidden
        else "",
    )
    return _PAGE.format(
        title="tacit: decisions and budgets", attributes=f' data-version="{escape(version)}"', body=body
    )


def sign_in_page(refused: bool) -> str:
    """The form that asks for a token."""
    asked = "This page needs a token."
    message = f'<strong id="refused">That token was refused.</strong> {asked}' if refused else asked
    invalid = ' aria-invalid="true" aria-describedby="refused" autofocus' if refused else " autofocus"
    body = _SIGN_IN.format(message=message, invalid=invalid)
    return _PAGE.format(title="tacit: sign in", attributes="", body=body)


def card(view: LearnerView, content: str, *, opened: bool) -> str:
    """A learner: what never changes, and inside of it what does, which `now` made."""
    ledger = f'<p class="kind">charged to {escape(view.ledger)}</p>' if view.ledger else ""
    kind = "privacy" if view.private else "privacy warning"
    privacy = view.privacy if view.private else f"NOT PRIVATE ({view.privacy})"
    return (
        f'<article class="learner" id="learner-{view.number}" aria-labelledby="name-{view.number}">\n'
        f'<div class="who"><h3 id="name-{view.number}">{escape(view.name)}</h3>'
        f'<p class="kind" data-part="problem">{escape(view.problem)}</p>{ledger}'
        f'<p class="{kind}">{escape(privacy)}</p></div>\n'
        f'<div class="now">{content}</div>\n'
        f'<details{" open" if opened else ""}><summary>Contract<span class="unseen"> of {escape(view.name)}</span>'
        f"</summary><p>{escape(view.contract)}</p></details>\n</article>"
    )


def now(view: LearnerView) -> str:
    """What changes about a learner: the strip, its legend, and the numbers."""
    return f'{_figure(view)}<dl class="facts">{"".join(_facts(view))}</dl>'


def ledger_bars(ledgers: Sequence[LedgerView]) -> str:
    """What is left of every budget."""
    return "\n".join(_ledger(view) for view in ledgers)


def _figure(view: LearnerView) -> str:
    if not view.rounds:
        return '<p class="waiting">Nothing was decided yet.</p>'
    marks = {label: _mark(index, label) for index, label in enumerate(view.shares)}
    spoken = ", ".join(f"{label} {_percent(share)}" for label, share in view.shares.items())
    legend = "".join(
        f'<li><span class="dot {marks[label]}"></span>{escape(label)} <b>{_percent(share)}</b></li>'
        for label, share in view.shares.items()
    )
    behind = "" if view.counted == view.rounds else f" (of {view.rounds:,}: the later ones are still being read)"
    drawn = _paths(view, list(marks.values()))
    return (
        f'<figure><svg class="strip" viewBox="0 0 {max(len(view.stacks), 1)} 100" preserveAspectRatio="none" '
        f'role="img" aria-label="Decisions over {view.counted:,} rounds: {escape(spoken)}">{drawn}</svg>'
        f'<div class="axis" aria-hidden="true"><span>round 0</span>'
        f"<span>round {max(view.counted - 1, 0):,}{behind}</span></div>"
        f'<figcaption><ul class="legend" aria-label="Decisions">{legend}</ul></figcaption></figure>'
    )


def _paths(view: LearnerView, marks: Sequence[str]) -> str:
    """One path for each decision: rectangles, those that stand beside each other at the same height put together."""
    edges = [[0, *(round(100 * level) for level in accumulate(stack))] for stack in view.stacks]
    paths = []
    for index, mark in enumerate(marks):
        pieces: list[str] = []
        start = 0
        for part in range(1, len(edges) + 1):
            span = edges[start][index : index + 2]
            if part == len(edges) or edges[part][index : index + 2] != span:
                low, high = span
                if high > low:
                    pieces.append(f"M{start} {100 - high}h{part - start}v{high - low}h{start - part}z")
                start = part
        if pieces:
            paths.append(f'<path class="{mark}" d="{"".join(pieces)}"/>')
    return "".join(paths)


def _facts(view: LearnerView) -> list[str]:
    horizon = f" of {view.horizon:,}" if view.horizon else ""
    used = (
        f'<progress max="{view.horizon}" value="{view.rounds}" aria-label="Rounds used of the horizon"></progress>'
        if view.horizon
        else "<small>without a horizon</small>"
    )
    switches = f"<small>at most {view.expected_switches} expected in all</small>" if view.expected_switches else ""
    bound = view.certified
    return [
        _fact("Rounds", f"{view.rounds:,}<i>{horizon}</i>", used),
        _fact("Switches", f"{view.switches:,}", switches),
        _fact("Certified regret", escape(bound.value), f"<small>{escape(bound.scope)}</small>"),
        _fact("Latest decision", escape(view.latest) or "none", ""),
    ]


def _fact(name: str, value: str, note: str) -> str:
    return f'<div><dt>{name}</dt><dd><span class="value">{value}</span>{note}</dd></div>'


def _ledger(view: LedgerView) -> str:
    name, at = escape(view.name), f"at delta {view.delta:g}"
    when = f" in {escape(view.period)}" if view.period else ""
    ever = f"; {_spent(view.ever)} ever" if view.period else ""
    charges = f"{view.entries:,} charge{'' if view.entries == 1 else 's'}"
    if view.epsilon is None:
        return f'<div class="ledger"><h3>{name}</h3><p>no limit; {_spent(view.spent)} spent {at}, {charges}</p></div>'
    left = _rounded_down(view.left)
    low = " low" if view.left < 0.2 * view.epsilon else ""
    return (
        f'<div class="ledger{low}"><h3>{name}</h3>'
        f'<progress max="{view.epsilon!r}" value="{view.left!r}" aria-label="Left of the budget {name}"></progress>'
        f"<p><b>{left} of {view.epsilon:g} left</b>{when} {at}: {_spent(view.spent)} spent{ever}, {charges}</p></div>"
    )


def _mark(index: int, label: str) -> str:
    return "rest" if label == OTHERS else f"c{index}"


def _percent(share: float) -> str:
    return "under 1%" if 0 < share < 0.005 else f"{100 * share:.0f}%"


def _spent(value: float | None) -> str:
    return "infinite" if value is None else rounded_up(value)


def _rounded_down(value: float) -> str:
    return rounded_up(-value).removeprefix("-")
