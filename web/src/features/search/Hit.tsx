/** A matching sample: its place, and the text around the match. */

import { useSession } from "../../state/useSession";
import type { Session } from "../../state/session";
import type { SearchHit } from "../../api/types.gen";
import { isReason } from "../../lib/sample/discardReasons";
import { figure, score } from "../../lib/numbers/numbers";
import { Text } from "../../ui/text/Text";
import { ReasonBadge } from "../discarded";
import { HitLink, OfRun } from "./HitLink";
import style from "./Search.module.css";

interface Props {
  hit: SearchHit;
  /** True if the previous hit is from another step. */
  isNewStep: boolean;
  isFirst: boolean;
  hasRun: boolean;
  onKey: (event: KeyboardEvent) => void;
}

export const toHit = (session: Session, { run, id, split, step, discarded }: SearchHit) => {
  const { search, where } = session.place.now.value;
  // The list beside the sample covers its step, even if the search covered more.
  return {
    page: "rollouts" as const,
    run,
    split,
    step,
    sample: id,
    extent: "step" as const,
    list: false,
    discarded: discarded !== "",
    search,
    where: run === session.place.now.value.run ? where : "",
  };
};

export function Hit({ hit, isNewStep, isFirst, hasRun, onKey }: Props) {
  const session = useSession();
  return (
    <li class={style["hit"]}>
      {isNewStep && (
        <h2 class={style["step"]}>
          {hasRun && <OfRun id={hit.run} />}
          <Text text={hit.split} /> · step {figure(hit.step)}
        </h2>
      )}
      <HitLink
        name={`${hit.run} ${hit.id}`}
        to={toHit(session, hit)}
        isFirst={isFirst}
        snippets={hit.snippets}
        more={hit.more}
        onKey={onKey}
      >
        <code class="clip">
          <Text text={`${hit.group}/${hit.index}`} />
        </code>
        <span class="quiet">
          reward <b>{score(hit.reward, "none")}</b>
        </span>
        {hit.status !== "completed" && hit.status !== "unknown" && !isReason(hit.status, hit.discarded) && (
          <span class={style["status"]}>
            <Text text={hit.status} />
          </span>
        )}
        {hit.discarded !== "" && <ReasonBadge reason={hit.discarded} />}
      </HitLink>
    </li>
  );
}
