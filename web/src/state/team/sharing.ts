/** Shares a mark with the team, takes it back, and removes marks that others share. */

import { ApiError, changeState } from "../../api";
import type { StateItem } from "../../api/types.gen";
import { keyOf, ownerOf, type Subject } from "../../lib/marks";
import { isShared, items, loadMarks, localKey, markValue, owners, take } from "../marks";
import { inTurn } from "../turns";
import { ownShared } from "./people";

/**
 * Show a mark to the team, or to the person alone. The new one is stored before the old one goes, so that a failure in
 * between loses nothing.
 */
export async function setShared(subject: Subject, to: boolean): Promise<void> {
  await inTurn(localKey(subject), async () => share(subject, to));
}

async function share(subject: Subject, to: boolean): Promise<void> {
  if (isShared(subject) === to) return;
  const { kind, run, owner, name } = subject;
  const value = markValue(subject);
  const field = { run: "run_mark", sample: "sample_mark", layout: "setting", setting: "setting" }[kind];
  const key = keyOf(kind, run === "" ? owner : ownerOf(owners.peek(), run), name);
  const versions = { shared: ownShared(key)?.version ?? 0, own: items.peek().get(key)?.version ?? 0 };
  const place = { kind, run, owner, name };
  try {
    const made = await changeState({
      ...place,
      shared: to,
      seen: to ? versions.shared : versions.own,
      [field]: value,
    });
    const gone = await changeState({ ...place, shared: !to, seen: to ? versions.own : versions.shared });
    take(made);
    take(gone);
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 409)) throw error;
    await loadMarks(); // another tab was first
  }
}

/** Remove what another person shares, as an admin. */
export async function removeShared(item: StateItem): Promise<void> {
  const { kind, owner, name, by, version } = item;
  take(await changeState({ kind, run: "", owner, name, by, shared: true, seen: version }));
}
