import { createSession } from "../../../state/session";
import { describe, expect, it } from "vitest";
import { NOTHING_COMMON } from "../../../lib/diff/commonInSamples";
import { chooseView } from "../../../state/browser/listView";
import { drawn } from "../../../testing/page";
import { item } from "../../../testing/records";
import { SampleRow } from "./SampleRow";

const session = createSession();

const box = "height: 30px";
const usual = { isHere: false, canFocus: true, columns: ["reward"], isOfSteps: false, common: NOTHING_COMMON, box };

describe("a sample in the list", () => {
  it("is a link to itself, with reward and length", async () => {
    session.place.now.value = { ...session.place.now.value, page: "rollouts", run: "r", split: "train", step: 1 };
    const host = await drawn(<SampleRow {...usual} item={item(3, { values: [1] })} />, session);
    expect(host.querySelector("a")?.getAttribute("href")).toContain("sample=train/1/1/3");
    expect(host.textContent).toContain("1.00");
    expect(host.textContent).toContain("13");
  });
  it("says what is wrong with it before how it begins", async () => {
    const host = await drawn(
      <SampleRow {...usual} item={item(0, { status: "truncated", response: "<think> hm" })} />,
      session,
    );
    expect(host.textContent).toMatch(/truncated ▸ hm/);
    const other = await drawn(
      <SampleRow {...usual} item={item(0, { discarded: "max_async", response: "" })} />,
      session,
    );
    expect(other.textContent).toContain("discarded");
    expect(other.textContent).toContain("(empty)");
  });
  it("shows how its response ends, where the reader wants that", async () => {
    chooseView({ preview: "end" });
    const host = await drawn(
      <SampleRow
        {...usual}
        item={item(0, { response: "<think> I begin", response_end: "so it\u2019s 42.<|im_end|>" })}
      />,
      session,
    );
    expect(host.textContent).toMatch(/…so it’s 42\./);
    expect(host.textContent).not.toMatch(/I begin|im_end/);
    const short = await drawn(<SampleRow {...usual} item={item(0, { response: "All of it" })} />, session);
    expect(short.textContent).toMatch(/[^…]All of it/);
    chooseView({ preview: "response" });
  });
  it("counts characters where no tokens are told", async () => {
    const host = await drawn(
      <SampleRow {...usual} item={item(0, { response_tokens: null, response_chars: 1234 })} />,
      session,
    );
    expect(host.querySelector('[title="1,234 characters"]')).not.toBeNull();
  });
  it("keeps its room while its page is on its way", async () => {
    const host = await drawn(<SampleRow {...usual} item={undefined} />, session);
    expect(host.querySelector("[aria-busy]")).not.toBeNull();
  });
});
