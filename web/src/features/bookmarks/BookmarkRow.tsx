/** A bookmarked sample in the list: its place, its beginning, its note, and a button to remove the bookmark. */

import { useSession } from "../../state/useSession";
import type { MarkedSample, StateItem, StateOwner } from "../../api/types.gen";
import { scopeOf } from "../../lib/address/address";
import { score } from "../../lib/numbers/numbers";
import { preview } from "../../lib/sample/preview";
import { colourOf, nameOf, ofSample, put } from "../../state/marks";
import { removeShared } from "../../state/team/sharing";
import { isAdmin, mayWrite, user } from "../../state/team/people";
import { runOf } from "../../state/runs";
import { asApiError } from "../../state/browser/login";
import { announce } from "../../ui/overlay/announce";
import { Icon } from "../../ui/controls/Icon";
import { Text } from "../../ui/text/Text";
import style from "./BookmarksPage.module.css";

interface Props {
  item: StateItem;
  owner: StateOwner | null;
  /** Undefined while it loads, and if its run is not open. */
  now: MarkedSample | undefined;
  hasRun: boolean;
}

export function BookmarkRow({ item, owner, now, hasRun }: Props) {
  const session = useSession();
  const open = runOf(owner?.run);
  const mark = item.sample_mark;
  if (mark === null) return null;
  const sample = now?.sample ?? null;
  const id = sample?.id ?? item.name;
  const scope = scopeOf(id);
  const to = {
    ...(open?.id === session.place.now.value.run ? {} : { run: open?.id ?? null }),
    page: "rollouts" as const,
    ...scope,
    sample: id,
    list: false,
  };
  const isGone = now !== undefined && sample === null;
  const isOwn = item.by === user.value;
  const start = preview(sample?.response ?? mark.excerpt);
  return (
    <li class={style["row"]}>
      <p class={style["where"]}>
        {mark.bookmarked && <Icon sign="marked" size={14} />}
        {open === undefined || scope === null ? (
          <span>
            <Text text={id} />
          </span>
        ) : (
          <a href={session.place.href(to)} onClick={session.place.onLink(to)}>
            <Text text={id} />
          </a>
        )}
        {sample !== null && (
          <span class={style["reward"]}>
            reward <b>{score(sample.reward, "none")}</b>
          </span>
        )}
        {sample !== null && sample.status !== "completed" && sample.status !== "unknown" && (
          <span>
            <Text text={sample.status} />
          </span>
        )}
        {hasRun && (
          <span class={style["of"]} title={owner?.path}>
            {open !== undefined && <i style={{ background: `var(--run-${colourOf(open.id)})` }} />}
            <Text text={open === undefined ? (owner?.name ?? "a run") : nameOf(open)} />
          </span>
        )}
        {open === undefined && (
          <span class={style["gone"]} title={owner?.path}>
            not open
          </span>
        )}
        {isGone && <span class={style["gone"]}>removed from the run</span>}
        {item.shared && (
          <span>
            {isOwn ? "shared" : "by "}
            {!isOwn && <Text text={item.by} />}
          </span>
        )}
        {(isOwn ? mayWrite.value : isAdmin.value) && (
          <button
            type="button"
            class={`action ${style["remove"]}`}
            aria-label={`Remove the bookmark and the note of ${id}`}
            title={mark.note === "" ? "Remove the bookmark" : "Remove the bookmark and its note"}
            onClick={() =>
              void (isOwn
                ? put({ ...ofSample(open?.id ?? "", item.name), owner: item.owner }, null)
                : removeShared(item).catch((error: unknown) => announce(asApiError(error).message)))
            }
          >
            Remove
          </button>
        )}
      </p>
      {mark.note !== "" && (
        <p class={style["note"]}>
          <Text text={mark.note} />
        </p>
      )}
      {start.text !== "" && (
        <p class={style["start"]}>
          <Text text={start.text} />
        </p>
      )}
    </li>
  );
}
