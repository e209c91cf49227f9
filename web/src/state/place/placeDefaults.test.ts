import { createSession } from "../session";
import { expect, it, vi } from "vitest";
import { type Place, START } from "../../lib/address/address";
import { item, listing, reply, runItem } from "../../testing/records";
import { settled } from "../../testing/page";
import { opensOn, runs } from "../runs";
import { startComplete } from "./placeDefaults";

const session = createSession();

startComplete(session);

/** Read a sample beside a list with only another one; return whether the page is that of discarded samples. */
function isAmongDiscarded(reason: string, change: Partial<Place> = {}): boolean {
  session.sample.now.value = null;
  session.place.now.value = {
    ...START,
    page: "rollouts",
    run: "r",
    split: "train",
    step: 1,
    sample: "train/1/0/9",
    ...change,
  };
  session.list.now.value = listing(session, { total: 1, of: 1, rows: 1, pages: new Map([[0, [item(0)]]]) });
  session.sample.now.value = reply({ id: session.place.now.peek().sample ?? "", discarded: reason });
  expect(session.place.now.peek().sample).toBe("train/1/0/9");
  return session.place.now.peek().discarded;
}

it("reads a sample among those that it is one of", () => {
  expect([isAmongDiscarded("zero_advantage"), isAmongDiscarded(""), isAmongDiscarded("", { discarded: true })]).toEqual(
    [true, false, false],
  );
});

it("leaves the page as it is where a group stands side by side", () => {
  expect([
    isAmongDiscarded("zero_advantage", { view: "group" }),
    isAmongDiscarded("", { view: "group", discarded: true }),
  ]).toEqual([false, true]);
});

it("stays where it was read with what was discarded since", () => {
  expect(isAmongDiscarded("")).toBe(false);
  const list = session.list.now.value;
  if (list === null) throw new Error("there is a list");
  session.list.now.value = {
    ...list,
    total: 2,
    rows: 2,
    pages: new Map([[0, [item(0), { ...item(1), id: "train/1/0/9" }]]]),
  };
  session.list.now.value = list;
  session.sample.now.value = reply({ id: "train/1/0/9", discarded: "stale" });
  expect([session.place.now.peek().discarded, session.place.now.peek().sample]).toEqual([false, "train/1/0/9"]);
});

it("opens the first sample of a list, but of none that is another run's or split's", () => {
  const opened = (run: string, split = "train"): string | null => {
    session.sample.now.value = null;
    session.list.now.value = null;
    session.place.now.value = { ...START, page: "rollouts", run: "r", split: "train", step: 1 };
    const list = listing(session, { total: 1, of: 1, rows: 1, pages: new Map([[0, [item(0)]]]) });
    session.place.now.value = { ...START, page: "rollouts", run, split };
    session.list.now.value = list;
    return session.place.now.peek().sample;
  };
  expect([opened("r"), opened("empty"), opened("r", "eval/x")]).toEqual([item(0).id, null, null]);
});

it("opens the only run at its rollouts, or at its metrics once it is known to have nothing else", () => {
  const progress = { done_bytes: 0, total_bytes: 1, phase: "scalars" };
  const pages = [
    [runItem()],
    [runItem({ splits: [], has_metrics_alone: true })],
    [runItem({ splits: [], progress })],
    [runItem({ splits: [], has_metrics_alone: true })],
  ].map((all, at) => {
    runs.value = null;
    if (at < 3) session.place.now.value = START;
    runs.value = all;
    return session.place.now.peek().page;
  });
  expect(pages).toEqual(["rollouts", "metrics", "rollouts", "metrics"]);
  session.place.go({ page: "rollouts" });
  runs.value = [runItem({ splits: [], has_metrics_alone: true, version: "2" })];
  expect(session.place.now.peek().page).toBe("rollouts");
});

it("finds a run by its name as long as no other has it", () => {
  const named = (id: string) => runItem({ id, name: "same", path: `/runs/${id}/same` });
  const asked = () => {
    session.place.now.value = { ...START, page: "metrics", run: "same" };
    return session.place.now.peek().run;
  };
  runs.value = [named("same-1"), runItem()];
  expect(asked()).toBe("same-1");
  runs.value = [named("same-1"), named("same-2")];
  expect(asked()).toBe("same");
});

it("leads from the start page to the run of the server, once", async () => {
  vi.spyOn(performance, "getEntriesByType").mockReturnValue([{ type: "navigate" } as PerformanceNavigationTiming]);
  history.replaceState(null, "", document.baseURI);
  runs.value = null;
  const own = createSession(START);
  startComplete(own);
  opensOn.value = "r";
  runs.value = [runItem(), runItem({ id: "other" })];
  await settled();
  expect(own.place.now.peek()).toMatchObject({ page: "rollouts", run: "r" });
  own.place.now.value = START;
  runs.value = [runItem(), runItem({ id: "other" })];
  await settled();
  expect(own.place.now.peek().page).toBe("runs");
  own.end();
});
