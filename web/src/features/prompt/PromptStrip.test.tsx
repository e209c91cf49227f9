import { beforeEach, expect, it, vi } from "vitest";
import * as api from "../../api";
import type { PromptLife } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { createSession, type Session } from "../../state/session";
import { drawn, settled } from "../../testing/page";
import { promptLife, promptStep, reply } from "../../testing/records";
import { PromptStrip } from "./PromptStrip";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  askPrompt: vi.fn<typeof api.askPrompt>(),
  getSample: vi.fn<typeof api.getSample>(),
}));

const steps = [1, 4, 9].map((step) => promptStep(step, { reward_mean: step / 10, discarded: step === 4 ? 2 : 0 }));

let session: Session;

beforeEach(() => {
  vi.mocked(api.askPrompt).mockReset().mockResolvedValue(promptLife(steps));
  session = createSession({ ...START, page: "rollouts", run: "r", split: "train", step: 4, sample: "train/4/0/1" });
  session.prompt.start();
});

const show = (id: string, prompt_steps: number | null = 3): void => {
  const step = Number(id.split("/")[1]);
  session.sample.now.value = reply({ id, step, prompt_steps });
};

const idHere = (): string | null => session.place.now.value.sample;

it("has its room before the steps are known, and none for a prompt that appears once", async () => {
  show("train/4/0/1");
  const host = await drawn(<PromptStrip />, session);
  await settled();
  expect(host.querySelector("section")?.getAttribute("aria-busy")).toBe("false");
  expect(host.textContent).toContain("This prompt, 2 of 3step 4, mean 0.400");
  expect(host.querySelector('[role="slider"]')?.getAttribute("aria-valuetext")).toBe(
    "step 4: mean reward 0.4 of 8 samples, 2 discarded",
  );
  show("train/4/0/1", 1);
  await settled();
  expect(host.querySelector("section")).toBeNull();
});

it("does not appear while a sample is read whose steps were not known with it", async () => {
  show("train/4/0/1", null);
  const host = await drawn(<PromptStrip />, session);
  await settled();
  expect([host.querySelector("section"), session.prompt.steps.value.length]).toEqual([null, 3]);
  show("train/9/0/1", null);
  await settled();
  expect(host.querySelector("section")).not.toBeNull();
});

it("keeps the steps of a prompt that arrive while another sample is read", async () => {
  let give: (life: PromptLife) => void = () => undefined;
  vi.mocked(api.askPrompt).mockReturnValue(new Promise((resolve) => (give = resolve)));
  show("train/4/0/1");
  session.sample.now.value = reply({ id: "train/4/1/1", step: 4, prompt_id: "fedcba9876543210" });
  give(promptLife(steps));
  await settled();
  show("train/4/0/1");
  await settled();
  expect(session.prompt.steps.value).toHaveLength(3);
});

it("keys go to the same place of the neighbouring steps, whose answer is compared with the one before", async () => {
  show("train/4/0/1");
  await settled();
  expect(session.prompt.before.value).toBeNull(); // it was not reached along the steps
  session.prompt.goBy(1);
  expect([idHere(), session.prompt.before.value]).toEqual(["train/9/0/1", { id: "train/4/0/1", step: 4 }]);
  session.prompt.goBy(1); // there is no further step
  expect(idHere()).toBe("train/9/0/1");
  session.prompt.choose("best");
  expect(idHere()).toBe("train/9/0/7");
  session.prompt.goBy(-1);
  session.prompt.goBy(-1);
  expect([idHere(), session.prompt.before.value]).toEqual(["train/1/0/7", null]);
  expect(api.askPrompt).toHaveBeenCalledTimes(1);
});

it("a step with fewer samples shows its last, and the place is kept for the next", async () => {
  const few = promptStep(9, { ids: ["train/9/0/0"] });
  vi.mocked(api.askPrompt).mockResolvedValue(promptLife([...steps.slice(0, 2), few]));
  show("train/4/0/1");
  await settled();
  session.prompt.goBy(1);
  expect(idHere()).toBe("train/9/0/0");
  session.prompt.goBy(-1);
  expect(idHere()).toBe("train/4/0/1");
});

it("the best answers of both ends stand side by side, and the second may be moved", async () => {
  show("train/4/0/1");
  await settled();
  session.prompt.toggleThenAndNow();
  expect(session.place.now.value).toMatchObject({
    view: "group",
    isDiff: true,
    sample: "train/9/0/7",
    against: "train/1/0/7",
  });
  session.prompt.goBy(-1);
  expect(session.place.now.value).toMatchObject({ step: 4, against: "train/1/0/7" });
  session.prompt.toggleThenAndNow();
  expect(session.place.now.value).toMatchObject({ view: "transcript", against: null, sample: "train/4/0/7" });
});

it("a drag goes to the step below the pointer", async () => {
  show("train/4/0/1");
  const host = await drawn(<PromptStrip />, session);
  await settled();
  const track = host.querySelector<HTMLElement>('[role="slider"]');
  if (track === null) throw new Error("there is no strip");
  track.setPointerCapture = () => undefined;
  track.getBoundingClientRect = () => new DOMRect(100, 0, 300, 34);
  track.dispatchEvent(new PointerEvent("pointerdown", { clientX: 390, buttons: 1, bubbles: true }));
  await vi.waitFor(() => expect(idHere()).toBe("train/9/0/1"));
  track.dispatchEvent(new PointerEvent("pointermove", { clientX: 110, buttons: 1, bubbles: true }));
  await vi.waitFor(() => expect(idHere()).toBe("train/1/0/1"));
});
