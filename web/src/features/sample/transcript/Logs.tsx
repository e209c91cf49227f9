/** What an environment logged about a turn. */

import { useState } from "preact/hooks";
import { shown } from "../../../lib/data/json";
import { isRecord } from "../../../lib/data/record";
import { Text } from "../../../ui/text/Text";
import style from "./Logs.module.css";

/** The most characters of logs to show as the text of a turn without one. */
const WORDS_CHARS = 4000;

/** The logs of a turn, such as a guess and its feedback, if they are a few plain values; otherwise none. */
export function wordsOf(logs: unknown): [string, string][] {
  const entries = isRecord(logs) ? Object.entries(logs) : [];
  const isPlain = entries.every(([, value]) => typeof value !== "object" || value === null);
  const words = entries.map(([key, value]): [string, string] => [key, String(value)]);
  return isPlain && words.reduce((sum, [key, value]) => sum + key.length + value.length, 0) <= WORDS_CHARS ? words : [];
}

/** Other data about a turn. */
export function Logs({ logs }: { logs: unknown }) {
  const [isOpen, open] = useState(false);
  const names = typeof logs === "object" && logs !== null ? Object.keys(logs) : [];
  if (names.length === 0) return null;
  return (
    <details class={style["logs"]} onToggle={(event) => open(event.currentTarget.open)}>
      <summary>
        Logs{" "}
        <span class="quiet">
          <Text text={names.slice(0, 8).join(", ")} />
        </span>
      </summary>
      {isOpen && (
        <pre>
          <Text text={shown(logs)} />
        </pre>
      )}
    </details>
  );
}

/** Plain values as the text of a turn. */
export function Words({ words }: { words: readonly (readonly [string, string])[] }) {
  return (
    <dl class={style["words"]}>
      {words.map(([key, value]) => (
        <div key={key}>
          <dt>
            <Text text={key} />
          </dt>
          <dd>
            <Text text={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
