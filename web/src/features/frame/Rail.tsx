/** The pages of the app, at the side; on a narrow screen at the foot. */

import type { Place } from "../../lib/address";
import { field, href, onLink } from "../../state/place";
import { choose, settings } from "../../state/settings";
import { Icon, type Sign } from "../../ui/Icon";
import { helpOpen } from "../help/help";
import { paletteOpen } from "../palette/palette";
import { pages } from "./pages";
import style from "./Rail.module.css";

export function Rail() {
  const here = field.page.value;
  const list = field.list.value;
  const isDiscarded = field.discarded.value;
  const { railOpen } = settings.value;
  return (
    <nav class={`${style["rail"]} ${railOpen ? "" : style["slim"]}`} aria-label="Pages">
      {pages().flatMap(({ page, discarded = false, sign, label, more, badge = 0, isEmpty = false }) => [
        <Item key={label} sign={sign} word={label} label={`${label}: ${more}`} isEmpty={isEmpty} to={{ page, discarded, list: false }} isHere={here === page && discarded === (isDiscarded && page === "rollouts") && !(page === "rollouts" && list)} badge={badge} />,
        page === "rollouts" && !discarded && <Item key="list" sign="list" word="Samples" label="Samples" to={{ page: "rollouts", list: true }} isHere={here === "rollouts" && list} isNarrow />,
      ])}
      <button type="button" class={`${style["item"]} ${style["narrow"]}`} aria-label="Find anything by name" title="Find anything by name, and all that can be done" onClick={() => (paletteOpen.value = true)}>
        <Icon sign="more" />
        <span class={style["word"]}>More</span>
      </button>
      <button type="button" class={`${style["item"]} ${style["help"]}`} aria-label="?: the map of keys" title="Keys (?)" onClick={() => (helpOpen.value = true)}>
        <kbd>?</kbd>
        <span class={style["word"]}>Keys</span>
      </button>
      <button type="button" class={`${style["item"]} ${style["slimmer"]}`} aria-label={railOpen ? "Fold the words away" : "Show the words"} title={railOpen ? "Fold the words away" : "Show the words"} aria-expanded={railOpen} onClick={() => choose({ railOpen: !railOpen })}>
        {railOpen ? "‹" : "›"}
      </button>
    </nav>
  );
}

interface ItemProps {
  sign: Sign;
  /** What stands below the sign. */
  word: string;
  label: string;
  to: Partial<Place>;
  isHere: boolean;
  isNarrow?: boolean;
  badge?: number;
  isEmpty?: boolean;
}

function Item({ sign, word, label, to, isHere, isNarrow = false, badge = 0, isEmpty = false }: ItemProps) {
  return (
    <a
      class={`${style["item"]} ${isNarrow ? style["narrow"] : ""} ${isEmpty ? style["empty"] : ""}`}
      href={href(to)}
      onClick={onLink(to)}
      aria-current={isHere ? "page" : undefined}
      aria-label={label}
      title={label}
      data-badge={badge === 0 ? undefined : badge > 99 ? "99+" : badge}
    >
      <Icon sign={sign} />
      <span class={style["word"]}>{word}</span>
    </a>
  );
}
