/** How text is shown: separate choices, stored in this browser. By default Markdown, LaTeX and code are rendered. */

import { changes, chooseRender, render, type Render } from "../../state/browser/textOptions";
import { Icon } from "../../ui/controls/Icon";
import { Popover } from "../../ui/overlay/Popover";
import style from "./RenderMenu.module.css";

const CHOICES: readonly { name: keyof Render; label: string; words: string }[] = [
  { name: "think", label: "Think blocks", words: "Set apart; otherwise text between tags" },
  { name: "folded", label: "Fold thoughts", words: "Each shows one line until you open it" },
  { name: "markdown", label: "Markdown", words: "Headings, lists, tables, links" },
  { name: "latex", label: "LaTeX", words: "Formulas between $ or \\( and \\)" },
  { name: "code", label: "Code highlighting", words: "In fenced blocks that name a language" },
  { name: "markers", label: "Chat-template markers", words: "Shown dimmed in the model's text" },
  { name: "promptMarkers", label: "Markers in prompts", words: "They repeat the names of the turns" },
  { name: "system", label: "System prompts", words: "Shown; otherwise hidden" },
  { name: "padding", label: "Padding", words: "Shows pad tokens at either end of a text" },
  {
    name: "visible",
    label: "Newlines and special tokens",
    words: "Marks them and everything invisible; text is then verbatim",
  },
];

export function RenderMenu() {
  const chosen = render.value;
  const count = changes.value;
  return (
    <Popover
      label="How text is shown"
      title="How text is shown"
      align="right"
      buttonClass="action"
      button={
        <>
          <Icon sign="render" size={16} />
          {count > 0 && <small>{count}</small>}
        </>
      }
    >
      {() => (
        <div class={style["menu"]}>
          {CHOICES.map(({ name, label, words }) => (
            <label key={name} class={style["choice"]}>
              <input
                type="checkbox"
                checked={chosen[name]}
                disabled={
                  (chosen.visible && (name === "markdown" || name === "latex" || name === "code")) ||
                  (name === "folded" && !chosen.think)
                }
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
