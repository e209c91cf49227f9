/** Whether the page is visible: a hidden page requests nothing. */

import { signal } from "@preact/signals";

export const isVisible = signal(true);

export function startVisible(): void {
  const look = (): void => {
    isVisible.value = document.visibilityState !== "hidden";
  };
  document.addEventListener("visibilitychange", look);
  look();
}
