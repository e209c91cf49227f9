/** Sharing in a team: a button to share the person's mark, and the notes of others with their names. */

import { useState } from "preact/hooks";
import type { Subject } from "../../lib/marks";
import { fromOthers, isShared } from "../../state/marks";
import { removeShared, setShared } from "../../state/team/sharing";
import { isAdmin, isTeam, mayWrite } from "../../state/team/people";
import { asApiError } from "../../state/browser/login";
import { announce } from "../../ui/overlay/announce";
import { wordOf } from "../judging";
import { Text } from "../../ui/text/Text";
import style from "./Shared.module.css";

const failed = (error: unknown): void => announce(asApiError(error).message);

/** The button of the person's own mark. */
export function ShareButton({ subject }: { subject: Subject }) {
  const [isBusy, setBusy] = useState(false);
  if (!isTeam.value || !mayWrite.value) return null;
  const now = isShared(subject);
  const change = (): void => {
    setBusy(true);
    void setShared(subject, !now)
      .then(() => announce(now ? "Private again" : "Shared with the team"), failed)
      .finally(() => setBusy(false));
  };
  return (
    <button
      type="button"
      class={`action ${style["share"]}`}
      disabled={isBusy}
      title={now ? "The team sees it" : "You alone see it"}
      onClick={change}
    >
      {now ? "Make private" : "Share with the team"}
    </button>
  );
}

/** The notes of others. */
export function SharedNotes({ subject }: { subject: Subject }) {
  const notes = fromOthers(subject).flatMap((item) => {
    const note = (item.sample_mark ?? item.run_mark)?.note ?? "";
    const judgement = item.sample_mark?.judgement ?? "";
    const isMarked = item.sample_mark?.bookmarked === true;
    return note === "" && !isMarked && judgement === "" ? [] : [{ item, note, judgement }];
  });
  if (notes.length === 0) return null;
  return (
    <ul class={style["notes"]} aria-label="Shared by others">
      {notes.map(({ item, note, judgement }) => (
        <li key={item.by}>
          <b>
            <Text text={item.by} />
          </b>{" "}
          {judgement !== "" && <span class="quiet">judged this {wordOf(judgement)} </span>}
          {note !== "" ? <Text text={note} /> : judgement === "" && <span class="quiet">bookmarked this</span>}
          {isAdmin.value && (
            <button
              type="button"
              class={`action ${style["remove"]}`}
              aria-label={`Remove what ${item.by} shares here`}
              onClick={() => void removeShared(item).catch(failed)}
            >
              Remove
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
