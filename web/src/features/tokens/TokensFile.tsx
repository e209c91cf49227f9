/** All tokens of the sample with every series, as a file or for a spreadsheet that is open. */

import { tokensTable } from "../../lib/tokens/sample/tokensTable";
import { count } from "../../lib/numbers/numbers";
import type { Session } from "../../state/session";
import { useSession } from "../../state/useSession";
import { copy } from "../../ui/controls/clipboard";
import { Icon } from "../../ui/controls/Icon";
import { save } from "../../ui/controls/save";
import { announce } from "../../ui/overlay/announce";
import { Popover } from "../../ui/overlay/Popover";
import style from "./TokensPane.module.css";

/** Save the tokens of the current sample. */
export function saveTokens({ tokens, sample }: Session): void {
  const [now, id] = [tokens.now.peek(), sample.now.peek()?.id ?? ""];
  if (now === null) return;
  const name = id.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-");
  save(new Blob([tokensTable(now, ",")], { type: "text/csv" }), `${name}.tokens.csv`);
}

/** Copy them as text between tabs, which spreadsheets take apart. */
export async function copyTokens({ tokens }: Session): Promise<void> {
  const now = tokens.now.peek();
  if (now === null) return;
  const isCopied = await copy(tokensTable(now, "\t"));
  announce(isCopied ? `${count(now.count - now.first, "token")} copied` : "The browser does not allow copying");
}

export function TokensFile() {
  const session = useSession();
  const tokens = session.tokens.now.value;
  if (tokens === null || tokens.count === 0) return null;
  return (
    <Popover
      label="All tokens as a table"
      title="All tokens with every series, as CSV or for a spreadsheet"
      buttonClass="action"
      align="right"
      button={<Icon sign="download" size={16} />}
    >
      {(close) => (
        <div class={style["file"]}>
          <button type="button" class="action" onClick={() => (saveTokens(session), close())}>
            Save as CSV
          </button>
          <button type="button" class="action" onClick={() => (void copyTokens(session), close())}>
            Copy as TSV, for a spreadsheet
          </button>
        </div>
      )}
    </Popover>
  );
}
