/** The parts of a turn, arranged for reading: running text, and blocks apart from it. */

import type { PartView, TurnView } from "../../api/types.gen";

const INLINE: ReadonlySet<string> = new Set(["text", "answer", "marker", "placeholder", "image"]);

/** A part as shown, and its origin. */
export interface Piece extends PartView {
  /** Its place among the parts of its turn. */
  place: number;
  /** The offset of the shown text within the text of the part; negative if tags precede it. */
  shift: number;
}

export interface Block {
  kind: "flow" | "markers" | "think" | "tool_call" | "tool_result" | "json";
  parts: Piece[];
}

/** What to rearrange in a turn, and what to leave as written. */
export interface Arranging {
  /** Thoughts become blocks; otherwise they are text with their tags. */
  think: boolean;
  markers: boolean;
  /** Pad tokens at either end stay; otherwise they are left out. */
  padding: boolean;
  /** Nothing is trimmed or moved. */
  visible: boolean;
}

const ARRANGED: Arranging = { think: true, markers: true, padding: true, visible: false };

/** Adjacent text parts make one block; blank lines at its edges go, and markers there become separate. */
export function blocks(parts: readonly PartView[], how: Arranging = ARRANGED): Block[] {
  const result: Block[] = [];
  for (const [place, original] of parts.entries()) {
    if (original.kind === "marker" && !how.markers) continue;
    const part =
      original.kind === "think" && !how.think ? asWritten(original, place) : { ...original, place, shift: 0 };
    const last = result.at(-1);
    if (!INLINE.has(part.kind)) result.push({ kind: standing(part.kind), parts: [part] });
    else if (last?.kind === "flow") last.parts.push(part);
    else result.push({ kind: "flow", parts: [part] });
  }
  if (how.visible) return result;
  return result
    .flatMap(edged)
    .map(how.padding ? trimmed : unpadded)
    .filter((block) => block.parts.length > 0);
}

/** A thought as text between its tags. */
function asWritten(part: PartView, place: number): Piece {
  const text = part.raw ?? part.text;
  return { ...part, kind: "text", text, raw: null, place, shift: -Math.max(0, text.indexOf(part.text)) };
}

function standing(kind: string): Block["kind"] {
  return kind === "think" || kind === "tool_call" || kind === "tool_result" ? kind : "json";
}

/** The template markers at either end of a text, separated from it. */
function edged(block: Block): Block[] {
  if (block.kind !== "flow") return [block];
  const isText = (part: PartView): boolean =>
    part.kind !== "marker" && (part.kind !== "text" || part.text.trim() !== "");
  const first = block.parts.findIndex(isText);
  const last = block.parts.findLastIndex(isText);
  if (first < 0) return [markers(block.parts)];
  return [
    markers(block.parts.slice(0, first)),
    { kind: "flow", parts: block.parts.slice(first, last + 1) },
    markers(block.parts.slice(last + 1)),
  ];
}

function markers(parts: readonly Piece[]): Block {
  return { kind: "markers", parts: parts.filter((part) => part.kind === "marker") };
}

function trimmed(block: Block): Block {
  if (block.kind !== "flow") return block;
  const parts = block.parts.map((part) => ({ ...part }));
  while (parts[0]?.kind === "text") {
    const first = parts[0];
    const rest = first.text.replace(/^(?:[ \t]*\r?\n)+/, "");
    first.shift += first.text.length - rest.length;
    first.text = rest;
    if (rest !== "") break;
    parts.shift();
  }
  for (let last = parts.at(-1); last?.kind === "text"; last = parts.at(-1)) {
    last.text = last.text.trimEnd();
    if (last.text !== "") break;
    parts.pop();
  }
  return { kind: "flow", parts };
}

const PADS: readonly string[] = ["<pad>", "<PAD>", "[PAD]", "[pad]", "<|pad|>", "<|PAD|>", "<|endoftext|>"];

/** A block without the pad tokens at either end of its text. */
function unpadded(block: Block): Block {
  const { kind, parts } = trimmed(block);
  const [first] = parts;
  const last = parts.at(-1);
  if (kind !== "flow" || first === undefined || last === undefined) return { kind, parts };
  if (first.kind === "text") {
    const text = withoutPads(first.text, (rest, pad) =>
      rest.trimStart().startsWith(pad) ? rest.trimStart().slice(pad.length) : rest,
    );
    first.shift += first.text.length - text.length;
    first.text = text;
  }
  if (last.kind === "text")
    last.text = withoutPads(last.text, (rest, pad) =>
      rest.trimEnd().endsWith(pad) ? rest.trimEnd().slice(0, -pad.length) : rest,
    );
  return { kind, parts: parts.filter(({ kind: partKind, text }) => partKind !== "text" || text !== "") };
}

function withoutPads(text: string, cut: (rest: string, pad: string) => string): string {
  const pad = PADS.find((one) => cut(text, one) !== text);
  if (pad === undefined) return text;
  let rest = text;
  for (let next = cut(rest, pad); next !== rest; next = cut(rest, pad)) rest = next;
  return rest;
}

/** The exact text of a turn. */
export function verbatim(turn: TurnView): string {
  return turn.parts.map((part) => part.raw ?? part.text).join("");
}

/** The first words of a text on one line, with an ellipsis if there is more. */
export function opening(text: string, limit: number): string {
  const line = text
    .slice(0, limit * 4)
    .replace(/\s+/g, " ")
    .trim();
  return line.length > limit || text.length > limit * 4 ? `${line.slice(0, limit).trimEnd()} …` : line;
}

/** One line that represents a folded turn. */
export function gist(turn: TurnView): string {
  const readable = turn.parts.filter((part) => part.kind !== "marker" && part.text.trim() !== "");
  const first = readable.find((part) => part.kind !== "think") ?? readable[0];
  return first === undefined ? "(empty)" : opening(first.text, 240);
}

/** True if it has nothing but thoughts: these are then unfolded. */
export function isAllThought(turn: TurnView): boolean {
  return (
    turn.parts.some((p) => p.kind === "think") &&
    turn.parts.every((p) => p.kind === "think" || p.kind === "marker" || p.text.trim() === "")
  );
}
