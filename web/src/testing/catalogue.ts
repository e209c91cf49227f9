/** Entries of a catalogue of curves, for tests. */

import type { CatalogueEntry } from "../api/types.gen";

export const catalogueEntry = (
  kind: string,
  name: string,
  section = "Trainer",
  more: Partial<CatalogueEntry> = {},
): CatalogueEntry => ({
  kind,
  name,
  source: kind === "trainer" ? "" : "train",
  stat: "",
  k: 0,
  reason: "",
  title: name,
  section,
  unit: "",
  about: "",
  low: null,
  high: null,
  ...more,
});
