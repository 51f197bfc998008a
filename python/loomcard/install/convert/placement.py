"""Placement rules of the stock schedulers as `placement` (docs/operate/configuration.md)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from xml.etree.ElementTree import Element

from loomcard.install.convert.conversion import ROOT, Conversion, ConversionError

Rule = dict[str, Any]
Take = Callable[[str], str | None]
"""Returns the value of a property below the common prefix, and marks it as read."""

_NAMED: Final[Rule] = {"named": True, "queue": "%specified", "else": "reject"}
_PATHS: Final = {
    "specified": "%specified",
    "user": "%user",
    "primaryGroup": "%primary_group",
    "primaryGroupUser": "%primary_group.%user",
    "secondaryGroup": "%secondary_group",
    "secondaryGroupUser": "%secondary_group.%user",
    "applicationName": "%application",
}
_KINDS: Final = ("u", "g")
_FALLBACKS: Final = {"skip": "next", "reject": "reject"}
_VARIABLES: Final = ("%user", "%primary_group", "%secondary_group", "%specified", "%application")
_FAIR_PATHS: Final = {
    "specified": "%specified",
    "user": "%user",
    "nestedUserQueue": "%user",
    "primaryGroup": "%primary_group",
    "secondaryGroupExistingQueue": "%group",
}


class CapacityPlacement:
    """CapacityScheduler's queue mappings, in the old form or as JSON."""

    def __init__(self, made: Conversion, prefix: str, left: dict[str, str]) -> None:
        self._made = made
        self._prefix = prefix
        self._left = left
        self._default = f"{ROOT}.default"
        self._leaves = {queue.path for queue in made.root.leaves()}

    @property
    def _or_default(self) -> str:
        """What ``else`` says for the default queue: reject if there is no such leaf."""
        return self._default if self._default in self._leaves else "reject"

    def convert(self) -> None:
        """Set ``placement`` of the file if it has rules."""
        prefix = self._prefix
        override = self._take(f"{prefix}queue-mappings-override.enable")
        form = self._take(f"{prefix}mapping-rule-format")
        as_json = form is not None and form[1].lower() == "json"
        if form is not None:
            self._made.idle(*form, "both forms are read")
        rules = list(self._json() if as_json else self._old())
        if override is not None and not rules:
            self._made.idle(*override, "there are no mappings")
        elif override is not None:
            self._made.converted(*override, self._made.root, "placement")
        if not rules:
            return
        overrides = override is not None and override[1].lower() == "true"
        last: list[Rule] = [{"queue": "%specified"}] if overrides else []
        no_default = self._or_default == "reject"
        last.append({"reject": True} if no_default else {"queue": self._default})
        every = [*([] if overrides else [_NAMED]), *rules, *last]
        kept = list(_reached(every, self._leaves))
        self._made.root.put("placement", kept, "the queue mappings")

    def _take(self, name: str) -> tuple[str, str] | None:
        text = self._left.pop(name, None)
        return None if text is None else (name, text.strip())

    def _old(self) -> Iterator[Rule]:
        """``u:USER:QUEUE`` and ``g:GROUP:QUEUE``, then ``APPLICATION:QUEUE``."""
        for name, parts in (
            (f"{self._prefix}queue-mappings", 3),
            ("yarn.scheduler.queue-placement-rules.app-name", 2),
        ):
            found = self._take(name)
            if found is None:
                continue
            lost = []
            for mapping in filter(None, (each.strip() for each in found[1].split(","))):
                words = [word.strip() for word in mapping.split(":")]
                if len(words) != parts or not all(words) or (parts == 3 and words[0] not in _KINDS):
                    raise ConversionError(
                        f"{name}: {mapping!r} is no mapping", "write u:USER:QUEUE or g:GROUP:QUEUE"
                    )
                rule = self._mapping(words if parts == 3 else ["a", *words])
                if rule is None:
                    lost.append(mapping)
                else:
                    yield rule
            if lost:
                self._made.lost(
                    *found, f"a variable stands inside a name: {', '.join(lost)}",
                    "name the users or groups one by one",
                )  # fmt: skip
            else:
                self._made.converted(*found, self._made.root, "placement")

    def _mapping(self, words: list[str]) -> Rule | None:
        kind, source, path = words
        everyone = {"u": "%user", "a": "%application"}.get(kind)
        condition: Rule = {}
        if source != everyone:
            condition = {{"u": "user", "g": "group", "a": "application"}[kind]: source}
        if not _whole(path) or "%" in str(list(condition.values())):
            return None
        return condition | {"queue": self._absolute(path), "create": True, "else": self._or_default}

    def _json(self) -> Iterator[Rule]:
        inline = self._take(f"{self._prefix}mapping-rule-json")
        file = self._take(f"{self._prefix}mapping-rule-json-file")
        found = inline or file
        if inline is not None and file is not None:
            self._made.idle(*file, "mapping-rule-json goes before it")
        if found is None:
            return
        try:
            text = found[1] if found is inline else Path(found[1]).read_text("utf-8")
            rules = _rules(json.loads(text))
        except (OSError, ValueError) as error:
            raise ConversionError(
                f"{found[0]}: the rules cannot be read: {error}", 'give {"rules": [...]}'
            ) from error
        lost = []
        for number, rule in enumerate(rules, 1):
            policy = rule.get("policy")
            if policy == "setDefaultQueue":
                path = str(rule.get("value"))
                everyone = rule.get("type") == "user" and rule.get("matches") == "*"
                if everyone and "%" not in path:
                    self._default = self._absolute(path)
                else:
                    lost.append(f"{number} ({policy}, but not one for all)")
                continue
            made = self._of_json(rule)
            if made is None:
                lost.append(f"{number} ({policy})")
            elif made:
                yield made
        if lost:
            self._made.lost(
                *found, f"rules with nothing like them here: {', '.join(lost)}",
                "write them by hand into placement",
            )  # fmt: skip
        else:
            self._made.converted(*found, self._made.root, "placement")

    def _of_json(self, rule: Mapping[str, Any]) -> Rule | None:
        """Return the rule; None: there is nothing like it here; empty: it never fits."""
        kind, matches, policy = rule.get("type"), str(rule.get("matches")), rule.get("policy")
        if kind not in ("user", "group", "application") or (matches != "*" and "%" in matches):
            return None
        condition: Rule = {} if matches == "*" and kind != "group" else {kind: matches}
        if policy == "reject":
            return condition | {"reject": True}
        no_default = self._or_default == "reject"
        if policy == "defaultQueue" and no_default:
            return condition | {"reject": True} if self._fallback(rule) else {}
        if policy == "defaultQueue":
            return condition | {"queue": self._default} | self._fallback(rule)
        path = rule.get("customPlacement") if policy == "custom" else _PATHS.get(str(policy))
        if path is None:
            return None
        parent = rule.get("parentQueue")
        if parent is not None and policy not in ("custom", "specified"):
            path = f"{parent}.{path}"
        path = str(path)
        if "%default" in path and no_default:
            return None
        path = path.replace("%default", self._default)
        if not _whole(path):
            return None
        made = condition | {"queue": self._absolute(path)}
        if rule.get("create", True) is not False:
            made["create"] = True
        return made | self._fallback(rule)

    def _fallback(self, rule: Mapping[str, Any]) -> Rule:
        fallback = rule.get("fallbackResult")
        if fallback in (None, "skip"):
            return {}
        return {"else": _FALLBACKS.get(str(fallback), self._or_default)}

    def _absolute(self, path: str) -> str:
        """Return a path whose first part is a queue's own name from root."""
        first, dot, rest = path.partition(".")
        if first.startswith("%") or first == ROOT:
            return path
        named = [q.path for q in self._made.root.all() if q.path.rpartition(".")[2] == first]
        return f"{named[0]}{dot}{rest}" if len(named) == 1 else f"{ROOT}.{path}"


