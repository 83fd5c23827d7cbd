"""Call with arrays that change while they are read."""

import numpy as np

from tacit.testing.playing import spoilt_at


def never_mixed(call, given, moments=100):
    """`call` sees its arrays as they were, or as they are: infinite from some event on, which it may refuse."""

    def outcome(event):
        made = []
        try:
            return spoilt_at(event, given, lambda mine: made.append(call(mine))), repr(made)
        except ValueError:
            return 0, "refused"

    events, honest = outcome(0)
    allowed = {honest, outcome(1)[1]}
    assert len(allowed) == 2
    for event in np.unique(np.linspace(2, events, min(events, moments)).astype(int)).tolist():
        assert outcome(event)[1] in allowed, f"written to at event {event} of {events}"
