/** Whether the server lets this browser in, and the token that opens it. */

import { signal } from "@preact/signals";
import { ApiError, login, onLocked } from "../../api";

/** True where the reader is asked for the token: something was asked of the server, which refused it. */
export const isLocked = signal(false);
/** True where the server refuses its events, which nobody asked for: what is shown stays. */
export const isSignedOut = signal(false);
export const loginError = signal<ApiError | null>(null);

const TOKEN = /^#token=(.+)$/;

/** Exchange a token for the session. True when it was the right one. */
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

/** Use the token of the printed address; the link may also be opened in a tab that shows this server already. */
export async function startLogin(begin: () => Promise<void>): Promise<void> {
  onLocked(() => {
    isLocked.value = true;
  });
  addEventListener("hashchange", () => void useToken().then((isNew) => (isNew ? begin() : undefined)));
  await useToken();
}

/** Take the token out of the address at once, and exchange it. True where one opened the door. */
async function useToken(): Promise<boolean> {
  const given = TOKEN.exec(location.hash)?.[1];
  if (given === undefined) return false;
  history.replaceState(history.state, "", location.pathname + location.search);
  return unlock(decoded(given));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The error as one that can be shown. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(
    0,
    "The page could not read the server's answer.",
    error instanceof Error ? error.message : "Reload the page.",
  );
}
