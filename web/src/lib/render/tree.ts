/**
 * The output of a renderer: a tree of a few known elements, as plain data. Nothing in this app turns text into HTML.
 */

export type Node = string | Element;

export interface Element {
  tag: string;
  /** Attributes by name; a class is one of ours. */
  attributes?: Record<string, string | number>;
  children: Node[];
}

/** A rendered text, or the reason for showing it verbatim. */
export type Rendered = { nodes: Node[]; size: number } | { refused: string };

/** The most nodes: a browser lays them out in about a tenth of a second. */
export const MAX_NODES = 8000;
export const MAX_DEPTH = 60;

export const HTML_TAGS: ReadonlySet<string> = new Set([
  "a",
  "b",
  "blockquote",
  "br",
  "code",
  "del",
  "div",
  "em",
  "hr",
  "li",
  "ol",
  "p",
  "pre",
  "small",
  "span",
  "strong",
  "table",
  "tbody",
  "td",
  "th",
  "thead",
  "tr",
  "ul",
]);

export const MATH_TAGS: ReadonlySet<string> = new Set([
  "math",
  "maction",
  "menclose",
  "merror",
  "mfrac",
  "mglyph",
  "mi",
  "mlabeledtr",
  "mmultiscripts",
  "mn",
  "mo",
  "mover",
  "mpadded",
  "mphantom",
  "mprescripts",
  "mroot",
  "mrow",
  "ms",
  "mspace",
  "msqrt",
  "mstyle",
  "msub",
  "msubsup",
  "msup",
  "mtable",
  "mtd",
  "mtext",
  "mtr",
  "munder",
  "munderover",
  "none",
  "semantics",
]);

export function element(tag: string, children: Node[], attributes?: Record<string, string | number>): Element {
  return attributes === undefined ? { tag, children } : { tag, attributes, children };
}

/** The number of nodes in a tree; stops counting beyond `limit`. */
export function sizeOf(nodes: readonly Node[], limit = MAX_NODES): number {
  let size = 0;
  const stack: Node[] = [...nodes];
  for (let node = stack.pop(); node !== undefined && size <= limit; node = stack.pop()) {
    size += 1;
    if (typeof node !== "string") for (const child of node.children) stack.push(child);
  }
  return size;
}

/** The depth of a tree, up to `MAX_DEPTH` and one more. */
export function depthOf(nodes: readonly Node[], depth = 0): number {
  if (depth > MAX_DEPTH) return depth;
  return nodes.reduce<number>(
    (deepest, node) => Math.max(deepest, typeof node === "string" ? depth : depthOf(node.children, depth + 1)),
    depth,
  );
}

/** The whole text of a tree. */
export function textOf(nodes: readonly Node[]): string {
  return nodes.map((node) => (typeof node === "string" ? node : textOf(node.children))).join("");
}

/** An address that a link may lead to; others are shown as text. */
export function isSafeLink(address: string): boolean {
  return /^https?:\/\/[\x21-\x7e]+$/i.test(address) && URL.canParse(address);
}
