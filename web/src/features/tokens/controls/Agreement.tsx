/** The agreement of two rules, and its meaning. */

import { percent } from "../../../lib/numbers/percent";

export const AGREES =
  "Of the tokens that either one masks or clips, the share that both do: intersection over union. " +
  "A dash: neither masks or clips any.";

export function Agreement({ share, of = "" }: { share: number; of?: string }) {
  return (
    <abbr title={AGREES}>
      agreement {of} {percent(share)}
    </abbr>
  );
}
