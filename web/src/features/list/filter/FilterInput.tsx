/**
 * A field for a filter: it completes names and values, and shows where an error is. Typed text never stays unused:
 * Enter and leaving the field apply it, Escape restores the previous filter.
 */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Completion } from "../../../api/types.gen";
import { sentence } from "../../../lib/text/sentence";
import { useAfterPress } from "../../../ui/hooks/useAfterPress";
import style from "./FilterField.module.css";

/** The time after a key until the field requests completions. */
const PAUSE_MS = 120;

const MOVES: ReadonlySet<string> = new Set(["ArrowLeft", "ArrowRight", "Home", "End"]);

interface Props {
  id: string;
  label: string;
  title: string;
  placeholder: string;
  /** The subject of the filter: a new subject discards typed text. */
  of: string | null;
  where: string;
  /** Completes a text; null if the server cannot. */
  complete: (begun: string) => Promise<Completion> | null;
  apply: (text: string) => void;
  /** Called when the field loses the focus; the function that it returns applies the text once that press is over. */
  leaving: (apply: (text: string) => void) => (text: string) => void;
  /** True in a menu: Escape closes the menu if nothing is typed. */
  isInMenu?: boolean;
  error: { place: number | null; message: string } | null;
}

export function FilterInput({
  id,
  label,
  title,
  placeholder,
  of,
  where,
  complete,
  apply,
  leaving,
  isInMenu = false,
  error,
}: Props) {
  const offersId = `${id}-offers`;
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(where);
  const [offered, offer] = useState<Completion | null>(null);
  const [marked, mark] = useState(-1);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const round = useRef(0);
  /** The marked completion: it stays marked among later completions as long as nothing is typed. */
  const markedWords = useRef<string | undefined>(undefined);
  /** The position of the cursor after a completion is inserted; null to leave it. */
  const cursorTo = useRef<number | null>(null);
  /** Typed text that is not applied yet; null for none. */
  const typed = useRef<string | null>(null);
  const afterPress = useAfterPress();

  // At once: later it would overwrite newly typed text.
  useLayoutEffect(() => {
    typed.current = null;
    setText(where);
  }, [of, where]);
  // Before the next key: text typed right away follows the completion.
  useLayoutEffect(() => {
    if (cursorTo.current !== null) input.current?.setSelectionRange(cursorTo.current, cursorTo.current);
    cursorTo.current = null;
  });
  useEffect(() => () => clearTimeout(timer.current), []);

  const close = (): void => {
    clearTimeout(timer.current);
    round.current += 1;
    offer(null);
    mark(-1);
  };

  const ask = (begun: string): void => {
    clearTimeout(timer.current);
    const thisRound = (round.current += 1);
    timer.current = setTimeout(() => {
      complete(begun)?.then(
        (reply) => {
          if (thisRound !== round.current) return;
          const here = reply.found.findIndex(({ text: words }) => words === markedWords.current);
          offer(reply.found.length === 0 ? null : reply);
          mark(here);
        },
        () => close(), // errors show when the filter is applied
      );
    }, PAUSE_MS);
  };

  const change = (next: string, cursor: number): void => {
    typed.current = next;
    setText(next);
    mark(-1);
    ask(next.slice(0, cursor));
  };

  const take = (row: number): void => {
    const chosen = offered?.found[row];
    if (chosen === undefined || offered === null) return;
    const cursor = input.current?.selectionStart ?? text.length;
    const begin = `${text.slice(0, offered.start)}${chosen.text} `;
    const next = begin + text.slice(cursor).replace(/^ /, "");
    change(next, begin.length);
    cursorTo.current = begin.length;
  };

  const use = (next: string): void => {
    typed.current = null;
    close();
    apply(next.trim());
  };

  const leave = (event: FocusEvent): void => {
    // The window lost the focus; the field gets it back on return.
    if (document.activeElement === input.current) return close();
    if (event.relatedTarget instanceof Element && event.relatedTarget.closest(`#${offersId}`) !== null) return;
    close();
    const finish = leaving(apply);
    afterPress(() => {
      const draft = typed.current;
      if (draft === null) return;
      typed.current = null;
      finish(draft.trim());
    });
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (MOVES.has(event.key)) close(); // the completions were for an earlier cursor
    const rows = offered?.found.length ?? 0;
    if (event.key === "ArrowDown" && rows > 0) mark((marked + 1) % rows);
    else if (event.key === "ArrowUp" && rows > 0)
      mark((marked + rows) % rows === marked ? marked - 1 : (marked < 0 ? rows : marked) - 1);
    else if (event.key === "ArrowDown") ask(text.slice(0, input.current?.selectionStart ?? text.length));
    else if (event.key === "Tab" && rows > 0 && !event.shiftKey && marked >= 0) take(marked);
    else if (event.key === "Enter" && marked >= 0) take(marked);
    else if (event.key === "Enter") use(text);
    else if (event.key === "Escape" && offered !== null) close();
    else if (event.key === "Escape" && isInMenu && typed.current === null) return;
    else if (event.key === "Escape") {
      typed.current = null;
      setText(where);
      input.current?.blur();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  markedWords.current = offered?.found[marked]?.text;
  return (
    <div class={style["filter"]}>
      <div class={style["box"]}>
        <input
          ref={input}
          id={id}
          class={`field ${style["field"]}`}
          aria-label={label}
          title={title}
          placeholder={placeholder}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          maxLength={4000}
          role="combobox"
          aria-expanded={offered !== null}
          aria-controls={offersId}
          aria-activedescendant={marked >= 0 ? `${id}-offer-${marked}` : undefined}
          aria-invalid={error !== null}
          aria-describedby={error === null ? undefined : `${id}-error`}
          value={text}
          onInput={(event) =>
            change(event.currentTarget.value, event.currentTarget.selectionStart ?? event.currentTarget.value.length)
          }
          onKeyDown={onKeyDown}
          onPointerDown={close}
          onBlur={leave}
        />
        {(text !== "" || where !== "") && (
          <button
            type="button"
            class={style["clear"]}
            aria-label="Clear the filter"
            title="Clear the filter"
            onClick={() => {
              setText("");
              use("");
            }}
          >
            ×
          </button>
        )}
      </div>
      {offered !== null && (
        <div
          id={offersId}
          class={style["offers"]}
          role="listbox"
          aria-label="Completions"
          onPointerDown={(event) => event.preventDefault()}
        >
          {offered.found.map(({ text: words, kind, note }, row) => (
            // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the field has the focus and the keys
            <div
              key={`${kind} ${words}`}
              id={`${id}-offer-${row}`}
              role="option"
              tabIndex={-1}
              aria-selected={row === marked}
              class={`${style["offer"]} ${row === marked ? style["marked"] : ""}`}
              onClick={() => take(row)}
            >
              <span class="clip">{words}</span>
              <small>{note === "" ? (kind === "column" ? "column" : "") : kind === "value" ? `× ${note}` : note}</small>
            </div>
          ))}
        </div>
      )}
      {error !== null && error.place !== null && (
        <Wrong id={`${id}-error`} text={where} at={error.place} message={error.message} />
      )}
    </div>
  );
}

/** The filter with a mark at its error, and the reason. */
function Wrong({ id, text, at, message }: { id: string; text: string; at: number; message: string }) {
  const rest = text.slice(at);
  return (
    <div class={style["wrong"]} id={id} role="alert">
      <code>
        {text.slice(0, at)}
        <mark>{rest === "" ? "␣" : rest}</mark>
      </code>
      <p>{sentence(message.replace(/^cannot read the filter: at character \d+ /, ""))}</p>
    </div>
  );
}
