/** A run of template placeholders (`<|image_pad|>` many times over), folded to one mark. */

import { useState } from "preact/hooks";
import type { PartView } from "../../../api/types.gen";
import { Text } from "../../../ui/text/Text";
import style from "./Placeholder.module.css";

export function Placeholder({ part }: { part: PartView }) {
  const [isOpen, open] = useState(false);
  return (
    <>
      <button
        type="button"
        class={style["mark"]}
        aria-expanded={isOpen}
        title={isOpen ? "Fold" : "Show as written"}
        onClick={() => open(!isOpen)}
      >
        <Text text={part.text} />
      </button>
      {isOpen && (
        <span class={style["raw"]}>
          <Text text={part.raw ?? part.text} />
        </span>
      )}
    </>
  );
}
