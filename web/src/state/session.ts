/** Whether the server lets this browser in, and the token that opens it. */

import { signal } from "@preact/signals";
import { ApiError, login, onLocked } from "../api";

export const isLocked = signal(false);
export const loginError = signal<ApiError | null>(null);

const TOKEN = /^#token=(.+)$/;

/** Exchange a token for the session. True when it was the right one. */
export async function unlock(token: string): Promise<boolean> {
  loginError.value = null;
  try {
    await login(token.trim());
    isLocked.value = false;
    return true;
  } catch (error) {
    loginError.value = asApiError(error);
    isLocked.value = true;
    return false;
  }
}

/** Use the token of the printed address, and take it out of the address at once. */
export async function startSession(): Promise<void> {
  onLocked(() => {
    isLocked.value = true;
  });
  const given = TOKEN.exec(location.hash)?.[1];
  if (given === undefined) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  await unlock(decoded(given));
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
  return new ApiError(0, "The page could not read the answer.", error instanceof Error ? error.message : "Load the page again.");
}
