import { createSession } from "../../../state/session";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { answerWith } from "../../../api/client";
import { START } from "../../../lib/address/address";
import { difference } from "../../../lib/diff/diff";
import { chooseRender } from "../../../state/browser/textOptions";
import { button, drawn, settled } from "../../../testing/page";
import { part, reply, turn } from "../../../testing/records";
import { Transcript } from "./Transcript";

const session = createSession();

// Comparing takes a worker in the page; what it does is the same.
vi.mock(import("../../../ui/text/differ"), async () => ({
  compare: (first, second, done) => {
    const timer = setTimeout(() => done(difference(first, second)));
    return () => clearTimeout(timer);
  },
}));

const HOSTILE = "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>";

beforeEach(() => {
  session.folds.start();
  session.sample.now.value = reply();
});

describe("a transcript", () => {
  it("shows hostile text as text, wherever it stands", async () => {
    const call = { name: HOSTILE, arguments: HOSTILE, id: HOSTILE, error: HOSTILE };
    const parts = ["text", "answer", "marker", "placeholder", "image", "json", "tool_result", "think"].map((kind) =>
      part(kind, HOSTILE),
    );
    const turns = [
      turn(HOSTILE, parts, { name: HOSTILE, stop_reason: HOSTILE, metrics: { [HOSTILE]: 1 } }),
      turn("assistant", [part("tool_call", HOSTILE, { call })]),
    ];
    const host = await drawn(
      <Transcript
        reply={reply({
          turns,
          label: HOSTILE,
          notes: [HOSTILE],
          extra: { [HOSTILE]: HOSTILE },
          reference: { turns, reward: 0, gap: 1 },
        })}
      />,
      session,
    );
    expect(host.querySelector("img, script, iframe, object, embed")).toBeNull();
    expect(host.textContent.split("onerror").length).toBeGreaterThan(20);
  });

  it("shows thoughts, and offers to fold those that are longer than a screen", async () => {
    const of = (text: string) => reply({ turns: [turn("assistant", [part("think", text), part("text", "It is 6.")])] });
    const short = await drawn(<Transcript reply={of("law of cosines ".repeat(30))} />, session);
    expect(short.textContent).toContain("law of cosines ".repeat(30).trim());
    expect(short.querySelector("[hidden]")).toBeNull();
    expect([...short.querySelectorAll("button")].filter((one) => one.textContent.includes("Thought"))).toEqual([]);
    const long = await drawn(<Transcript reply={of("law of cosines ".repeat(300))} />, session);
    expect(long.textContent).toContain("law of cosines ".repeat(300).trim());
    button(long, /^▾ Thought · 4,499 characters/).click();
    await vi.waitFor(() => expect(long.querySelectorAll("[hidden]")).toHaveLength(1), 20_000);
  });

  it("folds thoughts for a reader who likes that, unless there is nothing else", async () => {
    chooseRender({ folded: true });
    const thought = part("think", "law of cosines ".repeat(30));
    const host = await drawn(
      <Transcript reply={reply({ turns: [turn("assistant", [thought, part("text", "It is 6.")])] })} />,
      session,
    );
    expect(host.textContent).toContain("Thought · 449 characters: “law of cosines");
    const folded = [...host.querySelectorAll("[hidden]")];
    expect(folded.map((one) => [one.getAttribute("hidden"), one.textContent.trim()])).toEqual([
      ["until-found", thought.text.trim()],
    ]);
    button(host, /^▸ Thought/).click();
    await vi.waitFor(() => expect(host.querySelector("[hidden]")).toBeNull(), 20_000);
    // more than the browser's own find is given: what is folded is not drawn
    session.sample.now.value = reply({ chars: 2_000_000 });
    const large = await drawn(
      <Transcript reply={reply({ turns: [turn("assistant", [thought, part("text", "It is 6.")])] })} />,
      session,
    );
    expect(large.textContent).not.toContain("law of cosines ".repeat(20));
    const alone = await drawn(
      <Transcript reply={reply({ turns: [turn("assistant", [{ ...thought, closed: false }])] })} />,
      session,
    );
    expect(alone.textContent).toContain("without an end");
    expect(alone.textContent).toContain("law of cosines ".repeat(20));
    chooseRender({ folded: false });
  });

  it("leaves out system prompts and padding for a reader who likes that", async () => {
    const turns = [
      turn("system", [part("text", "Be careful.")]),
      turn("assistant", [part("text", "<pad><pad> It is 6. <pad>\n<pad>")]),
    ];
    const host = await drawn(<Transcript reply={reply({ turns })} />, session);
    expect(host.textContent).toContain("Be careful.");
    expect(host.textContent).toContain("It is 6. <pad>");
    chooseRender({ system: false, padding: false });
    await vi.waitFor(() => expect(host.textContent).not.toContain("Be careful."), 20_000);
    expect(host.textContent).toContain("It is 6.");
    expect(host.textContent).not.toContain("<pad>");
    chooseRender({ system: true, padding: true });
  });

  it("expands and collapses all", async () => {
    const turns = [
      turn("system", [part("text", "Be careful. ".repeat(30))]),
      turn("user", [part("text", "How many?\nTell me.")]),
    ];
    const host = await drawn(<Transcript reply={reply({ turns })} />, session);
    const open = () => [...host.querySelectorAll("[aria-expanded]")].map((one) => one.getAttribute("aria-expanded"));
    const becomes = (...states: string[]) => vi.waitFor(() => expect(open()).toEqual(states), 20_000);
    await becomes("false", "true");
    session.folds.turn();
    await becomes("true", "true");
    session.folds.turn();
    await becomes("false", "false");
    expect(host.textContent).toContain("How many? Tell me.");
    session.sample.now.value = reply({ id: "train/1/0/1" });
    await becomes("false", "true");
  }, 60_000);

  it("draws hundreds of turns, the first at once", async () => {
    const turns = Array.from({ length: 600 }, (_, i) =>
      turn(i % 2 === 0 ? "user" : "assistant", [part("text", `turn ${i}`)]),
    );
    const host = await drawn(<Transcript reply={reply({ turns })} />, session);
    expect(host.textContent).toContain("turn 39");
    expect(host.textContent).not.toContain("turn 599");
    for (let i = 0; i < 200 && !host.textContent.includes("turn 599"); i += 1) await settled();
    expect(host.textContent).toContain("turn 599");
    expect(host.textContent).toContain("train/1.jsonl");
  }, 60_000);

  it("shows answer, reference, gap, calls and the source", async () => {
    const call = { name: "calculator", arguments: '{\n  "x": 1\n}', id: "c1", error: "" };
    const summary = { form: "arguments" as const, line: "x 1", body: "", added: null, removed: null };
    const turns = [turn("assistant", [part("tool_call", "", { call, summary })])];
    const host = await drawn(
      <Transcript reply={reply({ turns, label: "150√3", reference: { turns: [], reward: 0.25, gap: 0.75 } })} />,
      session,
    );
    for (const text of [
      "Golden",
      "150√3",
      "calculator",
      "x 1",
      "Reference",
      "0.250",
      "+0.750",
      "train/1.jsonl · bytes 0–606",
    ]) {
      expect(host.textContent).toContain(text);
    }
  });

  it("shows a result once, in the block of its call, and the middle of a long one on demand", async () => {
    const lines = Array.from({ length: 400 }, (_, i) => `line ${i}`).join("\n");
    const call = { name: "bash", arguments: '{"command": "ls"}', id: "c1", error: "" };
    const facts = { exit_code: 1, duration_s: 2.5, error: "", lines: 400, error_lines: 3 };
    const called = part("tool_call", "", {
      call,
      summary: { form: "command", line: "ls", body: "", added: null, removed: null },
      result: { turn: 1, outcome: "failed", ...facts },
    });
    const sample = reply({ turns: [turn("assistant", [called]), turn("tool", [part("text", lines)])] });
    session.sample.now.value = sample;
    const host = await drawn(<Transcript reply={sample} />, session);
    expect(host.querySelectorAll("[data-role]").length).toBe(1);
    const block = host.querySelector("[aria-label='Call of bash']");
    for (const text of ["$ ls", "exit 1", "400 lines", "2.5 s", "line 3", "line 399", "3 lines mention an error"])
      expect(block?.textContent).toContain(text);
    expect(block?.textContent.split("line 399").length).toBe(2);
    expect(block?.querySelector("[hidden]")?.textContent).toContain("line 200");
    button(host, "show all").click();
    await settled();
    expect(block?.querySelector("[hidden]")).toBeNull();
    expect(block?.textContent).toContain("line 200");
  });

  it("shows nothing in a result that tells how it was graded, while a person checks the reward", async () => {
    const called = part("tool_call", "", {
      call: { name: "grade", arguments: "{}", id: "c1", error: "" },
      summary: { form: "arguments", line: "", body: "", added: null, removed: null },
      result: {
        turn: 1,
        outcome: "failed",
        exit_code: null,
        duration_s: null,
        error: "wrong answer",
        lines: 1,
        error_lines: 0,
      },
    });
    const graded = { reward: 0.125, metrics: { accuracy: 0.25 }, logs: { verdict: "incorrect" } };
    const sample = reply({ turns: [turn("assistant", [called]), turn("tool", [part("text", "42")], graded)] });
    session.sample.now.value = sample;
    const secrets = ["0.125", "accuracy", "verdict", "wrong answer"];
    const open = await drawn(<Transcript reply={sample} />, session);
    for (const secret of secrets) expect(open.textContent).toContain(secret);
    session.judging.queue.value = {
      run: "r",
      split: "train",
      isCheck: true,
      order: "random",
      ids: [],
      at: 0,
      samples: 1,
      against: "",
      isWide: false,
    };
    const blind = await drawn(<Transcript reply={sample} />, session);
    session.judging.queue.value = null;
    expect(blind.textContent).toContain("42");
    for (const secret of secrets) expect(blind.textContent).not.toContain(secret);
  });

  it("stands beside its reference, and marks the words in which the two differ", async () => {
    const answer = (text: string, origin = "response") => turn("assistant", [part("text", text)], { origin });
    const sample = reply({
      turns: [turn("user", [part("text", "How much?")]), answer(`${HOSTILE} It is 5 in all.`)],
      reference: { turns: [answer(`${HOSTILE} It is 4 in all.`)], reward: 0.25, gap: 0.75 },
    });
    session.sample.now.value = sample;
    const host = await drawn(<Transcript reply={sample} />, session);
    const marked = () =>
      ["ins", "del"].map((tag) =>
        [...host.querySelectorAll(`article [role=group][aria-label="Assistant"] ${tag}`)].map((one) => one.textContent),
      );
    await vi.waitFor(() => expect(marked()).toEqual([["5"], ["4"]]), 20_000);
    const columns = () =>
      [...host.querySelectorAll("article section[aria-label]")].map((one) => one.getAttribute("aria-label"));
    expect(columns()).toEqual(["Prompt", "Response", "Reference response"]);
    expect(host.querySelector("[role=status]")?.textContent).toMatch(
      /underlined is not in the reference, struck not in the response · \d+% of the response is in both/,
    );
    expect(host.querySelector("img")).toBeNull();

    button(host, "Differences").click();
    await vi.waitFor(
      () => expect([marked(), host.querySelector("[role=status]")?.textContent]).toEqual([[[], []], ""]),
      20_000,
    );
    button(host, "Side by side").click();
    await vi.waitFor(() => expect(columns()).toEqual(["Reference response"]), 20_000);
    for (const text of ["How much?", "It is 5 in all.", "It is 4 in all."]) expect(host.textContent).toContain(text);
    chooseRender({ beside: true, differences: true });
    await vi.waitFor(() => expect(marked()).toEqual([["5"], ["4"]]), 20_000);
  });

  it("marks nothing in a sample that is not all here, and says so", async () => {
    const sample = reply({
      turns: [turn("assistant", [part("text", "It is 5.")], { origin: "response" })],
      turn_total: 9,
      reference: { turns: [turn("assistant", [part("text", "It is 4.")])], reward: null, gap: null },
    });
    session.sample.now.value = sample;
    const host = await drawn(<Transcript reply={sample} />, session);
    await vi.waitFor(
      () =>
        expect(host.querySelector("[role=status]")?.textContent).toBe(
          "Not compared: the sample has more turns than are loaded. Both are shown as they are.",
        ),
      20_000,
    );
    expect(host.querySelector("ins")).toBeNull();
  });

  it("shows what an environment logged as the text of a turn without one, and other logs on demand", async () => {
    const logs = { guess: "Guess: 238", feedback: "Too low" };
    const silent = turn("assistant", [], { logs });
    const spoken = turn("assistant", [part("text", "240")], { logs });
    const host = await drawn(<Transcript reply={reply({ turns: [silent, spoken] })} />, session);
    expect(host.querySelector("dl")?.textContent).toBe("guessGuess: 238feedbackToo low");
    expect(host.querySelectorAll("dl").length).toBe(1);
    expect(host.querySelectorAll("summary").length).toBe(1);
    expect(host.textContent).not.toContain("(empty)");
  });

  it("leads to the report of the step where that is what holds more", async () => {
    session.place.now.value = { ...START, page: "rollouts", run: "r", split: "train", step: 1, sample: "train/1/0/0" };
    const notes = [
      "the trainer logged no text for this sample; what it logged for the step is in the report",
      "the conversation is from the report: the group has one prompt",
      "no text",
    ];
    const host = await drawn(<Transcript reply={reply({ notes, report_at: "1.0" })} />, session);
    expect([...host.querySelectorAll("li")].map((one) => one.textContent)).toEqual(notes);
    const links = [...host.querySelectorAll("li a")].map((one) => one.getAttribute("href"));
    const link = expect.stringMatching(/runs\/r\/report\?split=train&step=1.*&at=1\.0$/);
    expect(links).toEqual([link, link]);
  });
});

describe("a transcript in a report", () => {
  it("links to nothing that the file lacks, and asks for no image", async () => {
    answerWith(async () => Response.json({}));
    const image = part("image", "a picture", { image: true });
    const note = "The rest of the prompt is in the report";
    const host = await drawn(<Transcript reply={reply({ turns: [turn("user", [image])], notes: [note] })} />, session);
    expect(host.textContent).toContain(note);
    expect(host.querySelector("a, img")).toBeNull();
  });
});
