/**
 * A tree with bounded paragraphs: a long run of inline nodes is divided among several boxes (lib/text/chunks.ts says
 * why).
 */

import { chunks, WHOLE_CHARS } from "../text/chunks";
import { element, type Node, textOf } from "./tree";

const BLOCKS: ReadonlySet<string> = new Set([
  "blockquote",
  "div",
  "hr",
  "li",
  "ol",
  "p",
  "pre",
  "table",
  "tbody",
  "td",
  "th",
  "thead",
  "tr",
  "ul",
]);
/** An inline element costs about as much as this many characters. */
const ELEMENT_CHARS = 20;

/** The same nodes, with long runs divided into `span`s of the class `part`. */
export function bounded(nodes: readonly Node[]): Node[] {
  const result: Node[] = [];
  let run: Node[] = [];
  const end = (): void => {
    result.push(...parted(run));
    run = [];
  };
  for (const node of nodes) {
    if (typeof node === "string" || !BLOCKS.has(node.tag)) run.push(node);
    else {
      end();
      result.push({ ...node, children: bounded(node.children) });
    }
  }
  end();
  return result;
}

function parted(run: readonly Node[]): Node[] {
  if (weight(run) <= WHOLE_CHARS) return [...run];
  const parts: Node[][] = [[]];
  let size = 0;
  for (const node of run.flatMap(smaller)) {
    const added = weight([node]);
    if (size > 0 && size + added > WHOLE_CHARS) {
      const rest = afterLine(parts.at(-1) ?? []);
      parts.push(rest);
      size = weight(rest);
    }
    parts.at(-1)?.push(node);
    size += added;
  }
  if (parts.length === 1) return parts[0] ?? [];
  return parts.map((children) => element("span", children, { class: "part" }));
}

/** A node divided into parts that are small enough. */
function smaller(node: Node): Node[] {
  if (typeof node === "string") return node.length > WHOLE_CHARS / 2 ? chunks(node, WHOLE_CHARS / 2) : [node];
  return [
    node.tag === "math" || weight(node.children) <= WHOLE_CHARS ? node : { ...node, children: bounded(node.children) },
  ];
}

/** Move the text after the last line end of a part to the next part, if it has one, so that no line is cut. */
function afterLine(part: Node[]): Node[] {
  const at = part.findLastIndex((node) => typeof node === "string" && node.includes("\n"));
  const node = part[at];
  if (typeof node !== "string") return [];
  const stop = node.lastIndexOf("\n") + 1;
  return [node.slice(stop), ...part.splice(at, part.length - at, node.slice(0, stop)).slice(1)].filter(
    (one) => one !== "",
  );
}

function weight(nodes: readonly Node[]): number {
  let sum = textOf(nodes).length;
  const stack: Node[] = [...nodes];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (typeof node === "string") continue;
    sum += ELEMENT_CHARS;
    stack.push(...node.children);
  }
  return sum;
}
