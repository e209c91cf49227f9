import { describe, expect, it } from "vitest";
import type { How } from "./markdown";
import { formulas } from "./math";
import { fences, pieces } from "./pieces";
import { rich } from "./rich";
import { type Element, HTML_TAGS, isSafeLink, MATH_TAGS, type Node, textOf } from "./tree";

const ALL: How = { markdown: true, latex: true, code: true };
const WAYS: readonly How[] = [
  ALL,
  { markdown: true, latex: false, code: false },
  { markdown: false, latex: true, code: false },
  { markdown: false, latex: false, code: true },
  { markdown: false, latex: true, code: true },
];

function nodes(text: string, how = ALL): Node[] {
  const found = rich(text, how);
  if ("refused" in found) throw new Error(found.refused);
  return found.nodes;
}

function elements(tree: readonly Node[]): Element[] {
  return tree.flatMap((node) => (typeof node === "string" ? [] : [node, ...elements(node.children)]));
}

const all = (text: string, tag: string, how = ALL): Element[] =>
  elements(nodes(text, how)).filter((node) => node.tag === tag);

/** What is nasty in any of the languages, mixed. */
const NASTY = [
  "<img src=x onerror=alert(1)>",
  "<script>alert(1)</script>",
  "[a](javascript:alert(1))",
  "[a](data:text/html,<script>)",
  "![i](http://evil.example/x.png)",
  "<http://a.b>",
  "[x]: javascript:alert(1)",
  "[x][x]",
  "$\\href{javascript:alert(1)}{x}$",
  "$\\includegraphics{http://evil.example/x.png}$",
  "$\\def\\x{\\x\\x}\\x$",
  "$\\htmlStyle{position:fixed}{x}$",
  "\\(\\class{evil}{x}\\)",
  "```js\nalert(1)\n```",
  "~~~html\n<b>\n",
  "# <svg/onload=alert(1)>",
  "| a | <i> |\n|--|--|\n| `x` | b |",
  "> > > - 1. x",
  "&lt;script&gt;",
  "\\<b\\>",
  "a\u202eb\u0000c",
  "$$\\rule{9999em}{9999em}$$",
  "**",
  "__a*b__",
  "[[[[[[",
  "$",
  "$$",
  "\\[",
  "```",
  "1. a\n   - b\n     > c",
  "\t\tcode",
  "\n\n",
  "word",
];

function mixed(seed: number): string {
  let state = seed * 2654435761;
  const next = (): number => (state = (state * 1103515245 + 12345) >>> 0) / 4294967296;
  return Array.from(
    { length: 12 },
    () => `${NASTY[Math.floor(next() * NASTY.length)] ?? ""}${next() < 0.5 ? "\n\n" : " "}`,
  ).join("");
}

it("keeps names with underscores, and pictures made of signs", () => {
  const board = "#####\n#O__#\n#_P_#\n#####";
  expect(textOf(nodes(board)).replaceAll(/\s/g, "")).toBe(board.replaceAll("\n", ""));
  expect(textOf(nodes("def __init__(self): _x_ and snake_case_name"))).toBe(
    "def __init__(self): _x_ and snake_case_name",
  );
  expect(all("# A heading", "p").map((one) => one.attributes?.["class"])).toEqual(["h1"]);
});

it("keeps signs of multiplication and of powers", () => {
  for (const text of ["2*89.90+2*129.00", "a*b + c*(d)", "(a)*b and c*(d)", "x**2 + y**2", "2**3 and 4**5"])
    expect(textOf(nodes(text)), text).toBe(text);
  expect(all("**bold** and *slanted*, 粗**体**字", "strong").map((one) => textOf(one.children))).toEqual([
    "bold",
    "体",
  ]);
});