def _rules(found: Any) -> list[dict[str, Any]]:
    """Return the rules of a JSON document. Raises ValueError if they are no list of objects."""
    rules = found.get("rules") if isinstance(found, dict) else None
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise ValueError("expected an object whose rules are a list of objects")
    return rules


def _reached(rules: list[Rule], leaves: set[str]) -> Iterator[Rule]:
    """Yield the rules up to the first that decides for everyone."""
    for rule in rules:
        yield rule
        if set(rule) - {"queue", "create", "else", "reject"}:
            continue
        if {"else", "reject"} & set(rule) or rule["queue"] in leaves:
            return


def fair_placement(
    made: Conversion,
    policy: Element | None,
    settings: dict[str, str],
    template: Mapping[str, Any],
) -> None:
    """Set ``placement``, and where queues may be created, from FairScheduler's placement policy.

    ``settings`` are its properties of yarn-site.xml; the two that are read are taken out.
    ``template`` has the keys of the queues that are created.
    """
    undeclared = _switch(made, settings, "allow-undeclared-pools", policy)
    by_user = _switch(made, settings, "user-as-default-queue", policy)
    rules: list[Rule] = []
    if policy is None:
        rules.append(_created({"named": True, "queue": "root.%specified"}, undeclared))
        if by_user:
            rules.append(_created({"queue": "root.%user"}, undeclared))
        if not (by_user and undeclared):
            rules.append(_created({"queue": "root.default"}, True))
        origin = "FairScheduler's rules if there is no queuePlacementPolicy"
    else:
        rules.extend(filter(None, (_of_fair(made, element) for element in policy)))
        origin = "queuePlacementPolicy"
    made.root.put("placement", rules, origin)
    if any(rule.get("create") for rule in rules):
        for queue in made.root.all():
            if queue.queues or queue.parent is None or queue.path in made.open_parents:
                queue.put(
                    "auto_create", {"template": dict(template), "depth": 8, "remove_after": 300},
                    "FairScheduler makes queues below every parent",
                )  # fmt: skip


