import { afterEach, describe, expect, it } from "vitest";
import type { ReportNode } from "../../api/types.gen";
import { drawn } from "../../testing";
import { Node, tagsShown } from "./Node";

const node = (kind: string, more: Partial<ReportNode> = {}): ReportNode => ({
  kind, title: "", text: "", header: [], rows: [], turns: [], children: [], attrs: {}, tag: "", ...more,
});

afterEach(() => {
  tagsShown.value = false;
});

describe("a piece of a report", () => {
  const inner = node("text", { text: "hello", tag: "p", attrs: { "data-x": '"><img src=x>' } });
  const tree = node("section", { title: "Group", tag: "section", attrs: { "data-group": "3" }, children: [inner, node("text", { text: "bare" })] });

  it("says as what it was logged, with its attributes, once that is asked for", async () => {
    const host = await drawn(<Node node={tree} depth={0} />);
    expect(host.textContent).not.toContain("<section");
    tagsShown.value = true;
    const shown = await drawn(<Node node={tree} depth={0} />);
    const tags = [...shown.querySelectorAll("code")].map((one) => one.textContent);
    expect(tags).toEqual(['<section data-group="3">', '<p data-x="\\"><img src=x>">']);
    expect(shown.querySelector("img")).toBeNull();
  });
});
