import { describe, expect, it } from "vitest";
import { bounded } from "./bounded";
import { element, type Node, textOf } from "./tree";

const isPart = (node: Node): boolean => typeof node !== "string" && node.attributes?.["class"] === "part";

describe("a drawn text", () => {
  it("stays as it is where its paragraphs are short", () => {
    const nodes = [element("p", ["a ", element("strong", ["b"])]), element("p", ["c"])];
    expect(bounded(nodes)).toEqual(nodes);
  });
  it("has boxes in what is long, and says the same", () => {
    for (const nodes of [
      ["x{".repeat(9000)],
      [element("p", ["x{".repeat(9000)])],
      [element("p", [element("em", ["word ".repeat(4000)]), " end"])],
    ]) {
      const found = bounded(nodes);
      expect(textOf(found)).toBe(textOf(nodes));
      const inner =
        nodes.length === 1 && typeof nodes[0] === "string"
          ? found
          : typeof found[0] === "string"
            ? []
            : (found[0]?.children ?? []);
      expect(inner.length).toBeGreaterThan(1);
      expect(inner.every(isPart)).toBe(true);
      expect(inner.every((part) => textOf([part]).length <= 20_000)).toBe(true);
    }
  });
  it("cuts code where its lines end", () => {
    const code = element(
      "code",
      Array.from({ length: 900 }, (_, n) => [element("span", ["let"]), ` x${n} = 1;\n`]).flat(),
    );
    const [drawn] = bounded([element("pre", [code])]);
    const parts = typeof drawn === "object" && typeof drawn.children[0] === "object" ? drawn.children[0].children : [];
    expect(parts.length).toBeGreaterThan(3);
    expect(parts.slice(0, -1).every((part) => textOf([part]).endsWith("\n"))).toBe(true);
  });
});
