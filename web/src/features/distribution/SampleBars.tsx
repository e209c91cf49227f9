/** A bar for each sample of a step, for its value and a second value beside it; a press opens the sample. */

import type { StepSample } from "../../api/types.gen";
import { barOf, reachOf } from "../../lib/distribution/distribution";
import { figure, finite, score } from "../../lib/numbers/numbers";
import { useRoving } from "../../ui/hooks/useRoving";
import { ValueAxis } from "./ValueAxis";
import style from "./Distribution.module.css";

interface Props {
  label: string;
  samples: readonly StepSample[];
  /** The drawn metrics, with their numbers in the order of the samples. */
  series: readonly { name: string; values: readonly (number | null)[] }[];
  /** The address of a sample, and the way there. */
  link: (id: string) => { href: string; onClick: (event: MouseEvent) => void };
}

export function SampleBars({ label, samples, series, link }: Props) {
  const linkAt = useRoving();
  const reach = reachOf(series.flatMap(({ values }) => values));
  return (
    <figure class={style["plot"]} aria-label={label}>
      <div class={`${style["framed"]} ${style["bySample"]}`}>
        <ValueAxis range={reach} />
        <div class={style["samples"]}>
          <div class={style["bars"]}>
            {samples.map(({ id, group }, at) => {
              const isFirst = at > 0 && samples[at - 1]?.group !== group;
              const values = series.map((one) => ({ name: one.name, value: one.values[at] ?? null }));
              const words = values.map(({ name, value }) => `${name} ${score(value, "none")}`);
              return (
                <a
                  key={id}
                  {...linkAt(at)}
                  {...link(id)}
                  class={`${style["sample"]} ${isFirst ? (style["first"] ?? "") : ""}`}
                  aria-label={`${words.join(", ")}: open the sample`}
                  title={[`sample ${at + 1}, group ${group}`, ...words].join("\n")}
                >
                  {values.map(({ name, value }, which) => {
                    const bar = barOf(finite(value) ?? 0, reach);
                    return (
                      <i
                        key={name}
                        class={style[which === 0 ? "own" : "other"]}
                        style={{ bottom: `${100 * bar.foot}%`, height: `${100 * bar.height}%` }}
                      />
                    );
                  })}
                </a>
              );
            })}
            <hr
              class={style["zero"]}
              style={{ bottom: `${100 * barOf(0, reach).foot}%`, minWidth: `${6 * samples.length}px` }}
            />
          </div>
        </div>
        <p class={style["numbers"]} aria-hidden="true">
          <span>sample 1</span>
          <span>{figure(samples.length)}</span>
        </p>
      </div>
    </figure>
  );
}
