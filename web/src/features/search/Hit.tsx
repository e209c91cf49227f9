/** A sample in which something was found: where it is, and what stands around the place. */

import type { SearchHit } from "../../api/types.gen";
import { isReason } from "../../lib/discards";
import { figure, score } from "../../lib/numbers";
import { place } from "../../state/place";
import { Text } from "../../ui/Text";
import { ReasonBadge } from "../discarded/ReasonBadge";
import { HitLink, OfRun } from "./HitLink";
import style from "./Search.module.css";

interface Props {
  hit: SearchHit;
  /** The one before is of another step. */
  isNewStep: boolean;
  isFirst: boolean;
  hasRun: boolean;
  onKey: (event: KeyboardEvent) => void;
}

export const toHit = ({ run, id, split, step, discarded }: SearchHit) => {
  const { search, where } = place.value;
  // The list beside it is of its step, however many were searched.
  return { page: "rollouts" as const, run, split, step, sample: id, extent: "step" as const, list: false, discarded: discarded !== "", search, where: run === place.value.run ? where : "" };
};

export function Hit({ hit, isNewStep, isFirst, hasRun, onKey }: Props) {
  return (
    <li class={style["hit"]}>
      {isNewStep && (
        <h2 class={style["step"]}>
          {hasRun && <OfRun id={hit.run} />}
          <Text text={hit.split} /> · step {figure(hit.step)}
        </h2>
      )}
      <HitLink name={`${hit.run} ${hit.id}`} to={toHit(hit)} isFirst={isFirst} snippets={hit.snippets} more={hit.more} onKey={onKey}>
        <code class="clip"><Text text={`${hit.group}/${hit.index}`} /></code>
        <span class="quiet">reward <b>{score(hit.reward, "none")}</b></span>
        {hit.status !== "completed" && hit.status !== "unknown" && !isReason(hit.status, hit.discarded) && <span class={style["status"]}><Text text={hit.status} /></span>}
        {hit.discarded !== "" && <ReasonBadge reason={hit.discarded} />}
      </HitLink>
    </li>
  );
}
