/** The person's marks on a run: its name, its colour, whether it is listed, a note. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RunItem, RunMark } from "../../../api/types.gen";
import { changeRun, changeText, colourOf, ofRun, runMark, storageProblem } from "../../../state/marks";
import { mayWrite } from "../../../state/team/people";
import { Icon } from "../../../ui/controls/Icon";
import { SharedNotes, ShareButton } from "../../marks";
import style from "./RunEditor.module.css";

const COLOURS = Array.from({ length: 10 }, (_, i) => i + 1);
const WORDS = ["blue", "orange", "green", "pink", "cyan", "violet", "yellow", "red", "moss", "grey"];

export function RunEditor({ item, done }: { item: RunItem; done: () => void }) {
  return (
    <div class={style["editor"]}>
      <p class={style["head"]}>
        <button type="button" class="action" onClick={done}>
          <Icon sign="previous" size={16} /> Back
        </button>
        <span class="clip quiet" title={item.path}>
          {item.path}
        </span>
      </p>
      {mayWrite.value ? <Own item={item} /> : <p class="quiet">Your role on this server is reader.</p>}
      <SharedNotes subject={ofRun(item.id)} />
    </div>
  );
}

function Own({ item }: { item: RunItem }) {
  const { name, colour, hidden, note } = runMark(item.id);
  const set = (change: Partial<RunMark>): void => void changeRun(item.id, change);
  return (
    <>
      <Field
        label="Name"
        text={name}
        usual={item.name}
        most={200}
        save={(text, before) => void changeText(ofRun(item.id), "name", before, text)}
        hasFocus
      />
      <div class={style["line"]} role="group" aria-label="Colour">
        <span>Colour</span>
        <span class={style["colours"]}>
          {COLOURS.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={colourOf(item.id) === one}
              aria-label={WORDS[one - 1] ?? String(one)}
              title={WORDS[one - 1]}
              onClick={() => set({ colour: colour === one ? 0 : one })}
            >
              <i style={{ background: `var(--run-${one})` }} />
            </button>
          ))}
        </span>
      </div>
      <Field
        label="Note"
        text={note}
        usual=""
        most={20_000}
        save={(text, before) => void changeText(ofRun(item.id), "note", before, text)}
        isLong
      />
      <label class={style["check"]}>
        <input type="checkbox" checked={hidden} onChange={(event) => set({ hidden: event.currentTarget.checked })} />
        Hide in the list of runs
      </label>
      {(name !== "" || note !== "") && <ShareButton subject={ofRun(item.id)} />}
      {storageProblem.value !== "" && <p class={style["trouble"]}>Cannot be saved: see Settings.</p>}
    </>
  );
}

interface FieldProps {
  label: string;
  text: string;
  usual: string;
  most: number;
  save: (text: string, before: string) => void;
  isLong?: boolean;
  hasFocus?: boolean;
}

/** Saves when the field loses the focus, in whatever way. */
function Field({ label, text, usual, most, save, isLong = false, hasFocus = false }: FieldProps) {
  const [draft, setDraft] = useState(text);
  const field = useRef<HTMLElement | null>(null);
  /** The text when writing began; null while nobody writes. */
  const before = useRef<string | null>(null);
  const now = useRef({ draft, save });
  now.current = { draft, save };
  useEffect(() => {
    if (before.current === null) setDraft(text);
  }, [text]);
  const keep = (): void => {
    const began = before.current;
    before.current = null;
    if (began !== null) now.current.save(now.current.draft.trim(), began);
  };
  // Before the next key: text typed right away belongs to the field.
  useLayoutEffect(() => {
    if (hasFocus) field.current?.focus();
    return keep;
    // Once, when the field appears or goes.
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);
  const props = {
    class: "field",
    maxLength: most,
    placeholder: usual,
    value: draft,
    onBlur: keep,
    onInput: (event: { currentTarget: { value: string } }) => {
      before.current ??= text;
      setDraft(event.currentTarget.value);
    },
    ref: (element: HTMLElement | null) => {
      field.current = element;
    },
  };
  return (
    <label class={style["line"]}>
      <span>{label}</span>
      {isLong ? (
        <textarea rows={3} {...props} />
      ) : (
        <input
          autocomplete="off"
          spellcheck={false}
          {...props}
          onKeyDown={(event) => event.key === "Enter" && keep()}
        />
      )}
    </label>
  );
}
