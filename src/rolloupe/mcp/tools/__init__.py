"""The tools of agents."""

from rolloupe.mcp.tools.base import Tool, plain_tool
from rolloupe.mcp.tools.insight import compare_rewards, compare_steps, finding_samples, findings, gradient, lint
from rolloupe.mcp.tools.samples import query, sample, summary
from rolloupe.questions import QUESTIONS

__all__ = ["TOOLS", "Tool"]

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (summary, findings, finding_samples, lint, query, sample, compare_steps, compare_rewards, gradient)
}
TOOLS |= {name: plain_tool(name) for name in QUESTIONS if QUESTIONS[name].has_tool and name not in TOOLS}
"""By name, in the order in which an agent may want them."""
