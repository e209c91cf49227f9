/** The head of the page: the scope of the findings, the numbers of the search, and how to read them. */

import { askComplete } from "../../api";
import type { RunFindings } from "../../api/types.gen";
import { figure, whole } from "../../lib/numbers/numbers";
import { percent } from "../../lib/sample/discardReasons";
import { harmless } from "../../lib/text/invisible";
import { useSession } from "../../state/useSession";
import { StepEnd } from "../../ui/controls/StepEnd";
import { useLoaded } from "../../ui/hooks/useLoaded";
import pageStyle from "../../ui/layout/page.module.css";
import { Chip } from "../verdicts";
import { option, setOptions } from "./options";
import style from "./Findings.module.css";

export function Controls({ reply }: { reply: RunFindings | null }) {
  const session = useSession();
  const splits = session.run.now.value?.splits ?? [];
  const end = (name: string) => (value: number | null) =>
    setOptions(session, { [name]: value === null ? "" : String(value) });
  return (
    <header class={pageStyle["controls"]}>
      <h1>Findings</h1>
      <span class={style["between"]}>
        steps <StepEnd words="First step" value={whole(option(session, "from"))} choose={end("from")} /> –{" "}
        <StepEnd words="Last step" value={whole(option(session, "to"))} choose={end("to")} />
      </span>
      {splits.length > 1 && (
        <Select label="split" name="of" usual={reply?.split ?? "train"} values={splits.map(({ name }) => name)} />
      )}
      <Environments split={reply?.split ?? ""} />
      {reply !== null && (reply.metrics.length > 0 || option(session, "correct") !== "") && (
        <Select
          label="correct by"
          name="correct"
          usual={option(session, "correct") === "" && reply.correct !== "" ? reply.correct : "default"}
          values={reply.metrics}
        />
      )}
    </header>
  );
}

/** The environments of the split, if there are several. */
function Environments({ split }: { split: string }) {
  const session = useSession();
  const run = session.run.now.value?.id ?? "";
  const loaded = useLoaded(split === "" ? null : `${run}\n${split}`, () =>
    askComplete(run, { split, text: 'env = "' }),
  );
  const values = (loaded.value?.found ?? [])
    .filter(({ kind }) => kind === "value")
    .map(({ text }) => text.replaceAll(/^"|"$/g, "").replaceAll('""', '"'));
  if (values.length < 2 && option(session, "env") === "") return null;
  return <Select label="environment" name="env" usual="all" values={values} />;
}

interface SelectProps {
  label: string;
  name: string;
  /** The meaning of an empty choice. */
  usual: string;
  values: readonly string[];
}

function Select({ label, name, usual, values }: SelectProps) {
  const session = useSession();
  const chosen = option(session, name);
  return (
    <label>
      {label}
      <select
        class="field"
        value={chosen}
        onChange={(event) => setOptions(session, { [name]: event.currentTarget.value })}
      >
        <option value="">{harmless(usual)}</option>
        {[...new Set([...values, ...(chosen === "" ? [] : [chosen])])]
          .filter((value) => value === chosen || value !== usual)
          .map((value) => (
            <option key={value} value={value}>
              {harmless(value)}
            </option>
          ))}
      </select>
    </label>
  );
}

/** Smaller values need no more digits. */
const FEW = 0.001;

/** The numbers of scanned samples and tested features. */
export function Looked({ reply }: { reply: RunFindings }) {
  const { scanned, samples, groups, tested, expected, least_z: least } = reply;
  const all: [string, string, string][] = [
    [
      "samples scanned",
      scanned === samples ? figure(scanned) : `${figure(scanned)} of ${figure(samples)} (${percent(scanned, samples)})`,
      "From a large run, whole groups are sampled at random, evenly over the steps",
    ],
    ["groups with different rewards", figure(groups), "Only these can show what the reward pays for"],
    ["features tested", figure(tested), "Phrases of one to five words, and behaviours"],
    [
      "expected by chance",
      expected < FEW ? `< ${FEW}` : figure(expected),
      `The number of findings from chance alone, at |z| ≥ ${figure(least)}`,
    ],
  ];
  return (
    <dl class={style["numbers"]}>
      {all.map(([name, value, more]) => (
        <div key={name} title={more}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function HowToRead({ meanings }: { meanings: Readonly<Record<string, string>> }) {
  return (
    <details class={style["how"]}>
      <summary>
        <b>Evidence, not verdicts.</b> How to read this
      </summary>
      <p>
        Siblings are the answers to one prompt at one step. A finding says that siblings with more of something earned
        more reward. The effect is what each use earns; z is its distance from chance, in standard deviations. Only you
        can tell whether it is a hack: read the samples. Groups with equal rewards, and habits that all siblings share,
        show nothing. In a phrase, # stands for any number.
      </p>
      <dl>
        {Object.entries(meanings).map(([name, words]) => (
          <div key={name}>
            <dt>
              <Chip kind={name} />
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
