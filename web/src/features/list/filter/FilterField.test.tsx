import { createSession } from "../../../state/session";
import { render } from "preact";
import { beforeEach, describe, expect, it, vi } from "vitest";
import * as api from "../../../api";
import { START } from "../../../lib/address/address";
import { drawn, settled } from "../../../testing/page";
import { FilterField } from "./FilterField";

const session = createSession();

vi.mock(import("../../../api"), async (original) => ({
  ...(await original()),
  askComplete: vi.fn<typeof api.askComplete>(),
}));

beforeEach(() => {
  session.place.now.value = { ...START, page: "rollouts", run: "r", split: "train", step: 1 };
  vi.mocked(api.askComplete).mockResolvedValue({
    run: "r",
    version: "1",
    start: 0,
    found: [{ text: "reward", kind: "column", note: "" }],
  });
});

/** The field, with the focus, and something typed. */
async function typed(text: string): Promise<{ host: HTMLElement; field: HTMLInputElement }> {
  const host = await drawn(<FilterField />, session);
  const field = host.querySelector("input");
  if (field === null) throw new Error("there is no field");
  field.focus();
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await settled();
  return { host, field };
}

const press = (kind: string, at: EventTarget = window): boolean =>
  at.dispatchEvent(new PointerEvent(kind, { bubbles: true }));

it("offers what may follow for as long as the cursor stays", async () => {
  const { host, field } = await typed("rew");
  await vi.waitFor(() => expect(host.querySelector('[role="option"]')).not.toBeNull());
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Home", bubbles: true }));
  await settled();
  expect(host.querySelector('[role="option"]')).toBeNull();
  expect(field.value).toBe("rew");
});

describe("what is typed and not entered", () => {
  it("is taken back by Escape, to what is applied", async () => {
    session.place.now.value = { ...session.place.now.value, where: "turns > 1" };
    vi.mocked(api.askComplete).mockReturnValue(new Promise(() => {})); // the first Escape would close the offers
    const { field } = await typed("reward < 0.5");
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    await settled();
    expect([field.value, session.place.now.value.where, document.activeElement === field]).toEqual([
      "turns > 1",
      "turns > 1",
      false,
    ]);
  });
  it("is used when the field is left", async () => {
    const { field } = await typed("reward < 0.5 ");
    field.blur();
    await settled();
    expect(session.place.now.value.where).toBe("reward < 0.5");
  });
  it("is used once the press is over by which the field was left, and a sample that was pressed stays", async () => {
    const { field } = await typed("reward < 0.5");
    press("pointerdown");
    field.blur();
    await settled();
    expect(session.place.now.value.where).toBe("");
    press("pointerup");
    session.place.now.value = { ...session.place.now.value, sample: "train/1/0/1" };
    await settled();
    expect([session.place.now.value.where, session.place.now.value.sample]).toEqual(["reward < 0.5", "train/1/0/1"]);
  });
  it("goes where another filter was chosen, or another run", async () => {
    const { field } = await typed("reward < 0.5");
    press("pointerdown");
    field.blur();
    session.place.now.value = { ...session.place.now.value, run: "other" };
    press("pointerup");
    await settled();
    expect([field.value, session.place.now.value.where]).toEqual(["", ""]);
  });
  it("is nothing to a field that is gone", async () => {
    const { host, field } = await typed("reward < 0.5");
    render(null, host);
    field.dispatchEvent(new FocusEvent("blur"));
    await settled();
    expect(session.place.now.value.where).toBe("");
  });
});
