/** The bookmark of a sample, and the note that a person wrote on it. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { isEmpty } from "../../lib/marks";
import { changeSample, changeText, ofSample, sampleMark, storageProblem } from "../../state/marks";
import { mayWrite } from "../../state/team/people";
import { useSession } from "../../state/useSession";
import { Icon } from "../../ui/controls/Icon";
import { exportOpen } from "../export";
import { drafts, noteKey, noteOpen } from "./marking";
import { SharedNotes, ShareButton } from "./Shared";
import style from "./SampleMarks.module.css";

interface Props {
  run: string;
  id: string;
}

/** The two buttons, for a header. */
export function MarkButtons({ run, id }: Props) {
  const { bookmarked, note } = sampleMark(run, id);
  const key = noteKey(run, id);
  const isOpen = noteOpen.value === key;
  if (!mayWrite.value) return null;
  return (
    <>
      <button
        type="button"
        class={`action ${style["mark"]}`}
        aria-pressed={bookmarked}
        aria-label="Bookmark"
        title={bookmarked ? "Remove the bookmark (b)" : "Bookmark this sample (b)"}
        onClick={() => void changeSample(run, id, { bookmarked: !bookmarked })}
      >
        <Icon sign={bookmarked ? "marked" : "bookmark"} size={16} />
      </button>
      <button
        type="button"
        class={`action ${style["mark"]}`}
        aria-expanded={isOpen}
        aria-label={note === "" ? "Write a note" : "Change the note"}
        title={note === "" ? "Write a note on this sample (n)" : "Change the note (n)"}
        onClick={() => (noteOpen.value = isOpen ? null : key)}
      >
        <Icon sign="note" size={16} />
      </button>
    </>
  );
}

/** The person's note, and what others of a team share. */
export function Note({ run, id }: Props) {
  const mark = sampleMark(run, id);
  const subject = ofSample(run, id);
  return (
    <>
      <OwnNote run={run} id={id} />
      {!isEmpty(mark) && <ShareButton subject={subject} />}
      <SharedNotes subject={subject} />
    </>
  );
}

/** The note, if there is one or if one is being written. */
function OwnNote({ run, id }: Props) {
  const { note } = sampleMark(run, id);
  const key = noteKey(run, id);
  if (noteOpen.value === key && mayWrite.value)
    return (
      <NoteField
        key={key}
        draftOf={key}
        note={note}
        save={(text, before) => void changeText(ofSample(run, id), "note", before, text)}
      />
    );
  if (note === "") return null;
  return (
    <button type="button" class={style["note"]} title="Change the note (n)" onClick={() => (noteOpen.value = key)}>
      <span class="hidden">Note: </span>
      {note}
    </button>
  );
}

const MAX_CHARS = 20_000;
const MAX_ROWS = 10;

/** Leaving the field and opening an export save the text; Escape restores the note and sets the text aside. */
function NoteField({
  draftOf,
  note,
  save,
}: {
  draftOf: string;
  note: string;
  save: (text: string, before: string) => void;
}) {
  const field = useRef<HTMLTextAreaElement>(null);
  const draft = useRef(drafts.get(draftOf)).current;
  const [text, setText] = useState(draft ?? note);
  const before = useRef(note).current;
  const { browse } = useSession();
  const now = useRef({ text, save, isSaved: true });
  now.current = { ...now.current, text, save };
  // Before the next key: text typed right away belongs to the field.
  useLayoutEffect(() => {
    browse.stay();
    const element = field.current;
    element?.focus();
    element?.setSelectionRange(element.value.length, element.value.length);
    // The text is also saved when the reader goes to another sample.
    return () => {
      if (!now.current.isSaved) return;
      drafts.delete(draftOf);
      now.current.save(now.current.text, before);
    };
  }, [before, draftOf, browse]);
  const end = (isSaved: boolean): void => {
    if (text === before) drafts.delete(draftOf);
    else drafts.set(draftOf, text);
    now.current.isSaved = isSaved;
    noteOpen.value = null;
  };
  const isExporting = exportOpen.value !== null;
  useLayoutEffect(() => {
    if (isExporting) noteOpen.value = null;
  }, [isExporting]);
  return (
    <div class={style["writing"]}>
      <textarea
        ref={field}
        class={`field ${style["field"]}`}
        aria-label="Note on this sample"
        placeholder="A note on this sample"
        rows={Math.min(MAX_ROWS, Math.max(2, text.split("\n").length))}
        maxLength={MAX_CHARS}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" || (event.key === "Enter" && (event.ctrlKey || event.metaKey))) {
            event.preventDefault();
            event.stopPropagation();
            end(event.key === "Enter");
          }
        }}
      />
      <span class={style["foot"]}>
        <button type="button" class="action strong" title="Ctrl+Enter" onClick={() => end(true)}>
          Save
        </button>
        <button
          type="button"
          class="action"
          title="Escape: the text is there again when you open the note"
          onClick={() => end(false)}
        >
          Cancel
        </button>
        <small class={style["keys"]}>
          <kbd>Ctrl Enter</kbd> saves, <kbd>Esc</kbd> cancels
        </small>
        {draft !== undefined && draft !== note && <small>restored draft</small>}
        {storageProblem.value !== "" && <small class={style["trouble"]}>Cannot be saved: see Settings</small>}
      </span>
    </div>
  );
}
