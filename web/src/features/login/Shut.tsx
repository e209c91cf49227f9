/** The server no longer lets this page in, as after a start with another token. What is on the page can be read on. */

import { isLocked } from "../../state/session";
import { Notice } from "../../ui/Notice";

export function Shut() {
  return (
    <Notice>
      <p>
        <b>This server asks for its token.</b> It was started again with another one. Open the link that it prints in its terminal, or paste it
        here; until then what is on the page can be read.
      </p>
      <button type="button" class="action strong" onClick={() => (isLocked.value = true)}>Paste the link</button>
    </Notice>
  );
}
