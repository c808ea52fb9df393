"""What the run's log shows of an agent's trace while the agent works."""

from types import SimpleNamespace

import pytest

from runs.engine.primary import LiveTrace
from tests.factories import NOW


@pytest.mark.parametrize(
    ("item", "kind", "told"),
    [
        ({"type": "tool_call", "name": "tail", "input": {"lines": 40}}, "agent.tool_call", 'tail {"lines": 40}'),
        ({"type": "tool_result", "name": "tail", "content": "ÄÖ"}, "agent.tool_result", "tail ÄÖ"),
        ({"type": "thinking", "content": ["a", None]}, "agent.thinking", '["a", null]'),
    ],
)
def test_a_line_of_the_trace_is_text_or_json(item, kind, told):
    row = LiveTrace(SimpleNamespace(id="0" * 32), "look")._row(NOW, item)
    assert (row.kind, row.message, row.step_name) == (kind, told, "look")
