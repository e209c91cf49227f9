/** The session of the component's part of the page. */

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Session } from "./session";

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("what needs a session is drawn outside one");
  return session;
}
