/** The alarms of each run: first the run of the page, then the others, one by one. */

import { useRef } from "preact/hooks";
import type { ApiError } from "../../../api";
import { getAlarms } from "../../../api/metrics";
import type { AlarmsReply, RunItem } from "../../../api/types.gen";
import { useFollowed } from "../../../ui/hooks/useFollowed";

/** The answer about a run. */
export interface OfRun {
  run: RunItem;
  reply: AlarmsReply;
}

export interface Found {
  /** In the order of the runs, without runs that were not checked yet. */
  all: readonly OfRun[];
  error: ApiError | null;
  again: () => void;
}

export function useAlarms(runs: readonly RunItem[]): Found {
  const [first = null, ...others] = runs;
  const known = useRef(new Map<string, { version: string; reply: AlarmsReply }>());
  const own = useFollowed(first?.id ?? null, first?.version ?? "", () => getAlarms(first?.id ?? ""));
  const further = useFollowed(
    others.length === 0 || own.value === null ? null : "others",
    others.map(({ version }) => version).join(" "),
    async () => {
      for (const { id, version } of others) {
        // oxlint-disable-next-line no-await-in-loop
        if (known.current.get(id)?.version !== version) known.current.set(id, { version, reply: await getAlarms(id) });
      }
      return new Map(known.current);
    },
    JSON.stringify(others.map(({ id }) => id)),
  );
  const all = runs.flatMap((run, i): OfRun[] => {
    const reply = i === 0 ? own.value : further.value?.get(run.id)?.reply;
    return reply ? [{ run, reply }] : [];
  });
  return {
    all,
    error: own.error ?? further.error,
    again: own.error === null ? further.again : own.again,
  };
}
