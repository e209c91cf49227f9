import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api";
import { START } from "../../lib/address";
import { place } from "../../state/place";
import { drawn, settled } from "../../testing";
import { FilterField } from "./FilterField";

vi.mock(import("../../api"), async (original) => ({ ...(await original()), getCompletion: vi.fn<typeof api.getCompletion>() }));

beforeEach(() => {
  place.value = { ...START, page: "rollouts", run: "r", split: "train", step: 1 };
  vi.mocked(api.getCompletion).mockResolvedValue({ start: 0, found: [{ text: "reward", kind: "column", note: "" }] });
});

it("offers what may follow for as long as the cursor stays", async () => {
  const host = await drawn(<FilterField />);
  const field = host.querySelector("input");
  if (field === null) throw new Error("there is no field");
  field.value = "rew";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await vi.waitFor(() => expect(host.querySelector('[role="option"]')).not.toBeNull());
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Home", bubbles: true }));
  await settled();
  expect(host.querySelector('[role="option"]')).toBeNull();
  expect(field.value).toBe("rew");
});
