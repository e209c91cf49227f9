import { describe, expect, it, vi } from "vitest";
import * as api from "../../api";
import type { StateChange, StateItem, StateReply } from "../../api/types.gen";
import { settled } from "../../testing/page";
import { loadMarks } from "../marks";
import { startPersonal } from "./sharedSettings";
import { choose, settings } from "./settings";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  getState: vi.fn<typeof api.getState>(),
  changeState: vi.fn<typeof api.changeState>(),
}));

/** What the server keeps: changes name the version that they saw, as the real one wants it. */
let item: StateItem | null = null;

function keep(setting: Record<string, unknown>): StateItem {
  item = {
    kind: "setting",
    owner: "",
    name: "reading",
    version: (item?.version ?? 0) + 1,
    changed_s: 0,
    by: "",
    shared: false,
    run_mark: null,
    sample_mark: null,
    setting,
  };
  return item;
}

async function change(body: Pick<StateChange, "seen"> & Partial<StateChange>): Promise<StateItem> {
  if (body.seen === (item?.version ?? 0)) return keep(body.setting as Record<string, unknown>);
  throw new api.ApiError(409, "somebody was first", "", { item: item });
}

vi.mocked(api.getState).mockImplementation(async (): Promise<StateReply> => ({
  version: item?.version ?? 0,
  more: false,
  shared: [],
  user: "",
  role: "admin",
  items: item === null ? [] : [item],
  owners: [],
  logout: "",
  place: "",
  trouble: "",
}));
vi.mocked(api.changeState).mockImplementation(change);

describe("settings that follow the person", () => {
  it("are taken up and kept, and no choice is lost, whenever it is made", async () => {
    keep({ theme: "dark", rewardColours: "safe" });
    startPersonal();
    choose({ theme: "light", leftWidth: 400 }); // before it is known what was kept
    await loadMarks();
    await settled();
    expect(settings.value).toMatchObject({ theme: "light", rewardColours: "safe", leftWidth: 400 });
    expect(item?.setting).toEqual({ theme: "light", rewardColours: "safe" });

    keep({ theme: "dark", rewardColours: "safe" });
    await loadMarks();
    expect(settings.value).toMatchObject({ theme: "dark", leftWidth: 400 });

    keep({ theme: "system", rewardColours: "safe" }); // elsewhere, unknown here so far
    choose({ openAtEnd: false, charts: ["turns"] });
    await settled();
    expect(item?.setting).toEqual({ theme: "system", rewardColours: "safe", openAtEnd: false, charts: ["turns"] });

    keep({ theme: "system", charts: ["turns", "?kind=group&name=mixed"] }); // elsewhere, unknown here so far
    choose({ openAtEnd: true });
    await settled();
    choose({ openAtEnd: false });
    await settled();
    expect(settings.value.charts).toEqual(["turns", "?kind=group&name=mixed"]);
    expect(settings.value).toMatchObject({ theme: "system", rewardColours: "safe", openAtEnd: false });
  });
});
