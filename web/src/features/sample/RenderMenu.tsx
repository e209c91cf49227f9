/** How text is shown: each choice by itself, remembered in this browser. As long as none is made, all text is verbatim. */

import { changes, chooseRender, render, type Render } from "../../state/render";
import { Icon } from "../../ui/Icon";
import { Popover } from "../../ui/Popover";
import style from "./RenderMenu.module.css";

const CHOICES: readonly { name: keyof Render; label: string; words: string }[] = [
  { name: "think", label: "Think blocks", words: "Marked off; else text between its tags" },
  { name: "folded", label: "Fold thoughts", words: "To a line each, until opened" },
  { name: "markdown", label: "Markdown", words: "Headings, lists, tables, links" },
  { name: "latex", label: "LaTeX", words: "Formulas between $ or \\( and \\)" },
  { name: "code", label: "Code highlighting", words: "Blocks whose fence names a language" },
  { name: "markers", label: "Chat-template markers", words: "Shown in quiet ink in what the model wrote" },
  { name: "promptMarkers", label: "Markers in prompts", words: "Where the names of the turns say the same" },
  { name: "system", label: "System prompts", words: "Shown; else left out" },
  { name: "padding", label: "Padding", words: "Pad tokens at either end of a text are shown; else left out" },
  { name: "visible", label: "Newlines and special tokens", words: "Marked, with all that is invisible; text is verbatim meanwhile" },
];

export function RenderMenu() {
  const chosen = render.value;
  const count = changes.value;
  return (
    <Popover label="How text is shown" title="How text is shown" align="right" buttonClass="action" button={<><Icon sign="render" size={16} />{count > 0 && <small>{count}</small>}</>}>
      {() => (
        <div class={style["menu"]}>
          {CHOICES.map(({ name, label, words }) => (
            <label key={name} class={style["choice"]}>
              <input
                type="checkbox"
                checked={chosen[name]}
                disabled={(chosen.visible && (name === "markdown" || name === "latex" || name === "code")) || (name === "folded" && !chosen.think)}
                onChange={(event) => chooseRender({ [name]: event.currentTarget.checked })}
              />
              <span>
                {label}
                <small>{words}</small>
              </span>
            </label>
          ))}
        </div>
      )}
    </Popover>
  );
}
