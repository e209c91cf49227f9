/** Markdown as a tree: without HTML and images, and with links to http or https only. */

import MarkdownIt, {
  type MarkdownIt as Parser,
  type StateBlock,
  type StateCore,
  type StateInline,
  type Token,
} from "markdown-it";
import { codeBlock } from "./code";
import { drawn, formulaAt } from "./math";
import { element, type Element, isSafeLink, type Node, textOf } from "./tree";

export interface How {
  markdown: boolean;
  latex: boolean;
  code: boolean;
}

/** markdown-it drops text beyond its nesting limit; half of that limit is refused here, so that nothing is lost. */
const NESTING = 60;

class TooDeep extends Error {}
class Hiding extends Error {}

const parsers = new Map<boolean, Parser>();

function parser(latex: boolean): Parser {
  let result = parsers.get(latex);
  if (result === undefined) {
    result = new MarkdownIt("default", { html: false, linkify: false, typographer: false, maxNesting: NESTING });
    // The definition of a link is text that would not be shown.
    result.disable("reference");
    result.normalizeLink = (address) => address;
    result.normalizeLinkText = (address) => address;
    result.validateLink = () => true; // this module decides: other links are shown with their address
    result.inline.ruler.before("emphasis", "product", product);
    result.inline.ruler.before("emphasis", "underscore", underscore);
    result.core.ruler.after("block", "hashes", keepHashes);
    if (latex) {
      result.inline.ruler.before("escape", "formula", inlineFormula);
      result.block.ruler.before("fence", "formula", blockFormula, {
        alt: ["paragraph", "reference", "blockquote", "list"],
      });
    }
    parsers.set(latex, result);
  }
  return result;
}

/** An underscore belongs to a name, such as `__init__`, or to a picture made of text: models emphasise by stars. */
function underscore(state: StateInline, silent: boolean): boolean {
  if (state.src[state.pos] !== "_") return false;
  if (!silent) state.pending += "_";
  state.pos += 1;
  return true;
}

/** A line of nothing but number signs would be a heading without words, and not be shown. */
function keepHashes({ src, tokens }: StateCore): void {
  const lines = src.split("\n");
  for (const [place, token] of tokens.entries()) {
    const [inline, end] = [tokens[place + 1], tokens[place + 2]];
    if (token.type !== "heading_open" || inline?.content !== "" || end === undefined) continue;
    [token.tag, end.tag] = ["p", "p"];
    inline.content = (lines[token.map?.[0] ?? 0] ?? token.markup).trim();
  }
}

/** Render Markdown. Throws if it is nested too deeply, or if some of its words would not be shown. */
export function markdown(text: string, how: How): Node[] {
  const root = element("div", []);
  const formulas: string[] = [];
  walk(parser(how.latex).parse(text, {}), [root], how, formulas);
  if (isHiding(text, `${textOf(root.children)} ${formulas.join(" ")}`)) throw new Hiding();
  return root.children;
}

const WORD = /\p{L}[\p{L}\p{N}]*/gu;

