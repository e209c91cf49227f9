/**
 * A link to a file of the server. A browser sends no header with a download, so each takes a ticket; the menu of the
 * link gets one for *Save link as*.
 */

import type { ComponentChildren } from "preact";
import { ticketed } from "../../api";

interface Props {
  href: string;
  class?: string;
  /** True if a dialog begins with the focus on it. */
  autofocus?: boolean;
  /** Runs before the browser asks for the file, which may depend on it; false if it should not ask. */
  before?: () => Promise<boolean>;
  /** Runs once the browser was asked for the file. */
  then?: () => void;
  children: ComponentChildren;
}

export function Download({ href, class: name, autofocus = false, before, then, children }: Props) {
  const go = async (): Promise<void> => {
    if ((await before?.()) === false) return;
    void download(href);
    then?.();
  };
  const take = (event: MouseEvent): void => {
    if (event.button > 1) return;
    event.preventDefault();
    void go();
  };
  const prepare = async ({ currentTarget: link }: { currentTarget: HTMLAnchorElement }): Promise<void> => {
    link.href = (await ticketed(href)) ?? href;
  };
  return (
    <a
      class={name}
      href={href}
      // oxlint-disable-next-line jsx-a11y/no-autofocus -- a dialog takes the focus in any case
      autofocus={autofocus}
      download
      onClick={take}
      onAuxClick={take}
      onContextMenu={(event) => void prepare(event)}
    >
      {children}
    </a>
  );
}

async function download(href: string): Promise<void> {
  const link = document.createElement("a");
  const address = await ticketed(href);
  if (address === null) return; // the page asks for the token
  link.href = address;
  link.download = "";
  link.click();
}
