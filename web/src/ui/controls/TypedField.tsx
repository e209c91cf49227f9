/** A field whose text is taken on Enter, or when the person leaves it. Until then no drawing of the page changes it. */

import type { InputHTMLAttributes, TargetedEvent } from "preact";
import { useState } from "preact/hooks";

type Attribute =
  | "aria-label"
  | "class"
  | "disabled"
  | "inputMode"
  | "max"
  | "maxLength"
  | "min"
  | "placeholder"
  | "size"
  | "spellcheck"
  | "step";

interface Props extends Pick<InputHTMLAttributes, Attribute> {
  type?: "text" | "number";
  value: string;
  /** Take what was typed. The field then shows `value` again: what was refused goes. */
  take: (typed: string) => void;
}

export function TypedField({ value, take, type: kind, ...rest }: Props) {
  const [draft, type] = useState<string | null>(null);
  const field = {
    ...rest,
    value: draft ?? value,
    onInput: (event: TargetedEvent<HTMLInputElement>): void => type(event.currentTarget.value),
    onChange: (event: TargetedEvent<HTMLInputElement>): void => {
      take(event.currentTarget.value);
      type(null);
    },
  };
  return kind === "number" ? <input type="number" {...field} /> : <input type="text" {...field} />;
}
