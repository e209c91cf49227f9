/** Other fields of the record. */

import { useState } from "preact/hooks";
import { shown } from "../../../lib/data/json";
import { figure } from "../../../lib/numbers/numbers";
import { Text } from "../../../ui/text/Text";
import { Picture } from "./Picture";
import style from "./Extra.module.css";

export function Extra({ extra, images }: { extra: unknown; images: readonly string[] }) {
  const [isOpen, open] = useState(false);
  const fields = typeof extra === "object" && extra !== null ? Object.entries(extra) : [];
  if (fields.length === 0) return null;
  return (
    <details class={style["extra"]} onToggle={(event) => open(event.currentTarget.open)}>
      <summary>
        Other fields <span class="quiet">{figure(fields.length)}</span>
      </summary>
      {isOpen && images.length > 0 && (
        <div class={style["images"]}>
          {images.map((what, i) => (
            <Picture key={i} at={`extra.${i}`} what={what} />
          ))}
        </div>
      )}
      {isOpen && (
        <dl>
          {fields.map(([name, value]) => (
            <div key={name}>
              <dt>
                <Text text={name} />
              </dt>
              <dd>
                <Text text={shown(value)} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </details>
  );
}
