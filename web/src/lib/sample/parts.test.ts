import { describe, expect, it } from "vitest";
import type { PartView, TurnView } from "../../api/types.gen";
import { part as record } from "../../testing/records";
import { blocks, gist, isAllThought, opening, verbatim } from "./parts";

function part(kind: string, text: string, raw: string | null = null): PartView {
  return record(kind, text, { raw });
}

function turn(...parts: PartView[]): TurnView {
  return {
    role: "assistant",
    origin: "response",
    name: "",
    tool_call_id: "",
    tokens: null,
    chars: 0,
    reward: null,
    stop_reason: "",
    metrics: {},
    logs: {},
    facts: {},
    parts,
  };
}

describe("parts of a turn", () => {
  it("join what runs on and part what stands alone", () => {
    const found = blocks([
      part("marker", "<|im_start|>"),
      part("text", "a"),
      part("think", "hm"),
      part("text", "\n\n b \n"),
    ]);
    expect(found.map((block) => block.kind)).toEqual(["markers", "flow", "think", "flow"]);
    expect(found[3]?.parts[0]?.text).toBe(" b");
  });
  it("give back the text as it was written", () => {
    expect(verbatim(turn(part("think", "hm", "<think>hm</think>"), part("text", "\n6")))).toBe("<think>hm</think>\n6");
  });
  it("stand for themselves in one line", () => {
    expect(gist(turn(part("think", "hm"), part("text", "the answer\nis 6")))).toBe("the answer is 6");
    expect(gist(turn())).toBe("(empty)");
    expect(opening("word ".repeat(100), 20)).toHaveLength(21);
    expect(isAllThought(turn(part("think", "hm"), part("marker", "<|im_end|>")))).toBe(true);
    expect(isAllThought(turn(part("think", "hm"), part("text", "6")))).toBe(false);
  });
});
