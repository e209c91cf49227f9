/** A field for a number; invalid text changes nothing. */

interface Props {
  label: string;
  value: number;
  choose: (value: number) => void;
  /** The step of its arrows. */
  step?: number;
  class?: string | undefined;
}

export function NumberField({ label, value, choose, step, class: className = "" }: Props) {
  return (
    <input
      class={`field ${className}`}
      type="number"
      step={step ?? "any"}
      aria-label={label}
      title={label}
      value={Number.isFinite(value) ? Number(value.toPrecision(6)) : ""}
      onInput={({ currentTarget: { valueAsNumber } }) => {
        if (Number.isFinite(valueAsNumber)) choose(valueAsNumber);
      }}
    />
  );
}
