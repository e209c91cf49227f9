/** Which run is looked at, and the others. */

import { count, figure } from "../../lib/numbers";
import { onLink, go, href, place } from "../../state/place";
import { run, runs, samplesOf } from "../../state/runs";
import { Icon } from "../../ui/Icon";
import { Popover } from "../../ui/Popover";
import style from "./RunPicker.module.css";

export function RunPicker() {
  const item = run.value;
  const known = runs.value ?? [];
  if (item === null) return <span class={style["title"]}>{place.value.page === "settings" ? "Settings" : "Runs"}</span>;
  const button = (
    <>
      <i class={style["dot"]} />
      <span class={`clip ${style["name"]}`}>{item.name}</span>
      <small>{count(samplesOf(item), "sample")}</small>
      <Icon sign="down" size={14} />
    </>
  );
  return (
    <Popover label="Run" title={item.path} button={button} buttonClass={style["picker"] ?? ""}>
      {(close) => (
        <ul class={style["runs"]}>
          {known.map((one) => (
            <li key={one.id}>
              <a
                href={href({ run: one.id })}
                aria-current={one.id === item.id ? "true" : undefined}
                onClick={(event) => {
                  onLink({ run: one.id })(event);
                  if (event.defaultPrevented) close();
                }}
              >
                <span class="clip">{one.name}</span>
                <small>{figure(samplesOf(one))} · {one.format}</small>
              </a>
            </li>
          ))}
          <li class={style["all"]}>
            <button type="button" onClick={() => { close(); go({ page: "runs", run: null }); }}>
              About all runs
            </button>
          </li>
        </ul>
      )}
    </Popover>
  );
}
