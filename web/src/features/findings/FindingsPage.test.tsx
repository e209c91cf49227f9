import { beforeEach, describe, expect, it, vi } from "vitest";
import * as api from "../../api";
import * as findingsApi from "../../api/routes.gen";
import type { Finding, RunFindings, RunItem } from "../../api/types.gen";
import { START } from "../../lib/address/address";
import { items, owners } from "../../state/marks";
import { runs } from "../../state/runs";
import { createSession } from "../../state/session";
import { button, drawn, settled } from "../../testing/page";
import { part, reply as sampleReply, turn } from "../../testing/records";
import { FindingsPage } from "./FindingsPage";
import { markedBy } from "./marked";
import { samplesOf } from "./options";

vi.mock(import("../../api"), async (original) => ({
  ...(await original()),
  getSample: vi.fn<typeof api.getSample>(),
  getSpans: vi.fn<typeof api.getSpans>(),
  askComplete: vi.fn<typeof api.askComplete>(),
  changeState: vi.fn<typeof api.changeState>(),
}));
vi.mock("../../api/routes.gen", () => ({ askFindings: vi.fn<typeof findingsApi.askFindings>() }));
vi.mock("./gradient/Gradient", () => ({ Gradient: () => null }));
vi.mock("./parts/Parts", () => ({ Parts: () => null }));
vi.mock("./quality/Quality", () => ({ Quality: () => null }));

const RUN = { id: "r", name: "r", version: "1", splits: [{ name: "train" }], progress: { phase: "ready" } };

const finding = (more: Partial<Finding>): Finding => ({
  text: "The same sentence repeated earns +0.12 over its siblings.",
  class: "suspect",
  phrase: "",
  behaviour: "derived.repeated_sentences",
  title: "the same sentence repeated",
  where: "derived.repeated_sentences > 1",
  pattern: "",
  effect: 0.12,
  z: 21.5,
  correctness: -0.02,
  first: 0.08,
  last: 0.94,
  rise: 30,
  prevalence: { steps: [0, 5], shares: [0.1, 0.9], means: [0.1, 2], effects: [null, 0.2] },
  samples: { pairs: [["train/5/0/1", "train/5/0/2"]], earliest: "train/0/0/0", counterexample: "" },
  also: [],
  ...more,
});
const PHRASE = finding({
  text: "“i am sure” earns +0.3",
  class: "earned",
  phrase: "i am sure",
  behaviour: "",
  title: "“i am sure”",
  where: "",
  pattern: String.raw`\bi\s*am\s*sure\b`,
});

const reply = (more: Partial<RunFindings> = {}): RunFindings => ({
  run: "r",
  version: "1",
  findings: [finding({}), PHRASE],
  meanings: { suspect: "paid and on the rise", earned: "paid as correct answers are" },
  split: "train",
  env: null,
  step_min: null,
  step_max: null,
  samples: 200,
  scanned: 100,
  pending: 0,
  read: 100,
  groups: 20,
  tested: 700,
  expected: 0.0004,
  least_z: 5,
  largest_z: 21.5,
  correct: "acc",
  metrics: ["acc", "format"],
  smallest: 0.0615,
  note: "",
  ...more,
});

let session = createSession();

const page = async (found: RunFindings): Promise<HTMLElement> => {
  vi.mocked(findingsApi.askFindings).mockResolvedValue(found);
  return drawn(<FindingsPage />, session);
};

beforeEach(() => {
  runs.value = [RUN as RunItem];
  items.value = new Map();
  owners.value = [];
  session = createSession({ ...START, page: "findings", run: "r" });
  const turns = [
    turn("user", [part("text", "Why?")]),
    turn("assistant", [part("text", "So it is. So it is. So it is, then.")], { origin: "response" }),
  ];
  vi.mocked(api.getSample).mockImplementation(async (_, id) => sampleReply({ id, turns }));
  vi.mocked(api.getSpans).mockImplementation(async (_, id) => ({
    id,
    spans: [{ at: "1.0", start: 0, stop: 8 }],
    more: false,
  }));
  vi.mocked(api.askComplete).mockResolvedValue({
    run: "r",
    version: "1",
    start: 7,
    found: ['"a b"', '"c"'].map((text) => ({ text, kind: "value", note: "" })),
  });
  vi.mocked(api.changeState).mockRejectedValue(new Error("offline"));
});

