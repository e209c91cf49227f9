import { createSession } from "../../state/session";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ReportNode } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { button, drawn } from "../../testing/page";
import { part, turn } from "../../testing/records";
import { Children, hasGoal, isLarge, Node, OPEN_DEPTH, tagsShown } from "./Node";

const session = createSession();

const node = (kind: ReportNode["kind"], more: Partial<ReportNode> = {}): ReportNode => ({
  kind,
  title: "",
  text: "",
  header: [],
  rows: [],
  turns: [],
  children: [],
  attrs: {},
  tag: "",
  ...more,
});

afterEach(() => {
  tagsShown.value = false;
});

describe("a piece of a report", () => {
  const inner = node("text", { text: "hello", tag: "p", attrs: { "data-x": '"><img src=x>' } });
  const tree = node("section", {
    title: "Group",
    tag: "section",
    attrs: { "data-group": "3" },
    children: [inner, node("text", { text: "bare" })],
  });

  it("says as what it was logged, with its attributes, once that is asked for", async () => {
    const host = await drawn(<Node node={tree} depth={0} at="0" />, session);
    expect(host.textContent).not.toContain("<section");
    tagsShown.value = true;
    const shown = await drawn(<Node node={tree} depth={0} at="0" />, session);
    const tags = [...shown.querySelectorAll("code")].map((one) => one.textContent);
    expect(tags).toEqual(['<section data-group="3">', '<p data-x="\\"><img src=x>">']);
    expect(shown.querySelector("img")).toBeNull();
  });

  it("that the address names stands open, however deep and however many stand before it", async () => {
    const talk = (text: string): ReportNode =>
      node("conversation", { turns: [turn("assistant", [part("text", text)])] });
    const many = Array.from({ length: 150 }, (_, i) =>
      node("details", { title: `fold ${i}`, children: [talk(`said ${i}`)] }),
    );
    const deep = node("section", {
      title: "a",
      children: [node("section", { title: "b", children: [node("section", { title: "c", children: many })] })],
    });
    session.place.now.value = { ...START, page: "report", run: "r", split: "train", step: 0, at: "0.0.0.140.0" };
    const host = await drawn(<Node node={deep} depth={0} at="0" />, session);
    expect(host.textContent).toContain("said 140");
    expect(host.textContent).not.toContain("said 139");
    expect(document.activeElement?.textContent).toContain("said 140");
    expect(host.querySelectorAll("summary")).toHaveLength(3 + 60); // those around it, and no others
    button(host, /earlier/).click();
    await vi.waitFor(() => expect(host.querySelectorAll("summary")).toHaveLength(3 + 150), 20_000);
    session.place.now.value = START;
  });

  it("of many is drawn with those around it, folded if they are too many, and named if it is missing", async () => {
    const talk = node("conversation", {
      turns: Array.from({ length: 250 }, (_, i) => turn("user", [part("text", `said ${i}`)])),
    });
    const root = node("root", {
      children: Array.from({ length: 3000 }, () => node("section", { title: "Group", children: [talk] })),
    });
    expect([isLarge(root), isLarge(node("root", { children: [talk] }))]).toEqual([true, false]);
    session.place.now.value = { ...START, page: "report", run: "r", split: "train", step: 0, at: "2000.0" };
    const host = await drawn(<Children nodes={root.children} depth={OPEN_DEPTH} at="" />, session);
    expect(host.querySelectorAll("summary")).toHaveLength(100);
    expect(host.textContent).toContain("1,950 earlier pieces: show");
    expect(host.textContent).toContain("150 more messages: show");
    expect(host.querySelectorAll("details[open]")).toHaveLength(1);
    expect(hasGoal(session, root)).toBe(true);
    for (const at of ["2000.1", "3000", "2000.0.0"]) {
      session.place.now.value = { ...session.place.now.value, at };
      expect([at, hasGoal(session, root)]).toEqual([at, false]);
    }
    session.place.now.value = START;
  });
});
