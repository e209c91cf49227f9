/** Whether anybody can see the page: what nobody sees is not asked for. */

import { signal } from "@preact/signals";

export const isVisible = signal(true);

export function startVisible(): void {
  const look = (): void => {
    isVisible.value = document.visibilityState !== "hidden";
  };
  document.addEventListener("visibilitychange", look);
  look();
}
