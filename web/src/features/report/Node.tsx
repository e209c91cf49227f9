/** A node of a report: a section that folds, a table, a conversation, a text. None of its content becomes markup. */

import { useSession } from "../../state/useSession";
import type { Session } from "../../state/session";
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ReportNode } from "../../api/types.gen";
import { count } from "../../lib/numbers/numbers";
import { Text } from "../../ui/text/Text";
import { Turn } from "../sample";
import style from "./ReportPage.module.css";

/** Sections are open to this depth; deeper ones open on demand, so that large reports stay quick. */
export const OPEN_DEPTH = 2;
const OPEN_PIECES = 1000;
const ROWS = 200;
const CHILDREN = 100;
const TURNS = 100;

/** Shows the element of each node, and all its attributes. */
export const tagsShown = signal(false);

interface Props {
  node: ReportNode;
  depth: number;
  /** The child numbers that lead here, as in the address. */
  at: string;
}

/** True if the node of the address is below this one; the report itself is at "". */
const leadsOn = (session: Session, at: string): boolean =>
  at === "" ? session.place.field.at.value !== "" : session.place.field.at.value.startsWith(`${at}.`);

/** The number of the child that leads to the node of the address; -1 for none. */
function towards(session: Session, at: string): number {
  const rest = at === "" ? session.place.field.at.value : session.place.field.at.value.slice(at.length + 1);
  return leadsOn(session, at) ? Number.parseInt(rest, 10) : -1;
}

/** False if the report lacks the node of the address. */
export function hasGoal(session: Session, root: ReportNode): boolean {
  let here: ReportNode | undefined = root;
  for (const number of session.place.field.at.value === "" ? [] : session.place.field.at.value.split("."))
    here = here?.children[Number(number)];
  return here !== undefined;
}

/** True for a large report, whose sections start folded: drawing all nodes would take seconds. */
export function isLarge(root: ReportNode): boolean {
  let room = OPEN_PIECES;
  const walk = (node: ReportNode): void => {
    room -= 1 + node.turns.length;
    for (const child of node.children) if (room >= 0) walk(child);
  };
  walk(root);
  return room < 0;
}

export function Node(of: Props) {
  return (
    <>
      {tagsShown.value && <Tag node={of.node} />}
      <Piece {...of} />
    </>
  );
}

/** The element of a node with its attributes, as text. */
export function Tag({ node: { tag, attrs } }: { node: ReportNode }) {
  const words = Object.entries(attrs).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  if (tag === "" && words.length === 0) return null;
  return (
    <code class={style["tag"]}>
      <Text text={`<${tag || "text"}${words.join("")}>`} />
    </code>
  );
}

function Piece({ node, depth, at }: Props) {
  if (node.kind === "section" || node.kind === "details" || node.kind === "exception")
    return <Fold node={node} depth={depth} at={at} />;
  if (node.kind === "table") return <Table node={node} />;
  if (node.kind === "conversation") return <Talk node={node} at={at} />;
  return (
    <>
      {node.text !== "" && (
        <p class={node.kind === "code" ? style["code"] : style["text"]}>
          <Text text={node.text} />
        </p>
      )}
      <Children nodes={node.children} depth={depth} at={at} />
    </>
  );
}

/** A conversation; the one of the address scrolls into view, and gets the focus. */
function Talk({ node, at }: { node: ReportNode; at: string }) {
  const session = useSession();
  const box = useRef<HTMLDivElement>(null);
  const isGoal = session.place.field.at.value === at;
  const [shown, show] = useState(TURNS);
  useEffect(() => {
    if (!isGoal) return;
    box.current?.scrollIntoView({ block: "start" });
    box.current?.focus({ preventScroll: true });
  }, [isGoal]);
  return (
    <div ref={box} class={`${style["talk"]} ${isGoal ? style["goal"] : ""}`} tabIndex={isGoal ? -1 : undefined}>
      {node.turns.slice(0, shown).map((turn, i) => (
        <Turn key={i} turn={turn} at="" number={null} />
      ))}
      {node.turns.length > shown && (
        <button
          type="button"
          class="button"
          onClick={() => show(shown + TURNS)}
        >{`${count(node.turns.length - shown, "more message")}: show`}</button>
      )}
    </div>
  );
}

function Fold({ node, depth, at }: Props) {
  const session = useSession();
  const [isOpen, open] = useState(
    node.kind === "exception" || (node.kind === "section" && depth < OPEN_DEPTH) || leadsOn(session, at),
  );
  const facts = Object.entries(node.attrs).map(([name, value]) => `${name.replace(/^data-/, "")} ${value}`);
  return (
    <details
      class={`${style["fold"]} ${node.kind === "exception" ? style["exception"] : ""}`}
      open={isOpen}
      onToggle={(event) => open(event.currentTarget.open)}
    >
      <summary>
        <b>
          <Text text={node.title || "Details"} />
        </b>{" "}
        <span class="quiet">
          <Text text={facts.join(" · ")} />
        </span>
      </summary>
      {isOpen && (
        <div class={style["body"]}>
          {node.text !== "" && (
            <p class={style["text"]}>
              <Text text={node.text} />
            </p>
          )}
          <Children nodes={node.children} depth={depth + 1} at={at} />
        </div>
      )}
    </details>
  );
}

export function Children({ nodes, depth, at }: { nodes: readonly ReportNode[]; depth: number; at: string }) {
  const session = useSession();
  const goal = Math.min(towards(session, at), nodes.length - 1);
  // Of many nodes, only those around the one of the address.
  const [[from, to], show] = useState(() =>
    goal < CHILDREN ? [0, CHILDREN] : [goal - CHILDREN / 2, goal + CHILDREN / 2],
  );
  return (
    <>
      {from > 0 && (
        <button
          type="button"
          class="button"
          onClick={() => show([Math.max(0, from - CHILDREN), to])}
        >{`${count(from, "earlier piece")}: show`}</button>
      )}
      {nodes.slice(from, to).map((node, i) => (
        // The nodes of a report never change their order, so their index identifies them.
        <Node key={from + i} node={node} depth={depth} at={at === "" ? String(from + i) : `${at}.${from + i}`} />
      ))}
      {nodes.length > to && (
        <button
          type="button"
          class="button"
          onClick={() => show([from, to + CHILDREN])}
        >{`${count(nodes.length - to, "more piece")}: show`}</button>
      )}
    </>
  );
}

function Table({ node: { title, header, rows } }: { node: ReportNode }) {
  const [shown, show] = useState(ROWS);
  return (
    <figure class={style["table"]}>
      {title !== "" && (
        <figcaption>
          <Text text={title} />
        </figcaption>
      )}
      <div class={style["scroll"]}>
        <table>
          {header.length > 0 && (
            <thead>
              <tr>
                {header.map((cell, i) => (
                  <th key={`${i} ${cell}`}>
                    <Text text={cell} />
                  </th>
                ))}
              </tr>
            </thead>
          )}
          <tbody>
            {rows.slice(0, shown).map((row, i) => (
              <tr key={i}>
                {row.map((cell, j) => (
                  <td key={`${j} ${cell}`}>
                    <Text text={cell} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > shown && (
        <button
          type="button"
          class="button"
          onClick={() => show(shown + ROWS)}
        >{`${count(rows.length - shown, "more row")}: show`}</button>
      )}
    </figure>
  );
}
