/** The search form: text, options, scope. */

import { useSession } from "../../state/useSession";
import { useRef } from "preact/hooks";
import type { Extent, Search } from "../../lib/address/address";
import { figure } from "../../lib/numbers/numbers";
import { runs } from "../../state/runs";
import { nameOf } from "../../state/marks";
import { requestAt } from "../../state/search";
import { Segments } from "../../ui/controls/Segments";
import { Text } from "../../ui/text/Text";
import style from "./Search.module.css";

export const SEARCH_ID = "search";

const ROLES = ["prompt", "response", "system", "user", "assistant", "tool"];
const HOW = [
  { name: "case", sign: "Aa", words: "Match case" },
  { name: "word", sign: "W", words: "Whole words" },
  { name: "regex", sign: ".*", words: "Regular expression" },
] as const;
const ORDERS = [
  { value: "newest", label: "Newest first" },
  { value: "oldest", label: "Oldest first" },
] as const;
const MAX_CHARS = 10_000;

/** `toResults` is called when the reader moves on to the results. */
export function SearchForm({ toResults }: { toResults: () => void }) {
  const session = useSession();
  const { search, where } = session.place.now.value;
  const range = useRef<Extent | null>(null);
  const { extent } = session.place.now.value;
  if (typeof extent !== "string") range.current = extent;
  const change = (next: Partial<Search>): void => session.place.go({ search: { ...search, ...next } }, "replace");
  return (
    <search class={style["form"]}>
      <div class={style["line"]}>
        <input
          id={SEARCH_ID}
          class={`field ${style["field"]} ${search.regex ? "mono" : ""}`}
          type="search"
          aria-label={search.regex ? "Search for a regular expression" : "Search for a text"}
          placeholder="Search prompts and responses"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          maxLength={MAX_CHARS}
          value={search.text}
          onInput={(event) => change({ text: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown") toResults();
            else if (event.key === "Enter") {
              const request = requestAt(session.place.now.peek());
              if (request !== null) session.search.searchNow(request);
            } else return;
            event.preventDefault();
          }}
        />
        <div class={style["how"]} role="group" aria-label="How">
          {HOW.map(({ name, sign, words }) => (
            <button
              key={name}
              type="button"
              class="action mono"
              aria-pressed={search[name]}
              aria-label={words}
              title={words}
              onClick={() => change({ [name]: !search[name] })}
            >
              {sign}
            </button>
          ))}
        </div>
      </div>
      <div class={style["line"]}>
        <Scope range={range.current} />
        <label class={style["role"]}>
          <span class="quiet">in</span>
          <select class="field" value={search.role} onChange={(event) => change({ role: event.currentTarget.value })}>
            <option value="">prompts and responses</option>
            {ROLES.map((role) => (
              <option key={role} value={role}>
                {role}
              </option>
            ))}
          </select>
        </label>
        <Segments
          label="Order"
          options={ORDERS}
          value={search.oldest ? "oldest" : "newest"}
          choose={(order) => change({ oldest: order === "oldest" })}
        />
        {where !== "" && (
          <span class={style["where"]}>
            <span class="quiet">where</span>{" "}
            <code class="clip">
              <Text text={where} />
            </code>
            <button
              type="button"
              class="action"
              aria-label="Search without the filter"
              onClick={() => session.place.go({ where: "" }, "replace")}
            >
              ×
            </button>
          </span>
        )}
      </div>
    </search>
  );
}

/** The step, a range of steps from the list, the run, or all of them. */
function Scope({ range }: { range: Extent | null }) {
  const session = useSession();
  const { extent, step, split, search, run: runId } = session.place.now.value;
  const current = session.run.now.value;
  const options = [
    ...(current !== null && step !== null
      ? [{ value: "step", label: `Step ${figure(step)}`, title: `${split} ${figure(step)}` }]
      : []),
    ...(current !== null && range !== null && typeof range !== "string"
      ? [{ value: "range", label: `Steps ${range.map((end) => (end === null ? "" : figure(end))).join("–")}` }]
      : []),
    ...(current !== null ? [{ value: "run", label: nameOf(current), title: "The whole run" }] : []),
    ...((runs.value?.length ?? 0) > 1 || current === null ? [{ value: "all", label: "All runs" }] : []),
  ];
  const isEverywhere = search.everywhere || runId === null;
  // With a single run, all runs are this one.
  const value = isEverywhere ? (options.at(-1)?.value ?? "all") : typeof extent === "string" ? extent : "range";
  const choose = (to: string): void => {
    const next = to === "range" ? range : to === "step" || to === "run" ? to : extent;
    session.place.go({ extent: next ?? "run", search: { ...search, everywhere: to === "all" } }, "replace");
  };
  return <Segments label="Where" options={options} value={value} choose={choose} />;
}
