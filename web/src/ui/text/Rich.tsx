/**
 * A text, verbatim or with Markdown, LaTeX and code rendered, as the reader chose; pieces are rendered when they come
 * near.
 */

import { useSession } from "../../state/useSession";
import { useComputed } from "@preact/signals";
import { type ComponentChild, h } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { lines } from "../../lib/text/chunks";
import type { How } from "../../lib/render/markdown";
import { pieces } from "../../lib/render/pieces";
import { HTML_TAGS, isSafeLink, MATH_TAGS, type Node, type Rendered } from "../../lib/render/tree";
import { richness } from "../../state/browser/textOptions";
import { draw } from "./renderer";
import { Divided } from "./Divided";
import { Text } from "./Text";
import style from "./Rich.module.css";

/** A longer text stays verbatim. */
const MAX_CHARS = 1_000_000;
/** The number of nodes to add to the page at a time. */
const A_FRAME = 500;
const LINE_CHARS = 100;
const LINE_PX = 24;
/** The distance from the screen within which pieces are rendered. */
const NEAR = "600px 0px";

interface Props {
  text: string;
  /** The name of the text's part. */
  at?: string | undefined;
  /** The offset of the text within its part. */
  shift?: number;
}

export function Rich({ text, at, shift = 0 }: Props) {
  const session = useSession();
  const how = richness.value;
  const isMarked = useComputed(
    () =>
      at !== undefined &&
      (session.highlights.spansOf(at, "find").length > 0 ||
        session.highlights.spansOf(at, "search").length > 0 ||
        session.differences.ofPart(at).length > 0),
  ).value;
  const parts = useMemo(() => (how === null || text.length > MAX_CHARS ? [] : pieces(text)), [text, how]);
  if (how === null || isMarked || !isWorth(text, how)) return <Text text={text} at={at} shift={shift} />;
  if (text.length > MAX_CHARS)
    return <Verbatim text={text} why={`it is longer than ${MAX_CHARS.toLocaleString("en")} characters`} />;
  return (
    <>
      {parts.map((part, i) => (
        // The pieces of a text never change their order, so their index identifies them.
        <Piece key={`${i} ${part.length}`} text={part} how={how} isOne={parts.length === 1} />
      ))}
    </>
  );
}

/** Characters without which Markdown changes nothing. */
const MARKDOWN = /[*_`#|>~\\[\]&]|^\s*(?:[-+]\s|\d+[.)]\s|[-=]{2,}\s*$|\t| {4})/m;

/** False if there is nothing to render, as in most short texts. */
function isWorth(text: string, how: How): boolean {
  if (how.markdown && MARKDOWN.test(text)) return true;
  return (how.latex && /\$|\\[([]/.test(text)) || (how.code && /```|~~~/.test(text));
}

function Verbatim({ text, why }: { text: string; why: string }) {
  return (
    <>
      <p class={style["why"]}>Shown verbatim: {why}.</p>
      <div class={style["verbatim"]}>
        <Text text={text} />
      </div>
    </>
  );
}

function Piece({ text, how, isOne }: { text: string; how: How; isOne: boolean }) {
  const root = useRef<HTMLDivElement>(null);
  const [rendered, put] = useState<Rendered | null>(null);
  const [isAsked, ask] = useState(false);
  useEffect(() => {
    put(null);
    const element = root.current;
    if (element === null) return undefined;
    let isWanted = true;
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        observer.disconnect();
        ask(true);
        void draw(text, how, () => isWanted).then((result) => isWanted && result !== null && put(result));
      },
      { rootMargin: NEAR },
    );
    observer.observe(element);
    return () => {
      isWanted = false;
      observer.disconnect();
    };
  }, [text, how]);
  return (
    <div
      ref={root}
      aria-busy={isAsked && rendered === null}
      style={isOne ? undefined : { containIntrinsicBlockSize: `auto ${lines(text, LINE_CHARS) * LINE_PX}px` }}
      class={`${isOne ? "" : style["piece"]} ${style["rich"]} ${how.markdown ? style["markdown"] : style["verbatim"]}`}
    >
      {rendered === null ? (
        <div class={style["verbatim"]}>
          <Divided text={text} />
        </div>
      ) : "refused" in rendered ? (
        <Verbatim text={text} why={rendered.refused} />
      ) : (
        <Drawn nodes={rendered.nodes} />
      )}
    </div>
  );
}

/** A tree, added to the page a part in each frame. */
function Drawn({ nodes }: { nodes: readonly Node[] }) {
  const batches = useMemo(() => batched(nodes), [nodes]);
  const [shown, show] = useState(1);
  useEffect(() => {
    if (shown >= batches.length) return undefined;
    const frame = requestAnimationFrame(() => show(shown + 1));
    return () => cancelAnimationFrame(frame);
  }, [shown, batches]);
  return (
    <>
      {batches.slice(0, shown).map((batch, i) => (
        <Batch key={i} nodes={batch} />
      ))}
    </>
  );
}

function Batch({ nodes }: { nodes: readonly Node[] }) {
  const drawn = useMemo(() => nodes.map(vnode), [nodes]);
  return <>{drawn}</>;
}

function batched(nodes: readonly Node[]): Node[][] {
  const result: Node[][] = [[]];
  let size = 0;
  for (const node of nodes) {
    const added = weight(node);
    if (size > 0 && size + added > A_FRAME) {
      result.push([]);
      size = 0;
    }
    result.at(-1)?.push(node);
    size += added;
  }
  return result;
}

function weight(node: Node): number {
  return typeof node === "string" ? 1 : node.children.reduce((sum, child) => sum + weight(child), 1);
}

/** A node as an element of the page, only of known kinds, whatever the worker sends. */
function vnode(node: Node): ComponentChild {
  if (typeof node === "string") return node;
  const isMath = MATH_TAGS.has(node.tag);
  if (!isMath && !HTML_TAGS.has(node.tag)) return h("span", null, node.children.map(vnode));
  const attrs = node.attributes ?? {};
  const attributes: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(attrs)) {
    if (name === "class") attributes["class"] = isMath ? value : (style[String(value)] ?? "");
    else if (name === "href") {
      if (isSafeLink(String(value))) attributes["href"] = value;
    } else if (isMath || name === "title" || name === "rel" || name === "target" || name === "start")
      attributes[name] = value;
  }
  return h(node.tag, attributes, node.children.map(vnode));
}
