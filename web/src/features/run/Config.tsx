/** The configuration of a run: a tree that folds; a search opens the matches. Both are drawn in batches. */

import { useMemo, useState } from "preact/hooks";
import { shown } from "../../lib/data/json";
import { count, figure } from "../../lib/numbers/numbers";
import { byArea, matching, type Twig, treeOf } from "../../lib/data/tree";
import { Copy } from "../../ui/controls/Copy";
import { Name } from "../../ui/text/Name";
import { Text } from "../../ui/text/Text";
import { Part } from "./Part";
import style from "./Config.module.css";

/** The number of children, and of matches, to draw at first. */
const BATCH = 100;
const FOUND = 200;
/** A configuration with no more values starts unfolded. */
const FEW = 80;

export function Config({ config }: { config: unknown }) {
  const tree = useMemo(() => (Object.keys(config ?? {}).length === 0 ? null : byArea(treeOf(config))), [config]);
  return (
    <Part title="Configuration" note={tree === null ? "none" : count(tree.values, "value")}>
      {tree === null ? (
        <p class="quiet">The files of this run have no configuration that Rolloupe can read.</p>
      ) : (
        <Tree tree={tree} config={config} />
      )}
    </Part>
  );
}

function Tree({ tree, config }: { tree: Twig; config: unknown }) {
  const [wanted, want] = useState("");
  const [most, more] = useState(FOUND);
  const [fold, setFold] = useState<{ isOpen: boolean; round: number } | null>(null);
  const isSearch = wanted.trim() !== "";
  const results = useMemo(() => matching(tree, wanted, most), [tree, wanted, most]);
  const isOpen = isSearch || (fold?.isOpen ?? tree.values <= FEW);
  const hasBranches = tree.children?.some(({ children }) => children !== null) === true;
  const turn = (isNow: boolean): void => setFold({ isOpen: isNow, round: (fold?.round ?? 0) + 1 });
  return (
    <>
      <div class={style["tools"]}>
        <input
          class={`field ${style["find"]}`}
          type="search"
          placeholder="Find a key or a value"
          aria-label="Find in the configuration"
          value={wanted}
          onInput={(event) => {
            want(event.currentTarget.value);
            more(FOUND);
          }}
        />
        {isSearch && (
          <span class="quiet" role="status">
            {results.count === 0 ? "" : `${figure(results.count)} of ${count(tree.values, "value")}`}
          </span>
        )}
        {!isSearch && hasBranches && (
          <>
            <button type="button" class="action" onClick={() => turn(true)}>
              Unfold all
            </button>
            <button type="button" class="action" onClick={() => turn(false)}>
              Fold all
            </button>
          </>
        )}
        <Copy label="Copy as JSON" what="the configuration" text={() => shown(config)} />
      </div>
      {results.tree === null ? (
        <p class="quiet">No key or value matches.</p>
      ) : (
        // A new search starts with all matches unfolded.
        <Children key={`${isSearch ? wanted : ""} ${fold?.round}`} of={results.tree} isOpen={isOpen} depth={0} />
      )}
      {isSearch && results.count > most && (
        <button
          type="button"
          class="button"
          onClick={() => more(most + 5 * FOUND)}
        >{`${figure(results.count - most)} more: show`}</button>
      )}
    </>
  );
}

/** `isOpen`: branches stay unfolded until the reader folds them. */
function Children({ of, isOpen, depth }: { of: Twig; isOpen: boolean; depth: number }) {
  const [most, more] = useState(BATCH);
  const all = of.children ?? [of];
  return (
    <div class={style["children"]}>
      {all
        .slice(0, most)
        .map((twig, i) =>
          twig.children === null ? (
            <Value key={i} twig={twig} isOf={of.isList} />
          ) : (
            <Branch key={i} twig={twig} isOpen={isOpen} depth={depth} />
          ),
        )}
      {all.length > most && (
        <button
          type="button"
          class="button"
          onClick={() => more(most + 10 * BATCH)}
        >{`${figure(all.length - most)} more: show`}</button>
      )}
    </div>
  );
}

function Value({ twig: { name, text }, isOf: isOfList }: { twig: Twig; isOf: boolean }) {
  return (
    <div class={style["value"]}>
      <span class={isOfList ? style["number"] : style["key"]}>
        <Name text={name} />
      </span>{" "}
      <span class={style["text"]}>
        <Text text={text} />
      </span>
    </div>
  );
}

function Branch({ twig, isOpen: opens, depth }: { twig: Twig; isOpen: boolean; depth: number }) {
  const [isOpen, open] = useState(opens);
  const size = twig.isList
    ? count(twig.children?.length ?? 0, "entry", "entries")
    : count(twig.children?.length ?? 0, "key");
  return (
    <details class={style["branch"]} open={isOpen} onToggle={(event) => open(event.currentTarget.open)}>
      <summary>
        <span class={style["key"]}>
          <Name text={twig.name} />
        </span>{" "}
        <small>{size}</small>
      </summary>
      {isOpen && <Children of={twig} isOpen={opens && depth < 100} depth={depth + 1} />}
    </details>
  );
}
