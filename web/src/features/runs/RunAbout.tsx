/** What a bundled run holds, and the way to the other runs. */

import { runs } from "../../state/runs";
import { useSession } from "../../state/useSession";
import { count } from "../../lib/numbers/numbers";
import style from "./RunAbout.module.css";

export function RunAbout() {
  const session = useSession();
  const about = session.run.now.value?.about ?? "";
  if (about === "") return null;
  const others = (runs.value?.length ?? 1) - 1;
  const list = { page: "runs", run: null } as const;
  return (
    <p class={style["about"]}>
      <span>{about}</span>
      {others > 0 && (
        <a href={session.place.href(list)} onClick={session.place.onLink(list)}>
          {count(others, "other run")}
        </a>
      )}
    </p>
  );
}
