/** What a run has curves of, and what stands out in them. */

import { get } from "./client";
import type { AlarmsReply, CatalogueReply } from "./types.gen";

/** The curves of a run: those of a split, of its evaluations, of the trainer. Without a split, of the first one. */
export const getCatalogue = (run: string, split: string): Promise<CatalogueReply> =>
  get(["runs", run, "catalogue"], { split });

export const getAlarms = (run: string): Promise<AlarmsReply> => get(["runs", run, "alarms"]);
