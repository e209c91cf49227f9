/** The token strings that gain and lose most between two steps. */

import { askTokenChanges } from "../../api";
import type { Word, ChangedWord } from "../../api/types.gen";
import { count, figure, score, signed } from "../../lib/numbers/numbers";
import { percent } from "../../lib/numbers/percent";
import { useSession } from "../../state/useSession";
import { Segments } from "../../ui/controls/Segments";
import { Missing } from "../../ui/layout/EmptyState";
import { Coverage } from "../../ui/text/Coverage";
import { option, otherStep, setOption, useAnswer } from "./scope";
import { TokenLabel } from "./TokenLabel";
import { TypedField } from "../../ui/controls/TypedField";
import style from "./RunTokens.module.css";

const ROWS = 12;
const LEAST = 10;
const BY = [
  { value: "", label: "mean probability", title: "The mean of their probabilities at sampling" },
  { value: "share", label: "share of tokens", title: "How many of all trained tokens they are" },
] as const;

export function Changes() {
  const session = useSession();
  const step = session.place.field.step.value;
  const other = otherStep(session)?.step ?? null;
  const by = option(session, "compare") === "share" ? "share" : "";
  const typed = Number(option(session, "least") || LEAST);
  const least = Number.isSafeInteger(typed) && typed > 0 ? typed : LEAST;
  const isPair = step !== null && other !== null && step !== other;
  const loaded = useAnswer(isPair ? ["changes", other, step, by, least] : null, (id, split) =>
    askTokenChanges(id, {
      split,
      before: other ?? 0,
      after: step ?? 0,
      by: by || "probability",
      min_tokens: least,
      limit: ROWS,
    }),
  );
  const reply = loaded.value;
  const shared = { by, tokens: reply?.tokens ?? [] };
  return (
    <section aria-labelledby="changes">
      <div class={style["heading"]}>
        <h2 id="changes">
          {isPair
            ? `Token strings from step ${figure(other)} to step ${figure(step)}`
            : "Token strings that gain and lose between two steps"}
        </h2>
        <Segments label="Compare" options={BY} value={by} choose={(compare) => setOption(session, { compare })} />
        <label class={style["choice"]} title={by === "" ? "At each of the steps" : "At one of the steps"}>
          at least
          <TypedField
            class={`field ${style["few"]}`}
            value={String(least)}
            inputMode="numeric"
            take={(text) => setOption(session, { least: text.trim() })}
          />
          times
        </label>
      </div>
      {loaded.error !== null && <Missing error={loaded.error} again={loaded.again} />}
      {!isPair && <p class="quiet">{other === null ? "The split has one step." : "Choose two different steps."}</p>}
      {reply !== null && <Coverage of={reply.coverage} />}
      {reply !== null && (
        <>
          <p class="quiet">
            {count(reply.compared, "string")} compared
            {reply.unknown > 0 ? `; ${figure(reply.unknown)} too rare for the index at one of the steps` : ""}
          </p>
          <div class={style["tables"]}>
            <ChangeTable title="Gained" rows={reply.gained} {...shared} />
            <ChangeTable title="Lost" rows={reply.lost} {...shared} />
          </div>
        </>
      )}
    </section>
  );
}

interface ChangeProps {
  title: string;
  rows: readonly ChangedWord[];
  by: string;
  /** The number of trained tokens at each step. */
  tokens: readonly number[];
}

function ChangeTable({ title, rows, by, tokens: [first = 0, second = 0] }: ChangeProps) {
  const values = ({ before, after }: ChangedWord): string[] =>
    by === "share"
      ? [percent(before.tokens / first), percent(after.tokens / second)]
      : [score(before.probability, "–"), score(after.probability, "–")];
  if (rows.length === 0) return <p class="quiet">{title}: none.</p>;
  return (
    <table>
      <caption>{title}</caption>
      <thead>
        <tr>
          <th scope="col">token</th>
          <th scope="col">change</th>
          <th scope="col">before</th>
          <th scope="col">after</th>
          <th scope="col" title="How often it is a token at either step">
            tokens
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => {
          const [before, after] = values(row);
          return (
            <tr key={`${row.after.token_id} ${row.after.text}`}>
              <TokenLabel word={row.after} extent="step" />
              <td>{by === "share" ? signedPercent(row.change) : signed(row.change)}</td>
              <td>{before}</td>
              <td>{after}</td>
              <td>{times(row.before, row.after)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

const signedPercent = (value: number): string => `${value > 0 ? "+" : "−"}${percent(Math.abs(value))}`;

const times = (before: Word, after: Word): string => `${figure(before.tokens)} → ${figure(after.tokens)}`;
