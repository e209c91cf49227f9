"""The tools of agents."""

from rolloupe.mcp.tools.base import Tool, plain_tool
from rolloupe.mcp.tools.compare import COMPARE_REWARDS, COMPARE_STEPS
from rolloupe.mcp.tools.insight import FINDING_SAMPLES, FINDINGS, GRADIENT, LINT
from rolloupe.mcp.tools.samples import QUERY, SAMPLE, SUMMARY
from rolloupe.questions import QUESTIONS

__all__ = ["TOOLS", "Tool"]

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (SUMMARY, FINDINGS, FINDING_SAMPLES, LINT, QUERY, SAMPLE, COMPARE_STEPS, COMPARE_REWARDS, GRADIENT)
}
TOOLS |= {name: plain_tool(name) for name in QUESTIONS if QUESTIONS[name].has_tool and name not in TOOLS}
"""By name, in the order in which an agent may want them."""