def _switch(made: Conversion, settings: dict[str, str], name: str, policy: Element | None) -> bool:
    text = settings.pop(f"yarn.scheduler.fair.{name}", None)
    if text is not None and policy is not None:
        made.idle(f"yarn.scheduler.fair.{name}", text, "the file has a queuePlacementPolicy")
    elif text is not None:
        made.converted(f"yarn.scheduler.fair.{name}", text, made.root, "placement")
    return text is None or text.strip().lower() != "false"


def _of_fair(made: Conversion, element: Element) -> Rule | None:
    """Return the rule; None for one that never fits."""
    name = element.get("name", "")
    said = f"queuePlacementPolicy: {name}"
    creates = _creates(element)
    parents = list(element)
    if name == "reject":
        rule: Rule = {"reject": True}
    elif name == "default":
        path = _default_path(element)
        rule = _created({"queue": path}, creates)
        if any(each.path == path and each.queues for each in made.root.all()):
            made.converted(
                said, _attributes(element), made.root, "placement",
                f"{path} holds queues: FairScheduler refuses the application, too",
            )  # fmt: skip
            return {"reject": True}
    elif name in _FAIR_PATHS:
        path, parent_creates = _fair_path(made, element, parents)
        above = path.rpartition(".")[0]
        missing = "%" not in above and all(each.path != above for each in made.root.all())
        if missing and not (creates and parent_creates):
            made.idle(said, _attributes(element), "its queue does not exist and is not made")
            return None
        rule = {"named": True} if name == "specified" else {}
        rule["queue"] = path
        if creates and name != "secondaryGroupExistingQueue":
            rule["create"] = True if parent_creates else "leaf"
    else:
        raise ConversionError(
            f"{made.place}: there is no placement rule {name!r}", "FairScheduler refuses it too"
        )
    made.converted(said, _attributes(element), made.root, "placement")
    return rule


def _fair_path(made: Conversion, element: Element, parents: list[Element]) -> tuple[str, bool]:
    name = element.get("name", "")
    if not parents:
        if name == "nestedUserQueue":
            raise ConversionError(
                f"{made.place}: the rule nestedUserQueue has no rule inside it", "put one into it"
            )
        return f"{ROOT}.{_FAIR_PATHS[name]}", True
    parent = parents[-1]
    inner = parent.get("name", "")
    creates = _creates(parent)
    if inner == "default":
        above = _default_path(parent)
    elif inner in _FAIR_PATHS and inner != "nestedUserQueue":
        above = f"{ROOT}.{_FAIR_PATHS[inner]}"
        creates = creates and inner != "secondaryGroupExistingQueue"
    else:
        raise ConversionError(
            f"{made.place}: the rule {inner!r} may not stand in another", "choose another rule"
        )
    return f"{above}.{_FAIR_PATHS[name]}", creates


def _default_path(element: Element) -> str:
    """Return the queue that a rule ``default`` names."""
    queue = element.get("queue", "default")
    return queue if queue.startswith(f"{ROOT}.") else f"{ROOT}.{queue}"


def _creates(element: Element) -> bool:
    return element.get("create", "true").lower() != "false"


def _created(rule: Rule, create: bool) -> Rule:
    return rule | ({"create": True} if create else {})


def _attributes(element: Element) -> str:
    words = [f"{key}={value}" for key, value in element.attrib.items() if key != "name"]
    return ", ".join([*words, *(f"in {each.get('name')}" for each in element)])


def _whole(path: str) -> bool:
    """Whether variables stand as whole parts of a path."""
    return all(part in _VARIABLES or "%" not in part for part in path.split("."))
