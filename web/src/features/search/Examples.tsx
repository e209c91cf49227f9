/** The search page before a search: how it works, and useful examples. */

import { useSession } from "../../state/useSession";
import { NO_SEARCH, type Search } from "../../lib/address/address";
import { State } from "../../ui/layout/EmptyState";
import style from "./Search.module.css";

const EXAMPLES: readonly { words: string; search: Partial<Search> }[] = [
  { words: "Second thoughts", search: { text: "wait,", role: "response" } },
  { words: "Excuses", search: { text: "sorry|apologi[sz]e|as an AI", regex: true, role: "response" } },
  { words: "Answers in a box", search: { text: "\\boxed{", role: "response" } },
  { words: "Tools that failed", search: { text: "error|traceback|timed? out", regex: true, role: "tool" } },
  { words: "Thoughts that did not end", search: { text: "<think>" } },
  {
    words: "Non-Latin letters",
    search: { text: "[\\p{Han}\\p{Cyrillic}\\p{Arabic}]", regex: true, role: "response" },
  },
];

export function Examples() {
  const session = useSession();
  return (
    <div class={style["empty"]}>
      <State title="Search prompts and responses">
        <p>
          Results come as you type, newest step first. <kbd>↓</kbd> goes to them, <kbd>Enter</kbd> opens one with its
          matches marked. Back returns here.
        </p>
        <p>Regular expressions use RE2: always fast, without lookaround or backreferences.</p>
      </State>
      <section aria-label="Searches to begin with">
        <h2 class={style["begin"]}>To begin with</h2>
        <ul class={`within ${style["examples"]}`}>
          {EXAMPLES.map(({ words, search }) => {
            const to = { search: { ...NO_SEARCH, everywhere: session.place.now.value.search.everywhere, ...search } };
            return (
              <li key={words}>
                <a href={session.place.href(to)} onClick={session.place.onLink(to)}>
                  {words}
                </a>{" "}
                <code>{search.text}</code>
                <span class="quiet">
                  {" "}
                  {search.regex === true ? "regular expression" : "text"}
                  {search.role === undefined ? "" : `, ${search.role}`}
                </span>
              </li>
            );
          })}
        </ul>
      </section>
    </div>
  );
}
