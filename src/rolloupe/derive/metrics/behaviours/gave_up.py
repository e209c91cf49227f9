"""How often the response gives up: I am stuck, I cannot solve this, or a call that hands over to a human agent."""

from rolloupe.derive.base import phrase_metric

METRIC = phrase_metric(
    "gave_up", 3, "Giving up",
    r"\bI(?:['’]ll| will| must| have to| should)?(?: just| now)? g[ia]ve up\b",
    r"\bI(?:['’]m| am)(?: just)? giving up\b",
    r"\b(?:I(?:['’]m| am)|we(?:['’]re| are))(?: completely| totally| really)? (?:stuck|out of ideas)\b",
    r"\bI (?:can['’]t|cannot|can not|could(?: not|n['’]t)|am unable to|['’]m unable to|was unable to) "
    r"(?:solve|finish|complete|figure|work out|find (?:the|an|a) (?:answer|solution))",
    r"\bI (?:do not|don['’]t) know (?:the answer|how to (?:solve|answer|proceed|continue|do))",
    r"\bI (?:do not|don['’]t) know(?: (?:it|this))?[.!]",
    r"\bI have no idea\b|\btransfer_to_(?:a_)?human(?:_agents?)?\b",
    r"\bI(?:['’]ll| will| have to| must)(?: just)? (?:stop here|skip (?:this|it)|leave it (?:here|at that))\b",
    unit="phrases", behaviour="giving up",
)  # fmt: skip
