import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api";
import type { StateChange, StateItem } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { chart, textOf } from "../../lib/charts/chart";
import { settled } from "../../testing/page";
import { conflict, dropUnsaved, items, loadMarks, resolve } from "../marks";
import { createSession, type Session } from "../session";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  getState: vi.fn<typeof api.getState>(),
  changeState: vi.fn<typeof api.changeState>(),
}));

const [REWARD, KL, LOSS] = ["reward", "trainer.kl", "trainer.loss"] as const;
const charts = (...names: string[]) =>
  names.map((name) => (name.startsWith("trainer.") ? chart("trainer", name.slice(8)) : chart("sample", name)));

/** What the server keeps: a change must have seen the newest version. */
let item: StateItem | null = null;

function kept(setting: unknown): StateItem {
  const version = (item?.version ?? 0) + 1;
  const fixed = {
    kind: "layout",
    owner: "o",
    name: "metrics",
    changed_s: 0,
    run_mark: null,
    sample_mark: null,
    by: "",
    shared: false,
  };
  item = { ...fixed, version, setting };
  return item;
}

async function change(body: Pick<StateChange, "seen"> & Partial<StateChange>): Promise<StateItem> {
  if (body.seen === (item?.version ?? 0)) return kept(body.setting ?? null);
  throw new api.ApiError(409, "somebody was first", "", { item });
}

let session: Session = createSession();
const shown = (): string[] | undefined => session.layout.charts.value?.map(textOf);
const inAddress = (): string[] | undefined => session.place.now.value.charts?.map(textOf);

beforeEach(() => {
  session.end();
  dropUnsaved();
  item = null;
  items.value = new Map();
  vi.mocked(api.changeState).mockImplementation(change);
  vi.mocked(api.getState).mockImplementation(async () => ({
    version: item?.version ?? 0,
    more: false,
    shared: [],
    user: "",
    role: "admin",
    items: item === null ? [] : [item],
    owners: [{ owner: "o", run: "r", name: "r", format: "", path: "" }],
    logout: "",
    place: "",
    trouble: "",
  }));
});

async function opened(names: string[] | null): Promise<void> {
  session = createSession({ ...START, page: "metrics", run: "r", charts: names && charts(...names) });
  session.layout.start();
  await loadMarks();
}

it("is kept by the server, and the address repeats it", async () => {
  await opened(null);
  expect([session.layout.own.value, inAddress()]).toEqual([null, undefined]);
  session.layout.change(charts(REWARD, KL));
  await settled();
  expect([item?.setting, inAddress()]).toEqual([{ charts: [REWARD, KL] }, [REWARD, KL]]);
  kept({ charts: [LOSS] }); // in another browser
  await loadMarks();
  expect([shown(), inAddress(), session.layout.isOfLink.value]).toEqual([[LOSS], [LOSS], false]);
  session.layout.change(null);
  await settled();
  expect([item?.setting, shown(), inAddress()]).toEqual([null, undefined, undefined]);
});

it("of a link leaves the person's own alone until it is kept", async () => {
  kept({ charts: [REWARD] });
  await opened([KL]);
  session.layout.change(charts(KL, LOSS));
  await settled();
  expect([shown(), session.layout.isOfLink.value, item?.setting]).toEqual([[KL, LOSS], true, { charts: [REWARD] }]);
  session.layout.back();
  expect([shown(), session.layout.isOfLink.value]).toEqual([[REWARD], false]);
  session.place.go({ charts: charts(KL) });
  session.layout.keep(charts(KL));
  await settled();
  expect([item?.setting, session.layout.isOfLink.value]).toEqual([{ charts: [KL] }, false]);
});

