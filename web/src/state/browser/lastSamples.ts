/** The sample of each run that a person saw last, stored in this browser when the page is left. */

import { fields, stored } from "./storage";

const KEY = "rolloupe.last_samples";
const MOST_RUNS = 50;

const samples = new Map<string, string>();

export const lastSample = (run: string): string | undefined => samples.get(run);

export function rememberSample(run: string, sample: string): void {
  samples.delete(run); // the newest stands last
  samples.set(run, sample);
}

export function startLastSamples(): void {
  for (const [run, sample] of Object.entries(fields<Record<string, string>>(stored(KEY))))
    if (typeof sample === "string") samples.set(run, sample);
  addEventListener("pagehide", () => {
    try {
      localStorage.setItem(KEY, JSON.stringify(Object.fromEntries([...samples].slice(-MOST_RUNS))));
    } catch {
      // the storage is closed
    }
  });
}
