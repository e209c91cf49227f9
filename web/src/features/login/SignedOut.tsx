/** The server no longer accepts this page, as after a start with another token. The loaded content stays readable. */

import { isLocked } from "../../state/browser/login";
import { Notice } from "../../ui/overlay/Notice";

export function SignedOut() {
  return (
    <Notice>
      <p>
        <b>This server asks for its token.</b> It was restarted with another token. Open the link from its terminal, or
        paste it here. Until then, you can still read this page.
      </p>
      <button type="button" class="action strong" onClick={() => (isLocked.value = true)}>
        Paste the link
      </button>
    </Notice>
  );
}
