/** The login: this server requires its token. */

import { useState } from "preact/hooks";
import type { ApiError } from "../../api";
import { sentence } from "../../lib/text/sentence";
import { loginError, unlock } from "../../state/browser/login";
import { start } from "../../state/start";
import style from "./Login.module.css";

/** The token in a pasted text: the text itself, or an address that ends with it. */
export function tokenIn(text: string): string {
  const match = /#token=([^\s#]+)/.exec(text)?.[1];
  if (match === undefined) return text.trim();
  try {
    return decodeURIComponent(match);
  } catch {
    return match;
  }
}

const nextStep = ({ status, next }: ApiError): string =>
  status === 401 ? "Copy the whole link from the terminal." : sentence(next);

export function Login() {
  const [text, setText] = useState("");
  const [isTrying, setTrying] = useState(false);
  const error = loginError.value;
  const onSubmit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setTrying(true);
    const isOpen = await unlock(tokenIn(text));
    setTrying(false);
    if (isOpen) await start();
  };
  return (
    <main class={style["page"]}>
      <form class={style["form"]} onSubmit={(event) => void onSubmit(event)}>
        <h1>This server asks for its token</h1>
        <p>
          The terminal where <code>rolloupe view</code> runs prints a link that ends in <code>#token=…</code>. Open that
          link, or paste it here. Your browser then stays signed in.
        </p>
        {/* oxlint-disable-next-line jsx-a11y/label-has-associated-control -- Preact calls it `for` */}
        <label class={style["label"]} for="token">
          Link or token
        </label>
        <div class={style["line"]}>
          {/* oxlint-disable-next-line jsx-a11y/no-autofocus -- there is nothing else on this page */}
          <input
            id="token"
            class="field mono"
            type="password"
            autocomplete="current-password"
            spellcheck={false}
            autofocus
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            aria-describedby="token-error"
          />
          <button type="submit" class="button first" disabled={isTrying || text.trim() === ""}>
            Open
          </button>
        </div>
        <p id="token-error" class={style["error"]} role="alert">
          {error !== null && `${sentence(error.message)} ${nextStep(error)}`}
        </p>
      </form>
    </main>
  );
}
