/** The trainer's report of a step, as a folding outline. All of it is drawn as text. */

import { useSession } from "../../state/useSession";
import { useEffect } from "preact/hooks";
import { getAbout, getReport } from "../../api";
import { Alone, Failure, Loading } from "../../ui/layout/EmptyState";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { Children, hasGoal, isLarge, OPEN_DEPTH, Tag, tagsShown } from "./Node";
import { NoReport, Others } from "./NoReport";
import { Text } from "../../ui/text/Text";
import pageStyle from "../../ui/layout/page.module.css";
import style from "./ReportPage.module.css";

export function ReportPage() {
  const session = useSession();
  const id = session.run.now.value?.id ?? "";
  const version = session.run.now.value?.version ?? "";
  const { split, step } = session.place.now.value;
  const about = useLoaded(`${id}\n${version}`, () => getAbout(id), id);
  const steps = about.value?.reports.find((one) => one.split === split)?.steps ?? [];
  const has = step !== null && steps.includes(step);
  // The last report may still grow; the old one stays until the new one is loaded.
  const key = `${id}\n${split}\n${step}`;
  const report = useLoaded(
    has ? `${key}\n${step === steps.at(-1) ? version : ""}` : null,
    () => getReport(id, split ?? "", step ?? 0),
    key,
  );

  useEffect(() => {
    session.run.reports.value = { run: id, of: about.value?.reports ?? [] };
  }, [session, id, about.value]);

  // A run without samples has no current split, and a split without samples no newest step: the address decides then.
  const first = about.value?.reports.find((one) => split === null || one.split === split);
  const isOpen = session.run.split.value === null && (split === null || step === null);
  useEffect(() => {
    if (isOpen && first !== undefined)
      session.place.go({ split: first.split, step: step ?? first.steps.at(-1) ?? null }, "replace");
  }, [session, isOpen, step, first]);

  if (about.error !== null)
    return (
      <Alone heading="Report">
        <Failure error={about.error} what="The list of reports" again={about.again} />
      </Alone>
    );
  if (about.value === null)
    return (
      <Alone heading="Report">
        <Loading />
      </Alone>
    );
  if (!has)
    return (
      <Alone heading="Report">
        <NoReport reports={about.value.reports} />
      </Alone>
    );
  if (report.error !== null)
    return (
      <Alone heading="Report">
        <Failure error={report.error} what="This report" again={report.again} />
      </Alone>
    );
  if (report.value === null)
    return (
      <Alone heading="Report">
        <Loading />
      </Alone>
    );
  const root = report.value;
  return (
    <main class={`${pageStyle["page"]} ${style["page"]}`} aria-label="Report">
      {session.run.now.value?.splits.length === 0 && <Others reports={about.value.reports} />}
      <h1>
        <Text text={root.title || `${split} ${step}`} />
      </h1>
      <label class={style["choice"]}>
        <input
          type="checkbox"
          checked={tagsShown.value}
          onChange={(event) => {
            tagsShown.value = event.currentTarget.checked;
          }}
        />{" "}
        Tags and attributes
      </label>
      {root.attrs["subtitle"] !== undefined && (
        <p class="quiet">
          <Text text={root.attrs["subtitle"]} />
        </p>
      )}
      {tagsShown.value && <Tag node={root} />}
      {!hasGoal(session, root) && <p class="quiet">The linked piece is no longer in this report.</p>}
      <Children
        key={`${step} ${session.place.now.value.at}`}
        nodes={root.children}
        depth={isLarge(root) ? OPEN_DEPTH : 0}
        at=""
      />
      {root.children.length === 0 && <p class="quiet">It has only a title.</p>}
    </main>
  );
}
