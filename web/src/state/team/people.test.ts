import { beforeEach, describe, expect, it, vi } from "vitest";
import * as api from "../../api";
import type { StateChange, StateItem, StateReply } from "../../api/types.gen";
import {
  changeSample,
  fromOthers,
  isShared,
  items,
  loadMarks,
  nameOf,
  ofLayout,
  ofRun,
  ofSample,
  put,
  recordAt,
  sampleMark,
} from "../marks";
import { role, shared, user } from "./people";
import { removeShared, setShared } from "./sharing";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  getState: vi.fn<typeof api.getState>(),
  changeState: vi.fn<typeof api.changeState>(),
}));

const ID = "train/0/0/0";
const item = (by: string, isOfTeam: boolean, version: number, more: Partial<StateItem>): StateItem => ({
  kind: "sample",
  owner: "o",
  name: ID,
  version,
  changed_s: 0,
  by,
  shared: isOfTeam,
  run_mark: null,
  sample_mark: null,
  setting: null,
  ...more,
});
const note = (text: string): Partial<StateItem> => ({
  sample_mark: { bookmarked: false, note: text, judgement: "", uid: "", excerpt: "" },
});
const sent: Partial<StateChange>[] = [];
let version = 100;

async function serve(who: string, what: string, own: StateItem[], ofTeam: StateItem[]): Promise<void> {
  version += 10;
  const reply: StateReply = {
    version,
    more: false,
    items: own,
    shared: ofTeam,
    user: who,
    role: what,
    owners: [{ owner: "o", run: "r", name: "r", format: "", path: "" }],
    logout: "",
    place: "",
    trouble: "",
  };
  vi.mocked(api.getState).mockResolvedValue(reply);
  await loadMarks();
}

beforeEach(() => {
  sent.length = 0;
  items.value = new Map();
  shared.value = new Map();
  vi.mocked(api.changeState).mockImplementation(async (body) => {
    sent.push(body);
    version += 1;
    const marks = { run_mark: body.run_mark ?? null, sample_mark: body.sample_mark ?? null };
    return item(body.by ?? user.value, body.shared ?? false, version, {
      ...marks,
      setting: body.setting ?? null,
      kind: body.kind ?? "sample",
      name: body.name ?? "",
    });
  });
});

describe("a team", () => {
  it("sees what others share beside its own notes", async () => {
    await serve("ada", "writer", [item("ada", false, 1, note("mine"))], [item("bob", true, 2, note("his"))]);
    expect([user.value, role.value]).toEqual(["ada", "writer"]);
    expect(sampleMark("r", ID).note).toBe("mine");
    expect(fromOthers(ofSample("r", ID)).map((one) => [one.by, one.sample_mark?.note])).toEqual([["bob", "his"]]);
    await serve("ada", "writer", [], [item("bob", true, 3, {})]);
    expect(fromOthers(ofSample("r", ID))).toEqual([]);
  });

  it("changes a shared note as a shared one", async () => {
    await serve("ada", "writer", [], [item("ada", true, 4, note("for all"))]);
    expect(isShared(ofSample("r", ID))).toBe(true);
    await changeSample("r", ID, { note: "changed" });
    expect(sent).toMatchObject([{ shared: true, seen: 4, sample_mark: { note: "changed" } }]);
  });

  it("stores the shared note before the private one goes, and back", async () => {
    await serve("ada", "writer", [item("ada", false, 1, note("mine"))], []);
    await setShared(ofSample("r", ID), true);
    expect(sent).toMatchObject([
      { shared: true, seen: 0, sample_mark: { note: "mine" } },
      { shared: false, seen: 1 },
    ]);
    expect(sent[1]).not.toHaveProperty("sample_mark");
    expect([isShared(ofSample("r", ID)), sampleMark("r", ID).note]).toEqual([true, "mine"]);
    await setShared(ofSample("r", ID), false);
    expect([isShared(ofSample("r", ID)), sampleMark("r", ID).note]).toEqual([false, "mine"]);
  });

  it("shares a note only after the note itself is stored", async () => {
    await serve("ada", "writer", [], []);
    const writing = changeSample("r", ID, { note: "quick" });
    await setShared(ofSample("r", ID), true);
    await writing;
    expect(sent.map((change) => [change.shared, change.seen])).toEqual([
      [false, 0],
      [true, 0],
      [false, version - 2],
    ]);
    expect([isShared(ofSample("r", ID)), sampleMark("r", ID).note]).toEqual([true, "quick"]);
  });

  it("takes names and layouts of others until the person has some", async () => {
    const layout = item("bob", true, 5, { kind: "layout", name: "metrics", setting: { charts: ["a"] } });
    const mark = { name: "baseline", colour: 0, hidden: false, note: "" };
    await serve("ada", "writer", [], [layout, item("bob", true, 6, { kind: "run", name: "", run_mark: mark })]);
    expect(recordAt(ofLayout("r", "metrics"))).toEqual({ charts: ["a"] });
    expect(nameOf({ id: "r", name: "run 1" } as Parameters<typeof nameOf>[0])).toBe("baseline");
    await put(ofLayout("r", "metrics"), { charts: ["b"] });
    expect(sent).toMatchObject([{ shared: false, seen: 0 }]);
    expect(recordAt(ofLayout("r", "metrics"))).toEqual({ charts: ["b"] });
    expect(fromOthers(ofRun("r"))).toHaveLength(1);
  });

  it("sends nothing of a reader", async () => {
    await serve("rita", "reader", [], []);
    await put(ofLayout("r", "metrics"), { charts: ["b"] });
    expect(recordAt(ofLayout("r", "metrics"))).toEqual({ charts: ["b"] });
    expect(sent).toEqual([]);
  });

  it("removes what somebody shares for an admin", async () => {
    const theirs = item("bob", true, 7, note("his"));
    await serve("root", "admin", [], [theirs]);
    await removeShared(theirs);
    expect(sent).toMatchObject([{ by: "bob", shared: true, owner: "o", name: ID, seen: 7 }]);
    expect(fromOthers(ofSample("r", ID))).toEqual([]);
  });
});