/** True if a word of the text is missing from the output: a cell beyond the last column, or the title of a link. */
function isHiding(text: string, shown: string): boolean {
  const words = new Set(shown.match(WORD));
  const isMissing = (word: string): boolean => !words.has(word) && !shown.includes(word);
  return (
    text
      .replaceAll(/&#?\w{1,32};/g, " ")
      .match(WORD)
      ?.some(isMissing) ?? false
  );
}

export const isHidden = (error: unknown): boolean => error instanceof Hiding;
export const isTooDeep = (error: unknown): boolean => error instanceof TooDeep || error instanceof RangeError;

function walk(tokens: readonly Token[], stack: Element[], how: How, formulas: string[]): void {
  for (const token of tokens) {
    if (token.level > NESTING / 2) throw new TooDeep();
    const top = stack.at(-1);
    if (top === undefined) return;
    if (token.nesting === 1) {
      const opened = opening(token);
      top.children.push(opened);
      stack.push(opened);
    } else if (token.nesting === -1) {
      const closed = stack.pop();
      const address = closed?.tag === "a" ? closed.attributes?.["href"] : undefined;
      if (closed?.attributes?.["data-address"] !== undefined) {
        const shown = String(closed.attributes["data-address"]);
        delete closed.attributes["data-address"];
        stack.at(-1)?.children.push(element("small", [` (${shown})`], { class: "address" }));
      } else if (typeof address === "string" && closed !== undefined && !sameText(closed, address)) {
        stack.at(-1)?.children.push(element("small", [` (${address})`], { class: "address" }));
      }
    } else top.children.push(...leaf(token, how, formulas));
  }
}

function sameText(link: Element, address: string): boolean {
  return link.children.length === 1 && link.children[0] === address;
}

const TAGS: Readonly<Record<string, string>> = { s: "del", h1: "p", h2: "p", h3: "p", h4: "p", h5: "p", h6: "p" };

function opening(token: Token): Element {
  const { tag } = token;
  if (tag === "a") {
    const address = String(token.attrGet("href") ?? "");
    return isSafeLink(address)
      ? element("a", [], { href: address, rel: "noopener noreferrer nofollow", target: "_blank" })
      : element("span", [], { "data-address": address });
  }
  if (/^h[1-6]$/.test(tag)) return element("p", [], { class: tag });
  if (tag === "ol") return element("ol", [], { start: Number(token.attrGet("start") ?? 1) || 0 });
  if (tag === "th" || tag === "td") {
    const align = /text-align:(left|right|center)/.exec(String(token.attrGet("style") ?? ""))?.[1];
    return element(tag, [], align === undefined ? undefined : { class: align });
  }
  if (tag === "p" && token.hidden) return element("span", []);
  return element(TAGS[tag] ?? tag, []);
}

function leaf(token: Token, how: How, formulas: string[]): Node[] {
  switch (token.type) {
    case "inline": {
      const inner = element("span", []);
      walk(token.children ?? [], [inner], how, formulas);
      return inner.children;
    }
    case "fence":
      return [codeBlock(token.content, token.info, how.code)];
    case "code_block":
      return [codeBlock(token.content, "", false)];
    case "code_inline":
      return [element("code", [token.content])];
    case "softbreak":
      return ["\n"];
    case "hardbreak":
      return [element("br", [])];
    case "hr":
      return [element("hr", [])];
    case "formula":
      formulas.push(token.markup);
      return [drawn({ start: 0, stop: 0, tex: token.content, isDisplay: token.info === "display" }, token.markup)];
    case "image": // named, never fetched
      return [
        element("span", [`[image: ${token.content}] (${String(token.attrGet("src") ?? "")})`], { class: "address" }),
      ];
    default:
      return [token.content];
  }
}

function inlineFormula(state: StateInline, silent: boolean): boolean {
  const sign = state.src.charCodeAt(state.pos);
  if (sign !== 36 && sign !== 92) return false;
  const formula = formulaAt(state.src, state.pos);
  if (formula === null || formula.stop > state.posMax) return false;
  if (!silent) {
    const token = state.push("formula", "math", 0);
    token.content = formula.tex;
    token.info = formula.isDisplay ? "display" : "";
    token.markup = state.src.slice(formula.start, formula.stop);
  }
  state.pos = formula.stop;
  return true;
}

/** A sign of multiplication, or of a power, that CommonMark would read as emphasis: `2*3+4*5`, `x**2`. */
const PRODUCT = /(?<=[A-Za-z0-9)\]}])(?:\*(?=[A-Za-z0-9([{])|\*\*(?=[0-9(]))/y;

function product(state: StateInline, silent: boolean): boolean {
  PRODUCT.lastIndex = state.pos;
  const sign = PRODUCT.exec(state.src)?.[0];
  if (sign === undefined) return false;
  if (!silent) state.pending += sign;
  state.pos += sign.length;
  return true;
}

/** A formula on its own lines, whose content would otherwise become a list or a heading. */
function blockFormula(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  const start = (state.bMarks[startLine] ?? 0) + (state.tShift[startLine] ?? 0);
  if (!/^(?:\$\$|\\\[)/.test(state.src.slice(start, start + 2))) return false;
  const formula = formulaAt(state.src, start);
  if (formula === null) return false;
  let line = startLine;
  while (line < endLine && (state.eMarks[line] ?? 0) < formula.stop) line += 1;
  if (line >= endLine) return false;
  // without the marks of a surrounding quotation
  const written = state.getLines(startLine, line + 1, state.blkIndent, false).trim();
  const inner = formulaAt(written, 0);
  if (inner === null || inner.stop !== written.length) return false;
  if (silent) return true;
  const token = state.push("formula", "math", 0);
  token.content = inner.tex;
  token.info = "display";
  token.markup = written;
  token.map = [startLine, line + 1];
  state.line = line + 1;
  return true;
}
