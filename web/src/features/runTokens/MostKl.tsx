/** The token strings with most KL, of a step or of all. */

import { askTokenWords } from "../../api";
import { figure, score, toNumber } from "../../lib/numbers/numbers";
import { useSession } from "../../state/useSession";
import { Segments } from "../../ui/controls/Segments";
import { Missing } from "../../ui/layout/EmptyState";
import { Coverage } from "../../ui/text/Coverage";
import { option, setOption, useAnswer } from "./scope";
import { TokenLabel } from "./TokenLabel";
import style from "./RunTokens.module.css";

const ROWS = 12;

export function MostKl() {
  const session = useSession();
  const step = session.place.field.step.value;
  const isOfRun = option(session, "strings") === "run";
  const loaded = useAnswer(["words", isOfRun ? "" : (step ?? "")], (id, split) =>
    askTokenWords(id, { split, step: isOfRun ? undefined : (step ?? undefined), limit: ROWS }),
  );
  const reply = loaded.value;
  const some = reply?.words.filter(({ kl }) => (toNumber(kl) ?? 0) > 0) ?? [];
  const places = [
    { value: "", label: `step ${figure(step)}` },
    { value: "run", label: "all steps" },
  ] as const;
  return (
    <section aria-labelledby="most-kl">
      <div class={style["heading"]}>
        <h2 id="most-kl">Token strings with most KL</h2>
        {reply !== null && reply.kl !== "" && <small>{reply.kl}</small>}
        <Segments
          label="Most KL of"
          options={places}
          value={isOfRun ? "run" : ""}
          choose={(strings) => setOption(session, { strings })}
        />
      </div>
      {loaded.error !== null && <Missing error={loaded.error} again={loaded.again} />}
      {reply !== null && <Coverage of={reply.coverage} />}
      {reply !== null && some.length === 0 && <p class="quiet">{noWords(reply.tokens, reply.kl)}</p>}
      {some.length > 0 && reply !== null && (
        <table>
          <thead>
            <tr>
              <th scope="col">token</th>
              <th scope="col" title={`The sum of ${reply.kl} over its tokens`}>
                KL
              </th>
              <th scope="col" title="The mean over its tokens that have a KL">
                mean KL
              </th>
              <th scope="col" title="The mean of its probabilities at sampling">
                probability
              </th>
              <th scope="col">tokens</th>
              <th scope="col" title="How many of its tokens have a KL">
                with KL
              </th>
            </tr>
          </thead>
          <tbody>
            {some.map((word) => (
              <tr key={`${word.token_id} ${word.text}`}>
                <TokenLabel word={word} extent={isOfRun ? "run" : "step"} />
                <td>{score(word.kl)}</td>
                <td>{score(word.mean_kl, "–")}</td>
                <td>{score(word.probability, "–")}</td>
                <td
                  title={
                    word.is_exact ? undefined : "At least this many: the token is too rare for the index in some files"
                  }
                >
                  {figure(word.tokens)}
                  {!word.is_exact && "+"}
                </td>
                <td>{figure(word.with_kl)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

const noWords = (tokens: number, kl: string): string =>
  tokens === 0
    ? "The records hold neither strings nor ids of tokens."
    : kl === ""
      ? "The samples have no KL: it needs the logprobs of two policies."
      : "No token string has a KL above 0.";
