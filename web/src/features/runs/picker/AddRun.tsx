/** Adds runs to those of the page: a button that lists all others, with a search among them. */

import { useState } from "preact/hooks";
import type { RunItem } from "../../../api/types.gen";
import { MAX_OVER } from "../../../lib/address/address";
import { count } from "../../../lib/numbers/numbers";
import { nameOf, runMark } from "../../../state/marks";
import { runs, samplesOf } from "../../../state/runs";
import { useSession } from "../../../state/useSession";
import { Finder, rowId } from "../../../ui/controls/Finder";
import { Popover } from "../../../ui/overlay/Popover";
import { Text } from "../../../ui/text/Text";
import { matchingRuns } from "../runSearch";
import { RunName } from "./RunName";
import style from "./AddRun.module.css";

/** More letters find the other matches. */
const MOST_MATCHES = 100;
/** More runs than these and the one of the page are slow to draw, and nobody tells them apart. */
const MOST_AT_ONCE = 49;
const LIST_ID = "runs-to-add";

interface Props {
  /** What the list is about, for screen readers. A single other run has a button instead of a list. */
  label: string;
  button: string;
  buttonClass: string;
  /** The list opens below the button and stays open, so that a person can add several runs. */
  isInline?: boolean;
}

/** Nothing where the library has no other run, or the page no room. */
export function AddRuns({ label, button, buttonClass, isInline = false }: Props) {
  const session = useSession();
  const [isOpen, open] = useState(false);
  const over = session.place.field.over.value;
  const ids = new Set([session.place.field.run.value, ...over]);
  const others = (runs.value ?? []).filter(({ id }) => !ids.has(id));
  const room = MAX_OVER - over.length;
  const add = (...added: readonly string[]): void =>
    session.place.go({ over: [...over, ...added.slice(0, room)] }, "replace");
  const visible = others.filter(({ id }) => !runMark(id).hidden);
  if (others.length === 0 || room <= 0) return null;
  const [only] = visible; // a run that the person hid is found in the list alone
  if (only !== undefined && others.length === 1 && over.length === 0)
    return (
      <button type="button" class={buttonClass} onClick={() => add(only.id)}>
        <span class="clip">
          Compare with <Text text={nameOf(only)} />
        </span>
      </button>
    );
  return (
    <>
      {isInline ? (
        <button type="button" class={buttonClass} aria-expanded={isOpen} onClick={() => open(!isOpen)}>
          {button}
        </button>
      ) : (
        <Popover label={label} button={button} buttonClass={buttonClass}>
          {(close) => (
            <AddRun
              others={others}
              add={(id) => {
                close();
                add(id);
              }}
            />
          )}
        </Popover>
      )}
      {visible.length > 1 && visible.length <= Math.min(MOST_AT_ONCE, room) && (
        <button type="button" class="action" onClick={() => add(...visible.map(({ id }) => id))}>
          Add all {visible.length} others
        </button>
      )}
      {isInline && isOpen && (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- a key of the field in it
        <div
          class={style["inline"]}
          role="group"
          aria-label={label}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            event.stopPropagation();
            open(false);
          }}
        >
          <AddRun others={others} add={add} />
        </div>
      )}
    </>
  );
}

function AddRun({ others, add }: { others: readonly RunItem[]; add: (id: string) => void }) {
  const [text, setText] = useState("");
  const [marked, mark] = useState(0);
  const matches = matchingRuns(others, text);
  const shown = matches.slice(0, MOST_MATCHES);
  return (
    <div class={style["adding"]}>
      <Finder
        label="Find a run to add"
        placeholder={`Find among ${count(others.length, "other run")}`}
        class={undefined}
        {...{ text, setText, marked, mark }}
        list={LIST_ID}
        count={shown.length}
        choose={(row) => {
          const item = shown[row];
          if (item !== undefined) add(item.id);
        }}
      />
      <div id={LIST_ID} role="listbox" aria-label="Other runs" class={style["matches"]}>
        {shown.map((item, row) => (
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the field above has the keys
          <div
            key={item.id}
            id={rowId(LIST_ID, row)}
            role="option"
            tabIndex={-1}
            aria-selected={row === Math.min(marked, shown.length - 1)}
            onClick={() => add(item.id)}
          >
            <RunName item={item} />
            <small class="quiet">{count(samplesOf(item), "sample")}</small>
          </div>
        ))}
      </div>
      <p class="quiet" role="status">
        {matches.length === 0
          ? "No run matches."
          : matches.length > shown.length
            ? `${count(matches.length - shown.length, "more run")}: type more letters`
            : ""}
      </p>
    </div>
  );
}
