"""What of a quarantined row is kept, as its suite's payload policy says."""

from __future__ import annotations

from collections.abc import Callable

from lazaretto.config.secrets import resolve as resolve_secrets
from lazaretto.engine import masks
from lazaretto.engine.judge import Judged
from lazaretto.engine.plan import Instance
from lazaretto.engine.stage import KeepRow, Kept
from lazaretto.engine.target import RESCUED
from lazaretto.model.schema import match
from lazaretto.model.suite import Suite
from lazaretto.model.words import Dimension
from lazaretto.quarantine.fields import fields_of
from lazaretto.quarantine.payload import (
    PayloadPolicy,
    failures_sql,
    hash_sql,
    key_sql,
    payload_sql,
    rescued_sql,
)


def payload_of(suite: Suite) -> KeepRow:
    """The SQL of what is kept. A row that failed a PRIVACY rule never shows what that rule is about."""

    def keep(judged: Judged, failures: str, key: str, event_id: str) -> Kept:
        fields = fields_of(judged.schema_json)
        found = match(judged.schema.columns, RESCUED)
        rescued = found.name if found else None
        policy = PayloadPolicy(suite.payload.policy)
        cipher = key_sql(resolve_secrets(suite.payload.key).reveal()) if suite.payload.key else None

        def under(policy: PayloadPolicy, masked: tuple[str, ...]) -> Kept:
            nothing = "cast(NULL as string)"
            hidden = {name.casefold() for name in masked}
            open_ = policy is PayloadPolicy.INLINE
            legible = policy is PayloadPolicy.MASKED
            shows_key = open_ or (legible and not hidden & {name.casefold() for name in suite.key})
            shows_event = open_ or (legible and (suite.event_id or "").casefold() not in hidden)
            return Kept(
                payload=payload_sql(fields, policy, masked=masked, key=cipher, rescued=rescued),
                hash=hash_sql(fields, rescued=rescued),
                policy=f"'{policy}'",
                failures=failures_sql(failures, policy, masked),
                rescued=rescued_sql(rescued, policy),
                key=key if shows_key else nothing,
                event_id=event_id if shows_event else nothing,
            )

        usual = under(policy, suite.payload.columns)
        private = [i for i in judged.plan.instances if i.rule.dimension is Dimension.PRIVACY]
        if policy not in (PayloadPolicy.INLINE, PayloadPolicy.MASKED) or not private:
            return usual

        def leaks(*, from_masks: bool) -> str:
            return masks.any_bit(judged.words, lambda i: i in private, lambda i: i in private, from_masks=from_masks)

        careful = _careful(suite, judged, private, under)
        return usual.unless(leaks(from_masks=False), careful, from_masks=leaks(from_masks=True))

    return keep


def _careful(
    suite: Suite, judged: Judged, private: list[Instance], under: Callable[[PayloadPolicy, tuple[str, ...]], Kept]
) -> Kept:
    """What is kept of a row that failed a PRIVACY rule: not the columns it is about; nothing if those are unknown."""
    named = [column.partition(".")[0] for instance in private for column in instance.columns]
    known = [found.name for name in named if (found := match(judged.schema.columns, name)) is not None]
    blind = any(not instance.columns for instance in private) or not known
    return (
        under(PayloadPolicy.REFERENCE, ())
        if blind
        else under(PayloadPolicy.MASKED, tuple(dict.fromkeys((*suite.payload.columns, *known))))
    )
