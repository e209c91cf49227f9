/** LaTeX: finds formulas in a text, and renders them as MathML, which needs no fonts or styles of ours. */

import temml from "temml";
import { isRecord } from "../data/record";
import { element, type Element, MATH_TAGS, type Node } from "./tree";

/** Longer formulas are shown as written: such a text merely contains two dollar signs, or is an attack. */
const MAX_FORMULA = 3000;

export interface Formula {
  start: number;
  stop: number;
  tex: string;
  isDisplay: boolean;
}

const OPENINGS: readonly { open: string; close: string; isDisplay: boolean }[] = [
  { open: "$$", close: "$$", isDisplay: true },
  { open: "\\[", close: "\\]", isDisplay: true },
  { open: "\\(", close: "\\)", isDisplay: false },
  { open: "$", close: "$", isDisplay: false },
];

/** The formula that begins exactly at `at`, if any. Dollars follow Pandoc's rule, so that `$5 and $6` is money. */
export function formulaAt(text: string, at: number): Formula | null {
  const kind = OPENINGS.find(({ open }) => text.startsWith(open, at));
  if (kind === undefined) return null;
  const from = at + kind.open.length;
  const ahead = text.slice(from, from + MAX_FORMULA);
  const end = closing(ahead, kind.close);
  if (end <= 0) return null;
  const tex = ahead.slice(0, end);
  const stop = from + end + kind.close.length;
  if (tex.trim() === "" || (!kind.isDisplay && /\n\s*\n/.test(tex))) return null;
  if (kind.open === "$" && (/^\s|\s$/.test(tex) || /^\d/.test(text.charAt(stop)))) return null;
  return { start: at, stop, tex, isDisplay: kind.isDisplay };
}

function closing(ahead: string, close: string): number {
  for (let at = ahead.indexOf(close); at >= 0; at = ahead.indexOf(close, at + 1)) {
    let slashes = 0;
    while (ahead.charAt(at - 1 - slashes) === "\\") slashes += 1;
    if (slashes % 2 === 0) return at;
  }
  return -1;
}

/** Every formula of a text, in order. */
export function formulas(text: string): Formula[] {
  const result: Formula[] = [];
  const sign = /[$\\]/g;
  for (let match = sign.exec(text); match !== null; match = sign.exec(text)) {
    const formula = formulaAt(text, match.index);
    if (formula === null) {
      if (match[0] === "\\" || text.startsWith("$$", match.index)) sign.lastIndex = match.index + 2;
      continue;
    }
    result.push(formula);
    sign.lastIndex = formula.stop;
  }
  return result;
}

interface Drawn {
  type?: unknown;
  text?: unknown;
  children?: unknown;
  attributes?: unknown;
  classes?: unknown;
  style?: unknown;
}

/** The attributes of Temml to keep: sizes, fences and layout. No address, no handler, no style. */
const ATTRIBUTES: ReadonlySet<string> = new Set([
  "accent",
  "accentunder",
  "columnalign",
  "columnlines",
  "columnspacing",
  "depth",
  "display",
  "displaystyle",
  "fence",
  "height",
  "largeop",
  "linethickness",
  "lspace",
  "mathvariant",
  "maxsize",
  "minsize",
  "movablelimits",
  "notation",
  "rowalign",
  "rowlines",
  "rowspacing",
  "rspace",
  "scriptlevel",
  "separator",
  "stretchy",
  "symmetric",
  "voffset",
  "width",
  "form",
  "rowspan",
  "columnspan",
  "mathsize",
]);
const CLASS =
  /^(?:tml|mtr|eqn|jot|menclose|accent|prime|special|wbk|vphantom|small|big|textstyle|oldstyle|script|cd)[\w-]*$/i;

/**
 * The styles to keep: spacing and frames only, since colours could hide text. Numbers are small, so that nothing covers
 * the page.
 */
const STYLES: ReadonlySet<string> = new Set([
  "padding",
  "paddingLeft",
  "paddingRight",
  "paddingTop",
  "paddingBottom",
  "padding-left",
  "padding-right",
  "border",
]);
const ROOM = /^(?:\d(?:\.\d+)?em|\d{1,2}(?:\.\d+)?p[tx]|0|1px solid)$/;

function styled(style: unknown): string {
  return Object.entries(isRecord(style) ? style : {})
    .filter(([name, value]) => STYLES.has(name) && typeof value === "string" && ROOM.test(value))
    .map(([name, value]) => `${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}:${String(value)}`)
    .join(";");
}

/** A formula as MathML, or its LaTeX if it cannot be rendered. */
export function drawn({ tex, isDisplay }: Formula, source: string): Element {
  try {
    const tree: unknown = temml.__renderToMathMLTree(tex, {
      displayMode: isDisplay,
      throwOnError: true,
      trust: false,
      strict: false,
      maxExpand: 200,
      maxSize: [20, 50],
      annotate: false,
    });
    const node = converted(isRecord(tree) ? tree : {}, 0);
    if (typeof node !== "string" && node.tag === "math")
      return isDisplay ? element("div", [node], { class: "display" }) : node;
  } catch (error) {
    const why = error instanceof Error ? error.message.slice(0, 200) : "it cannot be read";
    return element("code", [source], { class: "bad", title: `Not drawn: ${why}` });
  }
  return element("code", [source], { class: "bad" });
}

function converted(node: Drawn, depth: number): Node {
  if (typeof node.text === "string") return node.text;
  const children: Drawn[] = Array.isArray(node.children) ? node.children.filter(isRecord) : [];
  if (depth > 40) throw new Error("it is nested too deeply");
  const inner = children.map((child) => converted(child, depth + 1));
  if (typeof node.type !== "string" || !MATH_TAGS.has(node.type)) return element("mrow", inner);
  const attributes: Record<string, string> = {};
  for (const [name, value] of Object.entries(isRecord(node.attributes) ? node.attributes : {})) {
    if (ATTRIBUTES.has(name) && (typeof value === "string" || typeof value === "number"))
      attributes[name] = String(value).slice(0, 60);
  }
  const classes = Array.isArray(node.classes)
    ? node.classes.filter((one): one is string => typeof one === "string" && CLASS.test(one))
    : [];
  if (classes.length > 0) attributes["class"] = classes.join(" ");
  const style = styled(node.style);
  if (style !== "") attributes["style"] = style;
  return element(node.type, inner, attributes);
}
