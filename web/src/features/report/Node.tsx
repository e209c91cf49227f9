/** A piece of a report: a section that folds, a table, a conversation, a text. Nothing in it is markup. */

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { ReportNode } from "../../api/types.gen";
import { count } from "../../lib/numbers";
import { Text } from "../../ui/Text";
import { Turn } from "../sample/Turn";
import style from "./ReportPage.module.css";

/** Sections are open down to here; deeper ones when they are asked for, so that large reports stay quick. */
const OPEN_DEPTH = 2;
const ROWS = 200;
const CHILDREN = 100;

/** Each piece says as what it was logged, and all that it says of itself. */
export const tagsShown = signal(false);

export function Node(of: { node: ReportNode; depth: number }) {
  return (
    <>
      {tagsShown.value && <Tag node={of.node} />}
      <Piece {...of} />
    </>
  );
}

/** The element that a piece was logged as, with its attributes, as text. */
export function Tag({ node: { tag, attrs } }: { node: ReportNode }) {
  const said = Object.entries(attrs).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  if (tag === "" && said.length === 0) return null;
  return <code class={style["tag"]}><Text text={`<${tag || "text"}${said.join("")}>`} /></code>;
}

function Piece({ node, depth }: { node: ReportNode; depth: number }) {
  if (node.kind === "section" || node.kind === "details" || node.kind === "exception") return <Fold node={node} depth={depth} />;
  if (node.kind === "table") return <Table node={node} />;
  if (node.kind === "conversation") {
    return (
      <div class={style["talk"]}>
        {node.turns.map((turn, i) => (
          // oxlint-disable-next-line react/no-array-index-key
          <Turn key={i} turn={turn} at="" number={null} />
        ))}
      </div>
    );
  }
  return (
    <>
      {node.text !== "" && <p class={node.kind === "code" ? style["code"] : style["text"]}><Text text={node.text} /></p>}
      <Children nodes={node.children} depth={depth} />
    </>
  );
}

function Fold({ node, depth }: { node: ReportNode; depth: number }) {
  const [isOpen, open] = useState(node.kind === "exception" || (node.kind === "section" && depth < OPEN_DEPTH));
  const facts = Object.entries(node.attrs).map(([name, value]) => `${name.replace(/^data-/, "")} ${value}`);
  return (
    <details class={`${style["fold"]} ${node.kind === "exception" ? style["exception"] : ""}`} open={isOpen} onToggle={(event) => open(event.currentTarget.open)}>
      <summary>
        <b><Text text={node.title || "Details"} /></b> <span class="quiet"><Text text={facts.join(" · ")} /></span>
      </summary>
      {isOpen && (
        <div class={style["body"]}>
          {node.text !== "" && <p class={style["text"]}><Text text={node.text} /></p>}
          <Children nodes={node.children} depth={depth + 1} />
        </div>
      )}
    </details>
  );
}

function Children({ nodes, depth }: { nodes: readonly ReportNode[]; depth: number }) {
  const [shown, show] = useState(CHILDREN);
  return (
    <>
      {nodes.slice(0, shown).map((node, i) => (
        // oxlint-disable-next-line react/no-array-index-key
        <Node key={i} node={node} depth={depth} />
      ))}
      {nodes.length > shown && (
        <button type="button" class="button" onClick={() => show(shown + CHILDREN)}>{`${count(nodes.length - shown, "more piece")}: show`}</button>
      )}
    </>
  );
}

function Table({ node: { title, header, rows } }: { node: ReportNode }) {
  const [shown, show] = useState(ROWS);
  return (
    <figure class={style["table"]}>
      {title !== "" && <figcaption><Text text={title} /></figcaption>}
      <div class={style["scroll"]}>
        <table>
          {header.length > 0 && (
            <thead>
              {/* oxlint-disable-next-line react/no-array-index-key -- two columns may bear one name */}
              <tr>{header.map((cell, i) => <th key={`${i} ${cell}`}><Text text={cell} /></th>)}</tr>
            </thead>
          )}
          <tbody>
            {rows.slice(0, shown).map((row, i) => (
              // oxlint-disable-next-line react/no-array-index-key
              <tr key={i}>{row.map((cell, j) => <td key={`${j} ${cell}`}><Text text={cell} /></td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > shown && <button type="button" class="button" onClick={() => show(shown + ROWS)}>{`${count(rows.length - shown, "more row")}: show`}</button>}
    </figure>
  );
}