describe("drawn text", () => {
  it("is made of known elements and harmless attributes only, whatever the text says", () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      for (const how of WAYS) {
        const found = rich(mixed(seed), how);
        if ("refused" in found) continue;
        for (const { tag, attributes = {} } of elements(found.nodes)) {
          expect(HTML_TAGS.has(tag) || MATH_TAGS.has(tag), tag).toBe(true);
          for (const [name, value] of Object.entries(attributes)) {
            expect(
              /^(?:on|src|style$|id$|srcdoc|action|data-)/i.test(name) && !MATH_TAGS.has(tag),
              `${tag} ${name}`,
            ).toBe(false);
            if (name !== "title") expect(String(value)).not.toMatch(/javascript:|url\(|expression|position|evil/i);
            if (name === "href") expect(isSafeLink(String(value))).toBe(true);
          }
        }
      }
    }
  });

  it("leaves no word out", () => {
    let drawn = 0;
    for (let seed = 1; seed <= 300; seed += 1) {
      const text = mixed(seed).replaceAll(/[^\S\n]+/g, " ");
      const found = rich(text, { markdown: true, latex: false, code: true });
      if ("refused" in found) continue;
      drawn += 1;
      const shown = textOf(found.nodes);
      for (const word of text.match(/[a-z]{4,}/gi) ?? []) expect(shown, text).toContain(word);
    }
    expect(drawn).toBeGreaterThan(100);
  });

  it("is refused where Markdown would leave words out", () => {
    for (const text of ["| a |\n|--|\n| b | secret |", '[a](https://b.c "secret")'])
      expect(rich(text, ALL)).toEqual({ refused: "Markdown would drop some of its words" });
    expect("nodes" in rich("a &nbsp; b [c](https://d.e/\u00e9)", ALL)).toBe(true);
  });

  it("is verbatim, but for formulas and code, where Markdown is off", () => {
    const text = "# a *b*\n\n- c `d` <b>\n\n```\nx\n```\nend";
    expect(textOf(nodes(text, { markdown: false, latex: true, code: false }))).toBe(text);
    const [before, block, after] = nodes(text, { markdown: false, latex: false, code: true });
    expect([before, typeof block === "string" ? "" : block?.tag, after]).toEqual([
      "# a *b*\n\n- c `d` <b>\n\n",
      "pre",
      "end",
    ]);
  });

  it.each([
    ["lists in lists", "- ".repeat(3000)],
    ["quotations in quotations", "> ".repeat(5000) + "x"],
    ["brackets", "[".repeat(50_000)],
    ["brackets with addresses", "[a](".repeat(20_000)],
    ["stars", "*a _b ".repeat(15_000)],
    ["backticks", Array.from({ length: 400 }, (_, i) => "`".repeat(i)).join(" ")],
    ["dollars", "$a ".repeat(30_000)],
    ["formulas that grow", `$${"\\def\\a{\\b\\b}\\def\\b{\\a\\a}"}\\a$ `.repeat(50)],
    ["braces", `$${"{".repeat(1400)}x${"}".repeat(1400)}$`],
    ["fractions in fractions", `$${"\\frac{".repeat(400)}x${"}{y}".repeat(400)}$`],
    ["a large matrix", `$$\\begin{matrix}${"a&".repeat(1200)}\\end{matrix}$$`],
    ["entities", "&amp;".repeat(20_000)],
    ["a table", `|${"a|".repeat(2000)}\n|${"-|".repeat(2000)}\n${`|${"b|".repeat(2000)}\n`.repeat(20)}`],
    ["angles", "<".repeat(60_000)],
    ["links by angle", "<a:".repeat(20_000)],
    ["an open fence", "```py\n" + "x = (".repeat(8000)],
  ])(
    "stays within its bounds: %s",
    (_, text) => {
      for (const how of WAYS) {
        const found = rich(text, how);
        if (!("refused" in found)) expect(found.size).toBeLessThanOrEqual(8000);
      }
    },
    60_000,
  );

  it("shows links with where they lead, and only those that lead to the web lead anywhere", () => {
    const [link] = all("[here](https://example.org/a?b=c)", "a");
    expect(link?.attributes).toEqual({
      href: "https://example.org/a?b=c",
      rel: "noopener noreferrer nofollow",
      target: "_blank",
    });
    expect(textOf(nodes("[here](https://example.org/a)"))).toBe("here (https://example.org/a)");
    for (const address of [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      "data:text/html,x",
      "file:///etc/passwd",
      "//evil.example",
      "vbscript:x",
      "/api/runs",
      "ftp://a.b",
      "mailto:a@b.c",
    ]) {
      expect(all(`[here](${address})`, "a"), address).toEqual([]);
      expect(isSafeLink(address), address).toBe(false);
      expect(textOf(nodes(`[here](${address})`))).toContain("here");
    }
  });

  it("names images, and never fetches them", () => {
    expect(all("![a cat](https://evil.example/cat.png)", "img")).toEqual([]);
    expect(textOf(nodes("![a cat](https://evil.example/cat.png)"))).toBe(
      "[image: a cat] (https://evil.example/cat.png)",
    );
  });

  it("draws formulas however they are marked, and leaves money alone", () => {
    for (const text of [
      "$x^2$",
      "\\(x^2\\)",
      "$$x^2$$",
      "\\[x^2\\]",
      "a\n\n$$\nx^2\n$$\n\nb",
      "- \\[\n  x^2\n  \\]",
      "> $$x^2$$",
      "\\[\nx\n- y\n= z\n\\]",
    ]) {
      expect(all(text, "math"), text).toHaveLength(1);
    }
    expect(formulas("it costs $5 and $6, or $ 7 $ and \\$8 and `a`")).toEqual([]);
    expect(formulas("$$a$$ \\$b $c$").map(({ tex }) => tex)).toEqual(["a", "c"]);
    expect(all("$\\boxed{5}$", "mrow")[0]?.attributes?.["style"]).toBe("padding:3pt;border:1px solid");
  });

  it("shows a formula that is none as it was written", () => {
    for (const tex of ["$\\frac{a$", "$\\nosuchthing x$", "$\\def\\x{\\x\\x}\\x$", "$\\href{https://a.b}{x}$"]) {
      expect(textOf(nodes(tex)), tex).toContain(tex);
    }
  });

  it("colours code in the language that its fence names, and no other", () => {
    expect(
      all("```python\ndef f(): return 1\n```", "span").some((node) => node.attributes?.["class"] === "keyword"),
    ).toBe(true);
    expect(all("```\ndef f(): return 1\n```", "span")).toEqual([]);
    expect(all("```nosuch\ndef f(): return 1\n```", "span")).toEqual([]);
    expect(textOf(all("```python\ndef f(): return 1\n```", "code"))).toBe("def f(): return 1\n");
  });
});

