/** Whether the server accepts this browser, and the token that unlocks it. */

import { signal } from "@preact/signals";
import { ApiError, login, onLocked } from "../../api";

/** True while the page asks for the token: the server refused a request. */
export const isLocked = signal(false);
/** True if the server refuses its events, which nobody requested: the page stays as it is. */
export const isSignedOut = signal(false);
export const loginError = signal<ApiError | null>(null);

const TOKEN = /^#token=(.+)$/;

/** Exchange a token for the session. True if the token is correct. */
export async function unlock(token: string): Promise<boolean> {
  loginError.value = null;
  try {
    await login(token.trim());
    isLocked.value = isSignedOut.value = false;
    return true;
  } catch (error) {
    loginError.value = asApiError(error);
    isLocked.value = true;
    return false;
  }
}

/** Use the token of the printed address, which may also be opened in a tab that shows this server already. */
export async function startLogin(begin: () => Promise<void>): Promise<void> {
  onLocked(() => {
    isLocked.value = true;
  });
  addEventListener("hashchange", () => void useToken().then((isNew) => (isNew ? begin() : undefined)));
  await useToken();
}

/** Remove the tokens from the address at once, and exchange them. True if one was accepted. */
async function useToken(): Promise<boolean> {
  const token = TOKEN.exec(location.hash)?.[1];
  if (token === undefined) return false;
  history.replaceState(history.state, "", location.pathname + location.search);
  return unlock(decoded(token));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The error in a form to show. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(
    0,
    "The page could not read the server's answer.",
    error instanceof Error ? error.message : "Reload the page.",
  );
}
