/** A text rendered as the reader chose, within limits: text that exceeds them stays verbatim, with a note. */

import { bounded } from "./bounded";
import { codeBlock } from "./code";
import { type How, isHidden, isTooDeep, markdown } from "./markdown";
import { drawn, formulas } from "./math";
import { fences } from "./pieces";
import { depthOf, MAX_DEPTH, MAX_NODES, type Node, type Rendered, sizeOf } from "./tree";

/** More formulas in one piece are an attack. */
const MAX_FORMULAS = 400;

/** Longer pieces, which have no empty line, stay verbatim. */
const MAX_CHARS = 120_000;

export function rich(text: string, how: How): Rendered {
  if (text.length > MAX_CHARS) return { refused: "it is too long and has no paragraphs" };
  if (how.latex && (text.match(/\$|\\[[(]/g)?.length ?? 0) > 2 * MAX_FORMULAS)
    return { refused: "it holds too many formulas" };
  try {
    const result = how.markdown ? markdown(text, how) : how.code ? fenced(text, how) : spaced(text, how);
    const size = sizeOf(result);
    if (size > MAX_NODES) return { refused: "it has too many parts" };
    if (depthOf(result) > MAX_DEPTH) return { refused: "it is nested too deeply" };
    return { nodes: bounded(result), size };
  } catch (error) {
    if (isHidden(error)) return { refused: "Markdown would drop some of its words" };
    return { refused: isTooDeep(error) ? "it is nested too deeply" : "the renderer failed" };
  }
}

/** Verbatim text with highlighted code. */
function fenced(text: string, how: How): Node[] {
  const nodes: Node[] = [];
  let at = 0;
  for (const { start, stop, info, code } of fences(text)) {
    nodes.push(...spaced(text.slice(at, start), how), codeBlock(code, info, true));
    at = stop;
  }
  return [...nodes, ...spaced(text.slice(at), how)];
}

/** Verbatim text with rendered formulas. */
function spaced(text: string, how: How): Node[] {
  if (!how.latex) return text === "" ? [] : [text];
  const nodes: Node[] = [];
  let at = 0;
  for (const formula of formulas(text)) {
    if (formula.start > at) nodes.push(text.slice(at, formula.start));
    nodes.push(drawn(formula, text.slice(formula.start, formula.stop)));
    at = formula.stop;
  }
  if (at < text.length) nodes.push(text.slice(at));
  return nodes;
}
