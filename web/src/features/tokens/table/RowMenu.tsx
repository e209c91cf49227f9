/** Chooses the series that are rows of the table. */

import { harmless } from "../../../lib/text/invisible";
import type { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import { useSession } from "../../../state/useSession";
import { Icon } from "../../../ui/controls/Icon";
import { Popover } from "../../../ui/overlay/Popover";
import style from "./Table.module.css";

export function RowMenu({ tokens }: { tokens: TokenSample }) {
  const { tokenLook: look, place } = useSession();
  const [all, shown] = [tokens.rows(), look.rows.value];
  const isSome = shown.length < all.length;
  return (
    <Popover
      label="Rows of the table"
      buttonClass="action"
      button={
        <>
          {isSome ? `Rows: ${shown.length} of ${all.length}` : "Rows"} <Icon sign="down" size={14} />
        </>
      }
    >
      {() => (
        <div class={style["menu"]}>
          {all.map(({ name, title, about }) => (
            <label key={name} title={harmless(about)}>
              <input
                type="checkbox"
                checked={shown.some((one) => one.name === name)}
                disabled={shown.length === 1 && shown[0]?.name === name}
                onChange={() => look.toggleRow(name)}
              />
              <span>{harmless(title || name)}</span>
            </label>
          ))}
          <button
            type="button"
            class="action"
            disabled={!isSome}
            onClick={() => place.go({ tableRows: null }, "replace")}
          >
            All rows
          </button>
        </div>
      )}
    </Popover>
  );
}