describe("a long text in pieces", () => {
  it("is the text when they are joined, and keeps fences and formulas whole", () => {
    for (const text of [
      "",
      "a",
      "word\n\n".repeat(9000),
      "x".repeat(200_000),
      "```\ncode\n\n".repeat(5000),
      "a\n$$\n\nb\n$$\n\n".repeat(3000),
    ]) {
      expect(pieces(text).join("")).toBe(text);
    }
    const fence = `\`\`\`py\n${"x = 1\n\n".repeat(2000)}\`\`\`\n\n`;
    const found = pieces(`${"word\n\n".repeat(1300)}${fence}${"word\n\n".repeat(2000)}`);
    expect(found.some((piece) => piece.includes(fence))).toBe(true);
    expect(Math.max(...pieces(`${"y".repeat(100)}\n`.repeat(5000)).map((piece) => piece.length))).toBeLessThan(70_000);
  });

  it("knows fences as CommonMark does", () => {
    expect(fences("```a\nx\n```\n~~~~ b c\n```\ny\n~~~~\nz").map(({ info, code }) => [info, code])).toEqual([
      ["a", "x"],
      ["b c", "```\ny"],
    ]);
    expect(fences("```\nnever closed").map(({ code }) => code)).toEqual(["never closed"]);
    expect(fences("a ``` b\n``` x ` y\n")).toEqual([]);
  });
});
