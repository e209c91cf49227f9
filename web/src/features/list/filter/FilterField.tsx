/** The filter of the list. */

import { askComplete } from "../../../api";
import { queryOf } from "../../../lib/list/scope";
import { useSession } from "../../../state/useSession";
import { FilterInput } from "./FilterInput";

export const FILTER_ID = "filter";

export function FilterField() {
  const session = useSession();
  const { place, list } = session;
  const error = list.isBehind.value && list.error.value?.place !== null ? list.error.value : null;
  return (
    <FilterInput
      id={FILTER_ID}
      label="Filter"
      title="Filter the list (f)"
      placeholder="Filter: reward < 0.1 and status = truncated"
      of={place.field.run.value}
      where={place.field.where.value}
      complete={(begun) => {
        const of = list.scope.peek();
        if (of === null) return null;
        const { split, step, step_min, step_max } = queryOf(of);
        return askComplete(of.run, { split, step, step_min, step_max, text: begun });
      }}
      apply={(where) => session.filter.filterBy(where)}
      leaving={(apply) => {
        const { sample } = place.now.peek();
        return (where) => {
          // If the press opened a sample, that sample stays.
          if (place.now.peek().sample === sample) apply(where);
          else place.go({ where }, "replace");
        };
      }}
      error={error}
    />
  );
}