describe("the page of findings", () => {
  it("has a sentence, numbers and siblings to read, with links that mark the same places", async () => {
    const host = await page(reply());
    const [card, other] = host.querySelectorAll("article");
    expect(card?.querySelector("h2")?.textContent).toContain("The same sentence repeated earns +0.12");
    expect(card?.querySelector("dl")?.textContent).toBe("effect+0.120on acc−0.0200z21.5share8.0% → 94%");
    expect(card?.querySelectorAll("section")).toHaveLength(2);
    expect(card?.querySelector("section a")?.getAttribute("href")).toContain("sample=train/5/0/1&q=So+it+is&how=r");
    expect(card?.querySelector("section")?.textContent).toContain("marked 1");
    expect(other?.querySelector("section")).toBeNull();
    expect(card?.querySelector("[data-class] [title='paid and on the rise']")?.textContent).toBe("suspect");
    expect(host.querySelector("details dl")?.textContent).toBe(
      "suspectpaid and on the riseearnedpaid as correct answers are",
    );
    button(host, "Earliest").click();
    await settled();
    expect([...host.querySelectorAll("article section")].map((one) => one.getAttribute("aria-label"))).toEqual([
      "Sample train/0/0/0",
    ]);
    expect(host.querySelector("main > dl")?.textContent).toContain("samples scanned100 of 200 (50%)");
    expect(host.querySelector("main > dl")?.textContent).toContain("expected by chance< 0.001");
  });
  it("has the mean amount of what nearly all samples have, in place of their share", async () => {
    const [card] = (await page(reply({ findings: [finding({ first: 1, last: 0.999 })] }))).querySelectorAll("article");
    expect(card?.querySelector("dl")?.textContent, "the sentence has the amounts").not.toMatch(/mean|share/);
    expect(card?.querySelector("figcaption")?.textContent).toBe("mean amount up to 2");
  });
  it("is over the steps, the environment and the correctness that the address holds", async () => {
    session.place.now.value = { ...session.place.now.value, ask: { from: "3", env: "a b", correct: "acc" } };
    const host = await page(reply());
    const query = { split: "", step_min: "3", step_max: "", env: "a b", correct: "acc" };
    expect(findingsApi.askFindings).toHaveBeenLastCalledWith("r", query);
    expect([...host.querySelectorAll("select")].map(({ value }) => value)).toEqual(["a b", "acc"]);
    expect(session.findings.found.value).toBeNull();
  });
  it("says of a run without findings what it could have shown, and while it is scanned how far that is", async () => {
    expect((await page(reply({ findings: [] }))).textContent).toContain("only if each use earned at least 0.0615");
    session = createSession({ ...START, page: "findings", run: "r" });
    const host = await page(reply({ findings: [], pending: 50 }));
    expect(host.querySelector("progress")?.value).toBe(150);
    expect(host.textContent).not.toContain("The smallest effect");
  });
  it("sets a finding aside with a reason and a name, and counts it no longer", async () => {
    const host = await page(reply());
    expect(session.findings.suspects.value).toBe(1);
    button(host, /Not a hack/).click();
    await settled();
    for (const [field, text] of [...host.querySelectorAll("form input")].map((one, i) => [
      one,
      ["Asked for", "Ada"][i],
    ])) {
      (field as HTMLInputElement).value = text as string;
      (field as HTMLInputElement).dispatchEvent(new Event("input", { bubbles: true }));
      await settled();
    }
    button(host, "Set aside").click();
    await settled();
    expect(session.findings.suspects.value).toBe(0);
    expect(host.querySelectorAll("article")).toHaveLength(1);
    const aside = host.querySelector("section[aria-label='Not a hack'] li");
    expect(aside?.textContent).toMatch(/the same sentence repeatedAsked forAda, \d{4}-\d\d-\d\d/);
    button(host, /Undo/).click();
    await settled();
    expect(session.findings.suspects.value).toBe(1);
  });
});

it("the samples of a behaviour are a list in the window, those of a phrase a search", () => {
  expect(samplesOf(finding({}), { split: "train", step_min: 3, step_max: null, env: "a b" })).toMatchObject({
    page: "rollouts",
    extent: [3, null],
    where: 'derived.repeated_sentences > 1 and env = "a b"',
    sort: "derived.repeated_sentences",
  });
  expect(samplesOf(PHRASE, reply())).toMatchObject({
    page: "search",
    extent: "run",
    search: { text: PHRASE.pattern, regex: true, role: "response" },
  });
});

it("sentences are marked that the response repeats or that its prompt has", () => {
  const turns = [
    turn("user", [part("text", "Add these two numbers, please.")]),
    turn("assistant", [part("text", "Add these two numbers, please.\nDone now (1).\nDone now (1).")], {
      origin: "response",
    }),
  ];
  expect(markedBy(finding({}), { turns }).text).toBe(String.raw`Done now \(1\)`);
  const copied = finding({ behaviour: "derived.copied_sentences" });
  expect(markedBy(copied, { turns })).toMatchObject({ text: "Add these two numbers, please", role: "response" });
  expect(markedBy(finding({ behaviour: "derived.characters" }), { turns }).text).toBe("");
});
