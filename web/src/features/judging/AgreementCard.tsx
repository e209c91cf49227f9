/** How often the reward agrees with the judgements: a table whose cells open their samples. */

import { useState } from "preact/hooks";
import { askAgreement } from "../../api/routes.gen";
import type { Agreement, AgreementCell, WireNumber } from "../../api/types.gen";
import type { Place } from "../../lib/address/address";
import { count, figure, score, toNumber } from "../../lib/numbers/numbers";
import type { Agreed } from "../../state/judging";
import { useSession } from "../../state/useSession";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { TypedField } from "../../ui/controls/TypedField";
import { Dialog } from "../../ui/overlay/Dialog";
import { openExport } from "../export";
import { titleOf } from "./words";
import style from "./AgreementCard.module.css";

export function AgreementCard() {
  const { judging } = useSession();
  const of = judging.agreed.value;
  const close = (): void => {
    judging.agreed.value = null;
  };
  return (
    <Dialog label="Does the reward agree with you?" isOpen={of !== null} close={close}>
      {of !== null && <Card of={of} close={close} />}
    </Dialog>
  );
}

function Card({ of, close }: { of: Agreed; close: () => void }) {
  const [threshold, setThreshold] = useState<number | null>(null);
  const { value: found, error } = useLoaded(
    JSON.stringify([of, threshold]),
    () => askAgreement(of.run, { split: of.split, threshold: threshold ?? undefined, ids: [...of.ids] }),
    JSON.stringify(of),
  );
  const take = (typed: string): void => setThreshold(typed.trim() === "" ? null : Number(typed));
  return (
    <div class={style["card"]}>
      <h2>Does the reward agree with you?</h2>
      {error !== null && <p role="alert">{error.message}</p>}
      {found === null ? (
        <p class="quiet">Comparing …</p>
      ) : found.good + found.bad === 0 ? (
        <p>
          Nothing is judged yet. Press <kbd>1</kbd> for good and <kbd>2</kbd> for bad.
        </p>
      ) : (
        <Found found={found} of={of} close={close} take={take} />
      )}
      <p class={style["foot"]}>
        {found !== null && found.good + found.bad > 0 && (
          <button type="button" class="action" onClick={() => (close(), openExport("judgements"))}>
            Export
          </button>
        )}
        <button type="button" class="action strong" onClick={close}>
          Close
        </button>
      </p>
    </div>
  );
}

interface Shown {
  found: Agreement;
  of: Agreed;
  close: () => void;
  take: (typed: string) => void;
}

function Found({ found, of, close, take }: Shown) {
  const { samples, agree, low, high, without_reward: without, pairs } = found;
  const threshold = score(found.threshold);
  return (
    <>
      <p class={style["share"]}>
        <b>
          {figure(agree)} of {count(samples, "sample")}
        </b>
        {samples > 0 && (
          <span class="quiet">
            {percent(agree / samples)}, 95% interval {percent(toNumber(low))} to {percent(toNumber(high))}
          </span>
        )}
      </p>
      <table class={style["table"]}>
        <thead>
          <tr>
            <th scope="col">Judged</th>
            <th scope="col">
              High reward <small>≥ {threshold}</small>
            </th>
            <th scope="col">
              Low reward <small>&lt; {threshold}</small>
            </th>
          </tr>
        </thead>
        <tbody>
          {(["good", "bad"] as const).map((judgement) => (
            <tr key={judgement}>
              <th scope="row">{titleOf(judgement)}</th>
              {found.cells
                .filter((cell) => cell.judgement === judgement)
                .map((cell) => (
                  <td key={cell.reward}>
                    <Cell cell={cell} split={of.split} close={close} />
                  </td>
                ))}
            </tr>
          ))}
        </tbody>
      </table>
      <label class={style["line"]}>
        <span>A reward is high from</span>
        <TypedField type="number" step="any" class="field" size={6} value={rounded(found.threshold)} take={take} />
        <small class="quiet">{found.reason}</small>
      </label>
      <p class="quiet">
        {of.ids.length > 0 ? "These are the samples of this check. " : ""}
        {without > 0 && `${count(without, "judged sample")} without a reward. `}
        {pairs > 0 ? `${count(pairs, "pair")} for preference training.` : "No group has both a good and a bad sample."}
      </p>
    </>
  );
}

/** The threshold is the mean of two rewards; further digits are rounding errors. */
const ROUND_DIGITS = 12;

const rounded = (value: WireNumber): string =>
  String(typeof value === "number" ? Number(value.toPrecision(ROUND_DIGITS)) : value);

const percent = (share: number | null): string => (share === null ? "?" : `${figure(Math.round(share * 100))}%`);

/** The samples of a cell: a press lists them. */
function Cell({ cell, split, close }: { cell: AgreementCell; split: string; close: () => void }) {
  const session = useSession();
  const agrees = (cell.judgement === "good") === (cell.reward === "high");
  const note = agrees ? "agrees" : cell.judgement === "bad" ? "rewarded, but bad" : "good, but not rewarded";
  if (cell.samples === 0) return <span class={style["none"]}>0</span>;
  const place: Partial<Place> = {
    page: "rollouts",
    split,
    extent: "run",
    mode: "samples",
    where: cell.where,
    sort: "index",
    descending: false,
    sample: null,
    list: true,
  };
  const open = session.place.onLink(place);
  return (
    <a
      class={`${style["cell"]} ${agrees ? "" : style["miss"]}`}
      href={session.place.href(place)}
      onClick={(event) => {
        session.list.forget(); // the filter names judgements, which may have changed since
        session.judging.end();
        close();
        open(event);
      }}
    >
      {figure(cell.samples)} <small>{note}</small>
    </a>
  );
}