it("has something else across its charts, which a link leaves alone", async () => {
  const across = (): unknown[] => [item?.setting, session.layout.x.value, session.place.now.value.ask["x"]];
  await opened(null);
  session.layout.changeAll({ x: "?kind=elapsed" });
  await settled();
  expect(across()).toEqual([{ x: "?kind=elapsed" }, "?kind=elapsed", "?kind=elapsed"]);
  session.layout.change(charts(REWARD));
  session.place.go({ ask: { zoom: "1:2:trainer.lr" } });
  session.layout.changeAll({ x: "trainer.lr" });
  await settled();
  expect(across()).toEqual([{ charts: [REWARD], x: "trainer.lr" }, "trainer.lr", "trainer.lr"]);
  expect(session.place.now.value.ask["zoom"]).toBeUndefined();
  session.end();
  await opened([KL]);
  await settled();
  session.layout.changeAll({ x: "" });
  await settled();
  expect(across()).toEqual([{ charts: [REWARD], x: "trainer.lr" }, "", "step"]);
  session.end();
  await opened(null);
  await settled();
  expect(across().slice(1)).toEqual(["trainer.lr", "trainer.lr"]);
});

it("keeps the key that groups the runs, and nothing of it once each run is a line again", async () => {
  const grouped = (): unknown[] => [item?.setting, session.layout.by.value, session.place.now.value.ask["by"]];
  await opened(null);
  session.layout.changeAll({ by: "optim.lr" });
  await settled();
  expect(grouped()).toEqual([{ by: "optim.lr" }, "optim.lr", "optim.lr"]);
  session.end();
  await opened(null);
  await settled();
  expect(grouped().slice(1)).toEqual(["optim.lr", "optim.lr"]);
  session.layout.changeAll({ by: "" });
  await settled();
  expect(grouped()).toEqual([null, "", "-"]);
});

it("brings back what was taken away last, until something else changes", async () => {
  await opened(null);
  session.layout.change(charts(REWARD, KL, LOSS));
  session.layout.takeAway("KL", charts(REWARD, LOSS));
  await settled();
  expect([shown(), session.layout.taken.value?.title]).toEqual([[REWARD, LOSS], "KL"]);
  session.layout.bringBack();
  await settled();
  expect([shown(), session.layout.taken.value]).toEqual([[REWARD, KL, LOSS], null]);
  session.layout.takeAway("KL", charts(REWARD, LOSS));
  session.layout.change(charts(LOSS, REWARD));
  await settled();
  session.layout.bringBack();
  expect([shown(), session.layout.taken.value]).toEqual([[LOSS, REWARD], null]);
});

it("asks which of two stays where another browser was first", async () => {
  kept({ charts: [REWARD] });
  await opened(null);
  kept({ charts: [LOSS] }); // elsewhere, and not known here yet
  session.layout.change(charts(REWARD, KL));
  await settled();
  expect([item?.setting, conflict.value?.mine]).toEqual([{ charts: [LOSS] }, { charts: [REWARD, KL] }]);
  await resolve("theirs");
  expect([shown(), inAddress(), session.layout.isOfLink.value]).toEqual([[LOSS], [LOSS], false]);
  kept({ charts: [REWARD] });
  session.layout.change(charts(KL));
  await settled();
  await resolve("mine");
  await settled();
  expect([item?.setting, shown(), inAddress()]).toEqual([{ charts: [KL] }, [KL], [KL]]);
});

it("shows a curve that an alarm is about without keeping it, until a person does", async () => {
  kept({ charts: [REWARD] });
  await opened(null);
  session.layout.look("KL", charts(REWARD, KL));
  await settled();
  expect([shown(), session.layout.preview.value?.title, item?.setting]).toEqual([
    [REWARD, KL],
    "KL",
    { charts: [REWARD] },
  ]);
  session.layout.endLook();
  await settled();
  expect([shown(), session.layout.preview.value]).toEqual([[REWARD], null]);
  session.layout.look("KL", charts(REWARD, KL));
  session.layout.keep(charts(REWARD, KL));
  await settled();
  expect([shown(), session.layout.preview.value, item?.setting]).toEqual([
    [REWARD, KL],
    null,
    { charts: [REWARD, KL] },
  ]);
});
