/** The base class of a session's stores. */

import type { Session } from "./session";

export class Store {
  readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  protected effect(work: () => void): void {
    this.session.effect(work);
  }
}
