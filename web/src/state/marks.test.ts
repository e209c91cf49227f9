import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../api";
import type { StateItem, StateReply } from "../api/types.gen";
import {
  changeSample,
  isUnsaved,
  items,
  dropUnsaved,
  loadMarks,
  nameOf,
  ofSample,
  sampleMark,
  sendAgain,
  unsavedMarks,
} from "./marks";
import { runs } from "./runs";
import { runItem } from "../testing/records";

vi.mock(import("../api"), async (original) => ({
  ...(await original()),
  changeState: vi.fn<typeof api.changeState>(),
  getState: vi.fn<typeof api.getState>(),
}));

const ID = "train/1/0/0";
const DOWN = new api.ApiError(0, "The server does not answer.", "");

const noteItem = (note: string, version: number): StateItem => ({
  kind: "sample",
  owner: "o",
  name: ID,
  version,
  changed_s: 0,
  by: "",
  shared: false,
  run_mark: null,
  sample_mark: { bookmarked: false, note, judgement: "", uid: "", excerpt: "" },
  setting: null,
});
const all = (version: number, found: StateItem[]): StateReply => ({
  version,
  more: false,
  shared: [],
  user: "",
  role: "admin",
  items: found,
  owners: [{ owner: "o", run: "r", name: "r", format: "", path: "" }],
  logout: "",
  place: "",
  trouble: "",
});

beforeEach(async () => {
  dropUnsaved();
  items.value = new Map();
  vi.mocked(api.getState).mockResolvedValue(all(1, [noteItem("before", 1)]));
  await loadMarks();
});

it("keeps on the screen what could not be kept, until it is sent again", async () => {
  vi.mocked(api.changeState).mockRejectedValueOnce(DOWN).mockResolvedValueOnce(noteItem("long thought", 2));
  await changeSample("r", ID, { note: "long thought" });
  expect([sampleMark("r", ID).note, [...unsavedMarks.value.values()].map(({ error }) => error)]).toEqual([
    "long thought",
    [DOWN],
  ]);
  expect(isUnsaved(ofSample("r", ID))).toBe(true);
  await sendAgain();
  expect([sampleMark("r", ID).note, unsavedMarks.value.size]).toEqual(["long thought", 0]);
});

it("is as before once that is let go", async () => {
  vi.mocked(api.changeState).mockRejectedValueOnce(DOWN);
  await changeSample("r", ID, { note: "long thought" });
  dropUnsaved();
  expect([sampleMark("r", ID).note, unsavedMarks.value.size]).toEqual(["before", 0]);
});

it("asks on until it has all of what is told in parts", async () => {
  const parts = [
    { ...all(2, [noteItem("half", 2)]), more: true },
    { ...all(3, [noteItem("whole", 3)]), more: true },
    all(3, []),
  ];
  vi.mocked(api.getState).mockImplementation(async (since) => parts[since - 1] ?? all(9, []));
  await loadMarks();
  expect([sampleMark("r", ID).note, vi.mocked(api.getState).mock.calls.slice(-3)]).toEqual(["whole", [[1], [2], [3]]]);
});

it("asks once at a time, and again for what changed meanwhile", async () => {
  let answer: (reply: StateReply) => void = () => undefined;
  const before = vi.mocked(api.getState).mock.calls.length;
  vi.mocked(api.getState)
    .mockImplementationOnce(async () => new Promise((resolve) => (answer = resolve)))
    .mockResolvedValue(all(9, [noteItem("last", 9)]));
  const all3 = [loadMarks(), loadMarks(), loadMarks()];
  answer(all(8, [noteItem("first", 8)]));
  await Promise.all(all3);
  expect([sampleMark("r", ID).note, vi.mocked(api.getState).mock.calls.length - before]).toEqual(["last", 2]);
});

it("reads everything anew where the server keeps it in another file", async () => {
  vi.mocked(api.getState).mockResolvedValue(all(0, []));
  await loadMarks();
  expect([items.value.size, sampleMark("r", ID).note]).toEqual([0, ""]);
  vi.mocked(api.getState).mockImplementation(async (since) => all(1, since < 1 ? [noteItem("again", 1)] : []));
  await loadMarks();
  expect(sampleMark("r", ID).note).toBe("again");
});

const names = (...paths: string[]) => {
  runs.value = paths.map((path) => runItem({ id: path, name: path.split("/").at(-1) ?? "", path }));
  return runs.value.map(nameOf);
};

it("tells runs of one name apart by the folders above them", () => {
  expect(names("/runs/a/same", "/runs/b/other")).toEqual(["same", "other"]);
  expect(names("/runs/a/same", "/runs/b/same", "/runs/b/other")).toEqual(["a-same", "b-same", "other"]);
  expect(names("/x/a/same", "/y/a/same")).toEqual(["x-a-same", "y-a-same"]);
  expect(names("/same", "/same")).toEqual(["same", "same"]);
});
