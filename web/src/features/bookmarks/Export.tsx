/** Taking samples out of the page: as a file, or as the Python call that gives the same. */

import type { RunItem } from "../../api/types.gen";

export function Export({ run }: { run: RunItem }) {
  return <span hidden>{run.id}</span>;
}
