/**
 * A field that applies its text on Enter, or when it loses the focus. Until then redrawing the page does not change it.
 */

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
  /** Applies the typed text. The field then shows `value` again, which discards refused text. */
  take: (typed: string) => void;
}

/** The room of the frame and the arrows of a field of numbers, in digits. */
const ARROWS_CH = 5;

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
  if (kind !== "number") return <input type="text" {...field} />;
  return <input type="number" style={{ minWidth: `${field.value.length + ARROWS_CH}ch` }} {...field} />;
}
