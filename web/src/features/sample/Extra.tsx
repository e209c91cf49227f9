/** The fields of the record that have no place of their own. */

import { useState } from "preact/hooks";
import { shown } from "../../lib/json";
import { figure } from "../../lib/numbers";
import { Text } from "../../ui/Text";
import style from "./Extra.module.css";

export function Extra({ extra }: { extra: unknown }) {
  const [isOpen, open] = useState(false);
  const fields = typeof extra === "object" && extra !== null ? Object.entries(extra) : [];
  if (fields.length === 0) return null;
  return (
    <details class={style["extra"]} onToggle={(event) => open(event.currentTarget.open)}>
      <summary>Other fields <span class="quiet">{figure(fields.length)}</span></summary>
      {isOpen && (
        <dl>
          {fields.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd><Text text={shown(value)} /></dd>
            </div>
          ))}
        </dl>
      )}
    </details>
  );
}
