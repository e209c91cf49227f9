/** Where nothing is searched for yet: how it works, and searches that others have found worth their while. */

import { NO_SEARCH, type Search } from "../../lib/address";
import { href, onLink, place } from "../../state/place";
import { State } from "../../ui/State";
import style from "./Search.module.css";

const EXAMPLES: readonly { words: string; search: Partial<Search> }[] = [
  { words: "Second thoughts", search: { text: "wait,", role: "response" } },
  { words: "Excuses", search: { text: "sorry|apologi[sz]e|as an AI", regex: true, role: "response" } },
  { words: "Answers in a box", search: { text: "\\boxed{", role: "response" } },
  { words: "Tools that failed", search: { text: "error|traceback|timed? out", regex: true, role: "tool" } },
  { words: "Thoughts that were begun", search: { text: "<think>" } },
  { words: "Letters that are not Latin", search: { text: "[\\p{Han}\\p{Cyrillic}\\p{Arabic}]", regex: true, role: "response" } },
];

export function Examples() {
  return (
    <div class={style["empty"]}>
      <State title="Search what the model was asked, and what it wrote">
        <p>
          Results come as you type, newest step first. <kbd>↓</kbd> goes to them, <kbd>Enter</kbd> opens one with the places marked, and Back leads here again.
        </p>
        <p>Regular expressions are RE2's: quick whatever they say, without lookaround and backreferences.</p>
      </State>
      <section aria-label="Searches to begin with">
        <h2 class={style["begin"]}>To begin with</h2>
        <ul class={`within ${style["examples"]}`}>
          {EXAMPLES.map(({ words, search }) => {
            const to = { search: { ...NO_SEARCH, everywhere: place.value.search.everywhere, ...search } };
            return (
              <li key={words}>
                <a href={href(to)} onClick={onLink(to)}>{words}</a> <code>{search.text}</code>
                <span class="quiet"> {search.regex === true ? "regular expression" : "text"}{search.role === undefined ? "" : `, ${search.role}`}</span>
              </li>
            );
          })}
        </ul>
      </section>
    </div>
  );
}
