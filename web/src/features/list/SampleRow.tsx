/** A sample in the list: its reward in colour, how its response begins, how long it is. */

import type { SampleItem } from "../../api/types.gen";
import { figure } from "../../lib/numbers";
import { preview } from "../../lib/preview";
import { onLink, href, place } from "../../state/place";
import { Score } from "../../ui/Score";
import style from "./Row.module.css";

interface Props {
  /** Undefined while its page is on its way. */
  item: SampleItem | undefined;
  isHere: boolean;
  canFocus: boolean;
  /** Two lines, with the prompt, where no heading says it. */
  isFlat: boolean;
  byChars: boolean;
  box: { transform: string; height: string };
}

/** Of what was not trained on: that there is nothing to read, where that is so. */
const unfinished = ({ status, response_chars }: SampleItem): string => (response_chars > 0 ? "" : status === "aborted" ? "cancelled, no answer" : status === "error" ? "failed, no answer" : "");

const FINE: ReadonlySet<string> = new Set(["completed", "unknown"]);

export function SampleRow({ item, isHere, canFocus, isFlat, byChars, box }: Props) {
  if (item === undefined) return <li class={style["sample"]} style={box} aria-busy="true" />;
  const to = { sample: item.id, list: false };
  const mark = item.discarded === "" ? (FINE.has(item.status) ? "" : item.status) : place.value.discarded ? unfinished(item) : `discarded: ${item.discarded}`;
  const start = preview(item.preview);
  const length = byChars || item.response_tokens === null ? item.response_chars : item.response_tokens;
  const unit = byChars || item.response_tokens === null ? "characters" : "tokens";
  return (
    <li class={`${style["sample"]} ${isFlat ? style["flat"] : ""}`} style={box}>
      <a
        href={href(to)}
        class={style["link"]}
        aria-current={isHere ? "true" : undefined}
        tabIndex={canFocus ? 0 : -1}
        onClick={onLink(to)}
      >
        <Score value={item.reward} />
        <span class={style["preview"]}>
          <span class={style["line"]}>
            {mark !== "" && <em>{mark} </em>}
            {start.isThought && <i class={style["thought"]} title="begins with a thought">▸ </i>}
            {start.text.trim() === "" ? <span class="quiet">(empty)</span> : start.text}
          </span>
          {isFlat && <small class={style["line"]}>{item.prompt}</small>}
        </span>
        <span class={style["length"]} title={`${figure(length)} ${unit}`}>
          {figure(length)}
        </span>
      </a>
    </li>
  );
}
