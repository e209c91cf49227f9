/** The navigation between pages, at the side; on a narrow screen at the foot. */

import { useSession } from "../../state/useSession";
import type { Page, Place } from "../../lib/address/address";
import { choose, settings } from "../../state/browser/settings";
import { Icon, type Sign } from "../../ui/controls/Icon";
import { helpOpen } from "../../features/help";
import { paletteOpen } from "../../features/palette";
import { type PageEntry, pages } from "../../features/pages";
import style from "./Rail.module.css";

export function Rail() {
  const session = useSession();
  const here = session.place.field.page.value;
  const list = session.place.field.list.value;
  const isDiscarded = session.place.field.discarded.value;
  const { railOpen } = settings.value;
  const all = pages(session);
  const foot = footOf(all, here);
  return (
    <nav class={`${style["rail"]} ${railOpen ? "" : style["slim"]}`} aria-label="Pages">
      {all.flatMap(({ page, discarded = false, sign, label, more, badge = 0, isEmpty = false }) => [
        <Item
          key={label}
          sign={sign}
          word={label}
          label={`${label}: ${more}`}
          isEmpty={isEmpty}
          to={{ page, discarded, list: false }}
          isHere={here === page && discarded === (isDiscarded && page === "rollouts") && !(page === "rollouts" && list)}
          badge={badge}
          isWide={!foot.has(discarded ? "discarded" : page)}
        />,
        page === "rollouts" && !discarded && (
          <Item
            key="list"
            sign="list"
            word="Samples"
            label="Samples"
            to={{ page: "rollouts", list: true }}
            isHere={here === "rollouts" && list}
            isNarrow
          />
        ),
      ])}
      <button
        type="button"
        class={`${style["item"]} ${style["narrow"]}`}
        aria-label="More: find anything by name"
        title="Find anything by name, including every action"
        onClick={() => (paletteOpen.value = true)}
      >
        <Icon sign="more" />
        <span class={style["word"]}>More</span>
      </button>
      <button
        type="button"
        class={`${style["item"]} ${style["help"]}`}
        aria-label="Keys (?)"
        title="Keys (?)"
        onClick={() => (helpOpen.value = true)}
      >
        <kbd>?</kbd>
        <span class={style["word"]}>Keys</span>
      </button>
      <button
        type="button"
        class={`${style["item"]} ${style["slimmer"]}`}
        aria-label={railOpen ? "Hide the labels" : "Show the labels"}
        title={railOpen ? "Hide the labels" : "Show the labels"}
        aria-expanded={railOpen}
        onClick={() => choose({ railOpen: !railOpen })}
      >
        {railOpen ? "‹" : "›"}
      </button>
    </nav>
  );
}

/** The pages at the foot of a narrow screen, besides the list of samples, most wanted first. */
const WANTED = ["rollouts", "metrics", "findings", "evals", "discarded", "search", "bookmarks", "settings"];
const AT_FOOT = 4;

/** The most wanted pages that have something to show; the current page is one of them. */
function footOf(all: readonly PageEntry[], here: Page): ReadonlySet<string> {
  const names = all
    .filter(({ isEmpty }) => isEmpty !== true)
    .map(({ page, discarded }) => (discarded ? "discarded" : page));
  const wanted = WANTED.filter((name) => names.some((one) => one === name)).slice(0, AT_FOOT);
  return new Set(wanted.includes(here) ? wanted : [...wanted.slice(0, AT_FOOT - 1), here]);
}

interface ItemProps {
  sign: Sign;
  /** The words below the icon. */
  word: string;
  label: string;
  to: Partial<Place>;
  isHere: boolean;
  isNarrow?: boolean;
  /** Not at the foot of a narrow screen. */
  isWide?: boolean;
  badge?: number;
  isEmpty?: boolean;
}

function Item({
  sign,
  word,
  label,
  to,
  isHere,
  isNarrow = false,
  isWide = false,
  badge = 0,
  isEmpty = false,
}: ItemProps) {
  const session = useSession();
  const where = isNarrow ? style["narrow"] : isWide ? style["wide"] : "";
  return (
    <a
      class={`${style["item"]} ${where} ${isEmpty ? style["empty"] : ""}`}
      href={session.place.href(to)}
      onClick={session.place.onLink(to)}
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
