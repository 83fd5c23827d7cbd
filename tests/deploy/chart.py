"""Render the chart as helm does, as far as its templates go: they may use no more of its language than is read here."""

import re
from pathlib import Path

import yaml

FOLDER = Path(__file__).parents[2] / "deploy" / "helm"
ACTION = re.compile(r"(?P<trim>[ \t]*\n[ \t]*)?\{\{(?P<dash>-?) *(?P<code>[^}]*?) *\}\}")


def values(**changed):
    """The chart's values, some of them changed by their path (metrics_enabled)."""
    found = yaml.safe_load((FOLDER / "values.yaml").read_text())
    for path, value in changed.items():
        *names, last = path.split("_")
        place = found
        for name in names:
            place = place[name]
        place[last] = value
    return found


def rendered(given, name="tacit"):
    """Every object of the chart, by kind."""
    chart = yaml.safe_load((FOLDER / "Chart.yaml").read_text())
    scope = {
        "Values": given,
        "Chart": {"AppVersion": chart["appVersion"]},
        "Release": {"Name": name, "Namespace": "default"},
    }
    texts = [render(path.read_text(), scope) for path in sorted((FOLDER / "templates").glob("*.yaml"))]
    found = [document for text in texts for document in yaml.safe_load_all(text) if document]
    assert len({document["kind"] for document in found}) == len(found)
    return {document["kind"]: document for document in found}


def render(text, scope):
    """The text of a template: `if` without `else`, values, quote, toYaml and nindent."""
    pieces, shown, at = [], [True], 0
    for action in ACTION.finditer(text):
        before = text[at : action.start()] + ("" if action["dash"] else action["trim"] or "")
        if all(shown):
            pieces.append(before)
        at = action.end()
        code = action["code"]
        if code == "end":
            shown.pop()
        elif code.startswith("if "):
            shown.append(bool(looked_up(code[3:], scope)))
        elif all(shown):
            pieces.append(evaluated(code, scope))
    assert shown == [True], "every if has its end"
    return "".join([*pieces, text[at:]])


def evaluated(code, scope):
    first, *pipes = (part.strip() for part in code.split("|"))
    if first.startswith("toYaml "):
        value = yaml.safe_dump(looked_up(first.removeprefix("toYaml "), scope), sort_keys=False).rstrip()
    else:
        value = looked_up(first, scope)
        assert not isinstance(value, dict | list), f"{code} is no text"
    for pipe in pipes:
        if pipe == "quote":
            value = f'"{value}"'
        else:
            (space,) = re.fullmatch(r"nindent (\d+)", pipe).groups()
            value = "".join(f"\n{' ' * int(space)}{line}" for line in value.splitlines())
    return str(value)


def looked_up(path, scope):
    """The value at a path such as .Values.image.tag; helm would show nothing for one that is missing."""
    assert re.fullmatch(r"(\.\w+)+", path), f"{path!r} is more than a path"
    found = scope
    for name in path[1:].split("."):
        found = found[name]
    return found
